//! Workspaces of kcp as clusters.
mod endpoint;
mod following;
mod listing;
mod source;
#[cfg(test)]
mod tests;

use super::{Change, Provider, ProviderContext};
use crate::{
    apis::kcp::APIBinding,
    connect::{Access, Policy, Rejected, SharedServer},
};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use http::Uri;
use parking_lot::Mutex;
use std::{collections::BTreeMap, fmt, sync::Arc};

/// Every workspace that binds an export is a cluster.
///
/// The host leads to the workspace that has the export's `APIExportEndpointSlice`. For each address in it (one for each
/// shard that has bindings) the provider watches the `APIBinding`s of all its workspaces at once; the caches of the
/// clusters share watches in the same way, one for each kind and shard. What is written to a cluster, and what is read
/// past the caches, goes to the workspace's own path below the same address. The credentials are those of the host.
///
/// A cluster is called like its logical cluster (`kcp.io/cluster`), which never changes.
///
/// # Guarantees
/// - A workspace is engaged while it has a binding that is ready, and leaves when it has none any more: when the binding
///   is deleted, when it is no longer ready, when the address goes from the slice and no other address has it.
/// - A workspace that moves to another shard, and shows there before it is gone where it was, goes over as another life
///   of its cluster, without having left. One that shows later leaves and comes back.
/// - An address that fails keeps what was seen through it, and does not touch the others.
/// - A slice that is deleted has no addresses; one that was never there, or cannot be read, says nothing of workspaces.
///
/// # Assumptions
/// Whoever can write the status of the slice, which is kcp, names the servers to which the host's credentials are shown.
/// They have to be `https` and may be on this machine only where the host is, unless [`policy`](Self::policy) says
/// otherwise.
///
/// ```
/// use mcrt::providers::Kcp;
///
/// let bound = Kcp::slice("fleet").in_workspace("root:platform");
/// let new = Kcp::initializing("root:platform:team");
/// # let _ = (bound, new);
/// ```
pub struct Kcp {
    of: Of,
    workspace: Option<String>,
    by_path: bool,
    ready: Option<Arc<dyn Fn(&APIBinding) -> bool + Send + Sync>>,
    policy: Option<Policy>,
    /// By their identity: streams that run at once share them, and so does the next stream with the fleet.
    servers: Mutex<BTreeMap<u64, SharedServer>>,
}

/// Which workspaces are meant.
#[derive(Clone, Debug)]
enum Of {
    /// Those that bind the export of this slice.
    Slice(String),
    /// Those that wait for this initializer.
    Initializer(String),
}

impl Kcp {
    /// The workspaces that bind an export, by the name of its `APIExportEndpointSlice`: kcp makes one for each
    /// `APIExport`, called like it.
    pub fn slice(name: impl Into<String>) -> Self {
        Self::new(Of::Slice(name.into()))
    }

    /// The workspaces of a `WorkspaceType` that are being initialized and wait for this initializer, `<workspace>:<type>`
    /// or the name of the type alone. The type is read in the workspace that the host leads to.
    ///
    /// A workspace leaves when the initializer is taken from `status.initializers` of its `LogicalCluster`: the last
    /// thing that a controller of such workspaces does.
    pub fn initializing(initializer: impl Into<String>) -> Self {
        Self::new(Of::Initializer(initializer.into()))
    }

    fn new(of: Of) -> Self {
        Self {
            of,
            workspace: None,
            by_path: false,
            ready: None,
            policy: None,
            servers: Mutex::default(),
        }
    }

    /// Looks for the slice, or the type, in this workspace of the host's server, by path or name, instead of the one that
    /// the host leads to.
    #[must_use]
    pub fn in_workspace(mut self, workspace: impl Into<String>) -> Self {
        self.workspace = Some(workspace.into());
        self
    }

    /// Calls clusters by the path of their workspace where the binding has it (annotation `kcp.io/path`), instead of by
    /// the name of their logical cluster. Paths can change: the cluster then leaves and comes under its new name.
    #[must_use]
    pub fn named_by_path(mut self) -> Self {
        self.by_path = true;
        self
    }

    /// Which bindings count, instead of those whose condition `Ready` is `True`. Called for every binding that comes or
    /// changes; it must not block.
    #[must_use]
    pub fn ready(mut self, ready: impl Fn(&APIBinding) -> bool + Send + Sync + 'static) -> Self {
        self.ready = Some(Arc::new(ready));
        self
    }

    /// Which addresses may be named to the provider.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// The way to the workspace that has the slice.
    fn home(&self, host: &Access) -> Result<Access, Rejected> {
        let Some(workspace) = &self.workspace else {
            return Ok(host.clone());
        };
        // A service has a name, and takes any address.
        let server: Option<Uri> = host.server().parse().ok();
        let server = server.filter(|server| server.scheme().is_some()).map(|server| {
            let base = server.path().split("/clusters/").next().unwrap_or_default();
            let (scheme, authority) = (server.scheme_str(), server.authority());
            let authority = authority.map_or("", |authority| authority.as_str());
            format!(
                "{}://{authority}{}",
                scheme.unwrap_or_default(),
                base.trim_end_matches('/')
            )
        });
        let server = server.unwrap_or_else(|| "https://kcp".to_owned());
        host.at(
            &format!("{server}/clusters/{workspace}"),
            &as_wide_as_needed_for(host),
        )
    }

    /// The clusters behind one address, the same for every stream.
    fn server(&self, access: Access) -> SharedServer {
        let mut servers = self.servers.lock();
        let known = servers
            .entry(access.identity())
            .or_insert_with(|| SharedServer::workspaces(access.clone()));
        // Material that cannot be used leaves the last good in place; whoever dials says what is wrong.
        let _ = known.renew(access);
        known.clone()
    }
}

/// The strictest policy that the host's own address passes.
fn as_wide_as_needed_for(host: &Access) -> Policy {
    let widen: [fn(Policy) -> Policy; 3] = [
        Policy::allow_local_servers,
        Policy::allow_plain_http,
        Policy::allow_proxies,
    ];
    let mut choices: Vec<u8> = (0..8).collect();
    choices.sort_by_key(|choice| choice.count_ones());
    let policies = choices.iter().map(|choice| {
        let chosen = widen.iter().enumerate().filter(|(bit, _)| choice >> bit & 1 == 1);
        chosen.fold(Policy::strict(), |policy, (_, widen)| widen(policy))
    });
    let mut fitting = policies.filter(|policy| host.at(&host.server(), policy).is_ok());
    fitting.next().unwrap_or_else(Policy::strict)
}

impl Provider for Kcp {
    fn name(&self) -> &'static str {
        "kcp"
    }

    fn needs_host(&self) -> bool {
        true
    }

    fn changes(self: Arc<Self>, cx: ProviderContext) -> BoxStream<'static, Change> {
        match following::Following::begin(self, &cx) {
            Ok(following) => stream::unfold(following, async |mut following| {
                let change = following.next().await;
                Some((change, following))
            })
            .boxed(),
            Err(reason) => stream::iter([Change::Failed(reason)]).boxed(),
        }
    }
}

impl fmt::Debug for Kcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kcp")
            .field("of", &self.of)
            .field("workspace", &self.workspace)
            .field("by_path", &self.by_path)
            .field("ready", &self.ready.as_ref().map(|_| "custom"))
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
