//! The bearer tokens of a server: whose each is, and what comes of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;

use crate::access::user::{Deed, User};
use crate::api::status::Status;
use crate::server::Server;

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

    /// Whether it may do this, and the answer if not.
    pub(crate) fn check(&self, deed: &Deed<'_>) -> Result<(), Status> {
        match self {
            Self::Anybody => Ok(()),
            Self::Unknown => Err(Status::unauthorized()),
            Self::Known(user) if user.is_allowed(deed) => Ok(()),
            Self::Known(user) => Err(refusal(&user.name, deed)),
        }
    }
}

/// The name of whoever may do everything without having been given a name.
const ADMIN: &str = "admin";

fn refusal(user: &str, deed: &Deed<'_>) -> Status {
    if let Some(path) = deed.path {
        let why = format!("User \"{user}\" cannot {} path \"{path}\"", deed.verb);
        return Status::forbidden(format!("forbidden: {why}")).with_details(json!({}));
    }
    let resource = match deed.group {
        "" => deed.plural.to_owned(),
        group => format!("{}.{group}", deed.plural),
    };
    let what = match deed.subresource {
        "" => deed.plural.to_owned(),
        subresource => format!("{}/{subresource}", deed.plural),
    };
    let place = match deed.namespace {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace \"{namespace}\""),
    };
    let object = match deed.name {
        "" => String::new(),
        name => format!(" \"{name}\""),
    };
    let message = format!(
        "{resource}{object} is forbidden: User \"{user}\" cannot {} resource \"{what}\" in API group \"{}\" {place}",
        deed.verb, deed.group
    );
    Status::forbidden(message)
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
        users.extend(token.map(|token| (token, Arc::new(User::admin(ADMIN)))));
    }
}
