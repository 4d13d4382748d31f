//! The parameters of lists and watches: how they are read, and which of them go together.

use crate::read::filter::Filter;
use crate::refusal::cause::Cause;
use crate::refusal::status::Status;
use crate::request::info::{RequestInfo, Verb};
use crate::state::kind::{Kind, Version};

/// What a list or a watch asks for.
#[derive(Clone, Debug)]
pub(crate) struct ListOptions {
    pub(crate) filter: Filter,
    /// How many objects a page holds at most; 0 for all.
    pub(crate) limit: u64,
    /// As it was sent, which matters: empty and `0` mean different things.
    pub(crate) version: Option<String>,
    pub(crate) matching: Matching,
    pub(crate) token: Option<String>,
    pub(crate) initial_events: Option<bool>,
    pub(crate) bookmarks: bool,
    /// Seconds; 0 for the server's own choice.
    pub(crate) timeout: u64,
}

/// How a version in the query is to be understood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Matching {
    Unset,
    Exact,
    NotOlderThan,
}

impl ListOptions {
    pub(crate) fn read(info: &RequestInfo, kind: &Kind, version: &Version) -> Result<Self, Status> {
        let limit = number(info, "limit")?;
        let timeout = number(info, "timeoutSeconds")?;
        let text = |name: &str| info.query(name).filter(|text| !text.is_empty());
        let matching = match text(MATCH) {
            Some("Exact") => Matching::Exact,
            Some("NotOlderThan") => Matching::NotOlderThan,
            _ => Matching::Unset,
        };
        let filter = Filter::parse(kind, version, info);
        let initial_events = info
            .query("sendInitialEvents")
            .map(|_| info.flag("sendInitialEvents"));
        let continued = text("continue").is_some();
        // A watch from anywhere counts as one that asks for what is there.
        let from_anywhere = info.verb() == Verb::Watch
            && initial_events.is_none()
            && text(MATCH).is_none()
            && matches!(text("resourceVersion"), None | Some("0"));
        let wrong = if from_anywhere {
            wrong_for_watch(Some("NotOlderThan"), true, continued)
        } else if info.verb() == Verb::Watch {
            wrong_for_watch(text(MATCH), initial_events.is_some(), continued)
        } else {
            wrong_for_list(
                text(MATCH),
                text("resourceVersion"),
                initial_events.is_some(),
                continued,
            )
        };
        // Selectors that cannot be read come before options that do not fit, and those before unknown fields.
        let filter = match (filter, wrong.is_empty()) {
            (Ok(filter), true) => filter,
            (Err(error), _) if error.unreadable => return Err(Status::bad_request(error.message)),
            (_, false) => return Err(Status::invalid_fields("meta.k8s.io", "ListOptions", "", &wrong)),
            (Err(error), true) => return Err(Status::bad_request(error.message)),
        };
        Ok(Self {
            filter,
            limit,
            version: text("resourceVersion").map(str::to_owned),
            matching,
            token: text("continue").map(str::to_owned),
            initial_events: initial_events.or(from_anywhere.then_some(true)),
            bookmarks: info.flag("allowWatchBookmarks"),
            timeout,
        })
    }

    /// The version asked for; 0 for any.
    pub(crate) fn asked(&self) -> Result<u64, String> {
        self.version.as_deref().map_or(Ok(0), parse_version)
    }
}

/// Reads a version; the error is the sentence for people.
pub(crate) fn parse_version(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    text.parse().map_err(|_| {
        format!(
            "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
        )
    })
}

/// A number in the query; what is negative counts as not said.
fn number(info: &RequestInfo, parameter: &str) -> Result<u64, Status> {
    let Some(text) = info.query(parameter).filter(|text| !text.is_empty()) else {
        return Ok(0);
    };
    let number = text.parse::<i64>();
    let number = number
        .map_err(|_| Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax")))?;
    Ok(u64::try_from(number).unwrap_or_default())
}

const MATCH: &str = "resourceVersionMatch";

fn wrong_for_list(
    matching: Option<&str>,
    version: Option<&str>,
    initial_events: bool,
    continued: bool,
) -> Vec<Cause> {
    let mut wrong = Vec::new();
    let mut forbid = |field: &str, why: &str| wrong.push(Cause::forbidden(field, why));
    if matching.is_some() && version.is_none() {
        forbid(
            MATCH,
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        );
    }
    if matching.is_some() && continued {
        forbid(
            MATCH,
            "resourceVersionMatch is forbidden when continue is provided",
        );
    }
    if let Some(other) = matching.filter(|matching| !matches!(*matching, "Exact" | "NotOlderThan")) {
        wrong.push(Cause::unsupported(MATCH, other, &["Exact", "NotOlderThan", ""]));
    }
    if matching == Some("Exact") && version == Some("0") {
        let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
        wrong.push(Cause::forbidden(MATCH, why));
    }
    if initial_events {
        wrong.push(Cause::forbidden(
            "sendInitialEvents",
            "sendInitialEvents is forbidden for list",
        ));
    }
    wrong
}

fn wrong_for_watch(matching: Option<&str>, initial_events: bool, continued: bool) -> Vec<Cause> {
    let mut wrong = Vec::new();
    if initial_events && matching != Some("NotOlderThan") {
        let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        wrong.push(Cause::forbidden(MATCH, why));
    }
    let Some(matching) = matching else { return wrong };
    if !initial_events {
        let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        wrong.push(Cause::forbidden(MATCH, why));
    }
    if matching != "NotOlderThan" {
        wrong.push(Cause::unsupported(MATCH, matching, &["NotOlderThan"]));
    }
    if continued {
        wrong.push(Cause::forbidden(
            MATCH,
            "resourceVersionMatch is forbidden when continue is provided",
        ));
    }
    wrong
}
