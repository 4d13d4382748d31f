//! Fields of an apply that others own, as the refusal tells them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use crate::merge::fields::{self, Path};
use crate::merge::managed::Entry;
use crate::refusal::status::Status;

/// A field and how its owner reads in a sentence; one text for all of an owner's fields, which may be thousands.
pub(super) type Conflict = (Path, Arc<str>);

pub(super) fn conflict_status(conflicts: &[Conflict]) -> Status {
    let cause = |(path, owner): &Conflict| {
        let message = format!("conflict with {owner}");
        json!({"reason": "FieldManagerConflict", "message": message, "field": fields::display(path)})
    };
    let causes: Vec<_> = conflicts.iter().map(cause).collect();
    let message = format!("Apply failed with {}", describe(conflicts));
    Status::new(409, "Conflict", message).with_details(json!({"causes": causes}))
}

fn describe(conflicts: &[Conflict]) -> String {
    if let [(path, owner)] = conflicts {
        return format!("1 conflict: conflict with {owner}: {}", fields::display(path));
    }
    let mut by_owner: BTreeMap<&str, Vec<&Path>> = BTreeMap::new();
    for (path, owner) in conflicts {
        by_owner.entry(owner).or_default().push(path);
    }
    let mut lines = Vec::new();
    for (owner, paths) in by_owner {
        lines.push(format!("conflicts with {owner}:"));
        lines.extend(paths.iter().map(|path| format!("- {}", fields::display(path))));
    }
    format!("{} conflicts: {}", conflicts.len(), lines.join("\n"))
}

/// How the owner of an entry reads in a sentence.
pub(super) fn display(entry: &Entry) -> String {
    let mut text = format!("\"{}\"", entry.manager);
    if !entry.subresource.is_empty() {
        text = format!("{text} with subresource \"{}\"", entry.subresource);
    }
    if !entry.apply {
        text = format!("{text} using {}", entry.api_version);
    }
    text
}
