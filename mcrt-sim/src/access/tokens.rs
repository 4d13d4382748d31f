//! The bearer tokens of a server: whose each is, and what comes of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;

use crate::access::roles::Granted;
use crate::access::rule::Deed;
use crate::access::user::User;
use crate::refusal::status::Status;
use crate::request::info::RequestInfo;
use crate::server::{Inner, Server};

/// Who a request comes from.
#[derive(Clone)]
pub(crate) enum Caller {
    /// The server asks for no tokens.
    Anybody,
    Known(Arc<User>),
    /// The token is nobody's.
    Unknown,
}

#[derive(Default)]
pub(crate) struct Tokens(Mutex<BTreeMap<String, Arc<User>>>);

impl Tokens {
    pub(crate) fn caller(&self, token: Option<&str>) -> Caller {
        let users = self.0.lock();
        match token {
            _ if users.is_empty() => Caller::Anybody,
            None => Caller::Known(Arc::new(User::anonymous())),
            Some(token) => users.get(token).cloned().map_or(Caller::Unknown, Caller::Known),
        }
    }

    /// The user of a name, if a token lets it in.
    pub(crate) fn named(&self, name: &str) -> Option<Arc<User>> {
        self.0.lock().values().find(|user| *user.name == *name).cloned()
    }
}

/// The name of whoever may do everything without having been given a name.
const ADMIN: &str = "admin";

fn administrator() -> User {
    User::admin(ADMIN).group("system:masters")
}

impl Caller {
    /// The name that counters and faults know it by.
    pub(crate) fn name(&self) -> Arc<str> {
        match self {
            Self::Anybody => ADMIN.into(),
            Self::Known(user) => Arc::clone(&user.name),
            Self::Unknown => "".into(),
        }
    }

    /// The user that it counts as.
    pub(crate) fn user(&self) -> Arc<User> {
        match self {
            Self::Anybody => Arc::new(administrator()),
            Self::Known(user) => Arc::clone(user),
            Self::Unknown => Arc::new(User::anonymous()),
        }
    }

    /// Whether it may do this, and the answer if not.
    pub(crate) fn check(&self, server: &Inner, info: &RequestInfo) -> Result<(), Status> {
        if matches!(self, Self::Anybody) {
            return Ok(());
        }
        self.check_deed(server, &Deed::of(info))
    }

    /// The same of something that it wants to do.
    pub(crate) fn check_deed(&self, server: &Inner, deed: &Deed) -> Result<(), Status> {
        let user = match self {
            Self::Anybody => return Ok(()),
            Self::Unknown => return Err(Status::unauthorized()),
            Self::Known(user) => user,
        };
        // Most are allowed by their own rules; the stored roles take a lock to read.
        if user.rules.iter().any(|rule| rule.allows(deed)) {
            return Ok(());
        }
        Granted::to(user, &deed.namespace, &server.store())
            .allows(deed)
            .map_err(|reason| refusal(&user.name, deed, &reason))
    }
}

fn refusal(user: &str, deed: &Deed, reason: &str) -> Status {
    let mut why = deed.refusal(user);
    if !reason.is_empty() {
        why = format!("{why}: {reason}");
    }
    if deed.path.is_some() {
        return Status::forbidden(format!("forbidden: {why}")).with_details(json!({}));
    }
    let resource = match deed.group.as_str() {
        "" => deed.plural.clone(),
        group => format!("{}.{group}", deed.plural),
    };
    let object = match deed.name.as_str() {
        "" => String::new(),
        name => format!(" \"{name}\""),
    };
    Status::forbidden(format!("{resource}{object} is forbidden: {why}"))
        .with_details(json!({"name": deed.name, "group": deed.group, "kind": deed.plural}))
}

/// Tokens and who they belong to.
impl Server {
    /// Lets a user in by this bearer token; whose it was before no longer gets in by it. From the first token on,
    /// unknown ones get 401. Open watches go on, as they do on a real server.
    pub fn add_token(&self, token: &str, user: User) {
        self.0.tokens.0.lock().insert(token.to_owned(), Arc::new(user));
    }

    /// No longer lets anybody in by this token. Without any token left the server is open to all.
    pub fn remove_token(&self, token: &str) {
        self.0.tokens.0.lock().remove(token);
    }

    /// Requires this one token from now on, which may do everything; or opens the server to all.
    pub fn set_token(&self, token: Option<String>) {
        let mut users = self.0.tokens.0.lock();
        users.clear();
        users.extend(token.map(|token| (token, Arc::new(administrator()))));
    }
}
