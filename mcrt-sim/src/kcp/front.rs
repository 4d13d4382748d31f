//! The way from a request to the server that answers it, and what it may do there.

use std::fmt;
use std::sync::Arc;

use http::header::HOST;
use http::uri::Authority;
use http::{Request, Uri};

use crate::access::rule::Deed;
use crate::access::tokens::Caller;
use crate::kcp::route::{Route, Within, read};
use crate::kcp::view::Virtual;
use crate::kcp::{Kcp, Space, State, home_of};
use crate::refusal::status::Status;
use crate::request::info::{RequestInfo, Verb};
use crate::server::Server;

/// An address of a [`Kcp`].
#[derive(Clone)]
pub(crate) struct Front {
    kcp: Kcp,
    /// The shard whose address it is, where requests need not say it.
    shard: Option<String>,
}

/// Where a request goes.
pub(crate) struct Way {
    pub(crate) server: Server,
    /// How much of the path leads there.
    pub(crate) base: usize,
    /// What is told when something was written.
    kcp: Option<Kcp>,
    right: Right,
    bounds: Bounds,
}

/// What the caller needs.
enum Right {
    /// What the server asks for itself.
    Own,
    /// This on another server, whatever the request does. Without a verb it is that of the request.
    Through(Server, Deed),
}

/// What can be asked there.
enum Bounds {
    Everything,
    /// Only what can be asked of several workspaces at once.
    Reads,
    /// What a virtual workspace shows of one; written only where it is at home.
    Shown(Arc<Virtual>, bool),
    Nothing(Status),
}

impl Front {
    pub(crate) fn new(kcp: Kcp, shard: Option<String>) -> Self {
        Self { kcp, shard }
    }

    /// What cuts off and counts its sockets.
    pub(crate) fn server(&self) -> Server {
        match &self.shard {
            Some(shard) => self.kcp.sockets(shard),
            None => self.kcp.root(),
        }
    }

    pub(crate) fn find<B>(&self, request: &Request<B>) -> Way {
        let (route, base) = read(request.uri().path());
        let found = {
            let state = self.kcp.0.state.lock();
            let shard = self.shard.clone().or_else(|| shard_of(&state, request));
            follow(&state, shard.as_deref(), &route)
        };
        let root = self.kcp.root();
        match found {
            Ok(Some((server, right, bounds))) => Way {
                server,
                base,
                kcp: Some(self.kcp.clone()),
                right,
                bounds,
            },
            // Health and version of the front itself.
            Ok(None) => Way::straight(&root),
            Err(status) => Way {
                bounds: Bounds::Nothing(status),
                base,
                ..Way::straight(&root)
            },
        }
    }
}

/// The shard whose address a request names.
fn shard_of<B>(state: &State, request: &Request<B>) -> Option<String> {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let asked = request.uri().authority().map(Authority::as_str).or(host)?;
    let mut shards = state.shards.iter();
    let named = shards.find(|(_, shard)| {
        let url: Option<Uri> = shard.url.parse().ok();
        url.is_some_and(|url| url.authority().is_some_and(|own| own.as_str() == asked))
    });
    named.map(|(name, _)| name.clone())
}

type Found = (Server, Right, Bounds);

/// Where a path leads; nothing for what is about no workspace.
fn follow(state: &State, shard: Option<&str>, route: &Route) -> Result<Option<Found>, Status> {
    match route {
        Route::Nowhere => Ok(None),
        Route::Workspace(name) => {
            let (_, space) = find(state, name).ok_or_else(|| unknown(name))?;
            let server = space.copies.get(&space.home).ok_or_else(|| unknown(name))?;
            Ok(Some((server.clone(), Right::Own, Bounds::Everything)))
        }
        Route::Export(cluster, name, within) => {
            let (cluster, home) = find(state, cluster).ok_or_else(|| unknown(cluster))?;
            let mut exports = state.exports.iter();
            let export = exports
                .find(|export| export.cluster == cluster && export.name == *name)
                .ok_or_else(|| Status::not_found("apis.kcp.io", "apiexports", name))?;
            let deed = Deed {
                group: "apis.kcp.io".into(),
                plural: "apiexports".into(),
                subresource: "content".into(),
                name: name.clone(),
                ..Deed::default()
            };
            let right = through(home, deed).ok_or_else(|| unknown(&cluster))?;
            let shard = only_shard(state, shard)?;
            let view = export.views.get(shard).ok_or_else(Status::not_served)?;
            within_view(state, shard, view, within, right).map(Some)
        }
        Route::Initializer(name, within) => {
            let mut all = state.initializers.iter();
            let initializer = all
                .find(|known| known.name == *name)
                .ok_or_else(Status::not_served)?;
            let (home, kind) = home_of(name);
            let deed = Deed {
                verb: "initialize".into(),
                group: "tenancy.kcp.io".into(),
                plural: "workspacetypes".into(),
                name: kind.to_owned(),
                ..Deed::default()
            };
            let (_, home) = find(state, home).ok_or_else(|| unknown(home))?;
            let right = through(home, deed).ok_or_else(|| unknown(name))?;
            let shard = only_shard(state, shard)?;
            let view = initializer.views.get(shard).ok_or_else(Status::not_served)?;
            within_view(state, shard, view, within, right).map(Some)
        }
    }
}

fn through(home: &Space, deed: Deed) -> Option<Right> {
    let server = home.copies.get(&home.home).or(home.parked.as_ref())?;
    Some(Right::Through(server.clone(), deed))
}

fn within_view(
    state: &State,
    shard: &str,
    view: &Arc<Virtual>,
    within: &Within,
    right: Right,
) -> Result<Found, Status> {
    let Within::One(name) = within else {
        return Ok((view.server.clone(), right, Bounds::Reads));
    };
    let hidden = || {
        Status::forbidden(format!(
            "workspace \"{name}\" is not accessible here: it binds nothing of this"
        ))
    };
    let (cluster, space) = find(state, name).ok_or_else(hidden)?;
    let server = space.copies.get(shard).filter(|_| view.shows(&cluster));
    let server = server.ok_or_else(hidden)?.clone();
    Ok((
        server,
        right,
        Bounds::Shown(Arc::clone(view), space.home == shard),
    ))
}

fn find<'a>(state: &'a State, name_or_path: &str) -> Option<(Arc<str>, &'a Space)> {
    let by_name = state.workspaces.get_key_value(name_or_path);
    let mut all = state.workspaces.iter();
    let found = by_name.or_else(|| all.find(|(_, space)| *space.path == *name_or_path));
    found.map(|(name, space)| (Arc::clone(name), space))
}

/// Virtual workspaces are those of a shard: the front proxy knows which only where there is one.
fn only_shard<'a>(state: &'a State, asked: Option<&'a str>) -> Result<&'a str, Status> {
    let mut shards = state.shards.keys();
    match (asked, shards.next(), shards.next()) {
        (Some(shard), ..) => Ok(shard),
        (None, Some(only), None) => Ok(only),
        _ => Err(Status::not_served()),
    }
}

fn unknown(name: &str) -> Status {
    Status::not_found("core.kcp.io", "logicalclusters", name)
}

impl Way {
    /// To a server that is asked itself.
    pub(crate) fn straight(server: &Server) -> Self {
        Self {
            server: server.clone(),
            base: 0,
            kcp: None,
            right: Right::Own,
            bounds: Bounds::Everything,
        }
    }

    /// Whether the request may be answered, and the answer if not.
    pub(crate) fn check(&self, caller: &Caller, info: &RequestInfo) -> Result<(), Status> {
        match &self.right {
            Right::Own => caller.check(&self.server.0, info)?,
            Right::Through(server, deed) => {
                let mut deed = deed.clone();
                if deed.verb.is_empty() {
                    deed.verb = Deed::of(info).verb;
                }
                caller.check_deed(&server.0, &deed)?;
            }
        }
        let writes = writes(info);
        match &self.bounds {
            Bounds::Nothing(status) => Err(status.clone()),
            Bounds::Reads if writes || info.verb() == Verb::Get => Err(Status::method_not_allowed()),
            Bounds::Shown(_, false) if writes => Err(left()),
            Bounds::Shown(view, _) if info.verb() != Verb::Raw && !view.leads_to(&id(info)) => {
                Err(Status::not_served())
            }
            _ => Ok(()),
        }
    }

    /// Lets follow what follows from a write.
    pub(crate) fn follow(&self, info: &RequestInfo) {
        let kcp = self.kcp.as_ref();
        if matches!(info.group(), "apis.kcp.io" | "core.kcp.io") && writes(info) {
            kcp.into_iter().for_each(Kcp::settle);
        }
    }
}

fn writes(info: &RequestInfo) -> bool {
    !matches!(info.verb(), Verb::Get | Verb::List | Verb::Watch | Verb::Raw)
}

fn left() -> Status {
    Status::new(
        503,
        "ServiceUnavailable",
        "the workspace is moving to another shard, which takes its writes",
    )
}

/// The resource as the store knows it.
fn id(info: &RequestInfo) -> String {
    match info.group() {
        "" => info.plural().to_owned(),
        group => format!("{}.{group}", info.plural()),
    }
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front")
            .field("shard", &self.shard)
            .finish_non_exhaustive()
    }
}
