//! kcp: many workspaces behind one address, spread over shards, and the virtual workspaces that show several at once.

mod export;
pub(crate) mod front;
mod objects;
mod route;
mod view;
mod workspace;

pub use export::{Export, Initializer};
pub use workspace::Workspace;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::access::tokens::Tokens;
use crate::access::user::User;
use crate::door::listener::{Listen, Listener};
use crate::door::service::Service;
use crate::kcp::front::Front;
use crate::kcp::view::{Belongs, Virtual};
use crate::server::Server;
use crate::state::shared::{Part, Shared};
use crate::state::store::Store;

/// Workspaces as kcp serves them. Clones share it.
///
/// Every workspace is a [`Server`] of its own, reached at `/clusters/<name or path>/...`. An [`Export`] is served at
/// `/services/apiexport/<workspace>/<export>/clusters/...` by every shard: below `<name>` the workspaces that bind it,
/// below `*` all of them at once, for lists and watches. An [`Initializer`] is served the same way at
/// `/services/initializingworkspaces/<initializer>/clusters/...`. One shard has one sequence of versions.
///
/// What is not simulated: the types of an export (every workspace serves every kind), permission claims, which hide
/// nothing, the deletion of bound objects with their binding, workspaces as objects of their parents.
///
/// ```
/// use mcrt_sim::Kcp;
/// use serde_json::json;
///
/// let kcp = Kcp::new();
/// let export = kcp.export(&kcp.workspace("root:provider"), "fleet");
/// let team = kcp.workspace_on("root:team", "west");
/// export.bind(&team);
/// team.server()
///     .create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}))?;
/// assert_eq!(export.urls(), [export.url("west")]);
/// # Ok::<(), mcrt_sim::Status>(())
/// ```
#[derive(Clone)]
pub struct Kcp(Arc<Inner>);

struct Inner {
    tokens: Arc<Tokens>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    shards: BTreeMap<String, Shard>,
    workspaces: BTreeMap<Arc<str>, Space>,
    exports: Vec<Exported>,
    initializers: Vec<Initialized>,
    made: u64,
}

/// One storage.
#[derive(Clone)]
struct Shard {
    /// Where its virtual workspaces are reached.
    url: String,
    shared: Arc<Shared>,
    /// What its sockets are cut off by, and counted in.
    sockets: Server,
}

/// A workspace and where it is.
#[derive(Clone)]
struct Space {
    path: Arc<str>,
    /// Its copies by shard: one, or two while it moves, or none.
    copies: BTreeMap<String, Server>,
    /// The shard whose copy takes writes.
    home: String,
    /// Where it is while it is nowhere.
    parked: Option<Server>,
}

#[derive(Clone)]
struct Exported {
    name: String,
    cluster: Arc<str>,
    path: Arc<str>,
    views: BTreeMap<String, Arc<Virtual>>,
    only: Option<BTreeSet<String>>,
    hidden: BTreeSet<String>,
}

#[derive(Clone)]
struct Initialized {
    name: String,
    views: BTreeMap<String, Arc<Virtual>>,
}

/// The shard that is always there, and the name of the workspace that is.
const ROOT: &str = "root";

impl Kcp {
    /// One shard and one workspace, both called `root`.
    pub fn new() -> Self {
        let kcp = Self(Arc::new(Inner {
            tokens: Arc::default(),
            state: Mutex::default(),
        }));
        kcp.workspace(ROOT);
        kcp
    }

    /// The workspace of this path on the shard `root`, made if there is none.
    pub fn workspace(&self, path: &str) -> Workspace {
        self.workspace_on(path, ROOT)
    }

    /// The workspace of this path, made on this shard if there is none.
    pub fn workspace_on(&self, path: &str, shard: &str) -> Workspace {
        self.make(path, shard, &[])
    }

    /// The workspace of this path, made on this shard if there is none: it is being initialized until nobody is left
    /// among `status.initializers` of its `LogicalCluster`.
    pub fn workspace_to_initialize(&self, path: &str, shard: &str, initializers: &[&str]) -> Workspace {
        self.make(path, shard, initializers)
    }

    /// The workspace of this name or path.
    pub fn get(&self, name_or_path: &str) -> Option<Workspace> {
        let state = self.0.state.lock();
        let mut all = state.workspaces.iter();
        let (name, space) =
            all.find(|(name, space)| ***name == *name_or_path || *space.path == *name_or_path)?;
        Some(Workspace::new(self.clone(), name, &space.path))
    }

    /// An export of a workspace, with its `APIExport` and the `APIExportEndpointSlice` that kcp makes for it.
    pub fn export(&self, home: &Workspace, name: &str) -> Export {
        let (cluster, path) = (Arc::<str>::from(home.name()), Arc::<str>::from(home.path()));
        {
            let mut state = self.0.state.lock();
            let known = state.exports.iter();
            if !known
                .clone()
                .any(|known| known.name == name && known.cluster == cluster)
            {
                let belongs = Belongs::Binds(name.to_owned(), Arc::clone(&cluster), Arc::clone(&path));
                let views = self.views(&state, name, &belongs);
                state.exports.push(Exported {
                    name: name.to_owned(),
                    cluster: Arc::clone(&cluster),
                    path: Arc::clone(&path),
                    views,
                    only: None,
                    hidden: BTreeSet::new(),
                });
            }
        }
        for object in [objects::export(name, &path), objects::slice(name, &path)] {
            // Already there where the export is.
            let _ = home.server().create(object);
        }
        self.settle();
        Export::new(self.clone(), &cluster, name)
    }

    /// The view of whoever initializes workspaces under this name, `<workspace>:<type>`. The type is an object of the
    /// workspace, which names the addresses of all shards.
    pub fn initializer(&self, name: &str) -> Initializer {
        {
            let mut state = self.0.state.lock();
            if !state.initializers.iter().any(|known| known.name == name) {
                let views = self.views(&state, name, &Belongs::WaitsFor(name.to_owned()));
                state.initializers.push(Initialized {
                    name: name.to_owned(),
                    views,
                });
            }
        }
        let servers: Vec<_> = {
            let state = self.0.state.lock();
            let copies = state.workspaces.values().flat_map(|space| space.copies.values());
            copies.cloned().collect()
        };
        for server in servers {
            // Written again, so that the new views look at it.
            server
                .0
                .store()
                .touch(|kind, _| *kind.id == *objects::LOGICAL_CLUSTERS);
        }
        let (home, kind) = home_of(name);
        if let Some(home) = self.get(home) {
            // Already there where the initializer is.
            let _ = home.server().create(objects::workspace_type(kind));
        }
        self.settle();
        Initializer::new(self.clone(), name)
    }

    /// The way in: everything, at the address of the front proxy and of every shard.
    pub fn service(&self) -> Service {
        Service::to_front(Front::new(self.clone(), None))
    }

    /// Serves plain HTTP on a free port of 127.0.0.1, which is the address of this shard from now on.
    ///
    /// # Errors
    /// If no port can be had.
    pub async fn listen(&self, shard: &str) -> io::Result<Listener> {
        self.listen_with(shard, Listen::new()).await
    }

    /// Serves on a port, which is the address of this shard from now on.
    ///
    /// # Errors
    /// If the port cannot be had.
    pub async fn listen_with(&self, shard: &str, listen: Listen) -> io::Result<Listener> {
        let front = Front::new(self.clone(), Some(shard.to_owned()));
        let listener = Service::to_front(front).listen_with(listen).await?;
        self.set_shard_url(shard, listener.url());
        Ok(listener)
    }

    /// The address of a shard.
    pub fn shard_url(&self, shard: &str) -> String {
        self.shard(shard).url
    }

    /// Gives a shard another address, which the slices name from now on.
    pub fn set_shard_url(&self, shard: &str, url: &str) {
        self.shard(shard);
        if let Some(shard) = self.0.state.lock().shards.get_mut(shard) {
            url.trim_end_matches('/').clone_into(&mut shard.url);
        }
        self.settle();
    }

    /// What stands for the sockets of a shard: it counts their connections, and its partition cuts them off.
    pub fn sockets(&self, shard: &str) -> Server {
        self.shard(shard).sockets
    }

    /// Lets a user in by this bearer token, everywhere, as [`Server::add_token`] does for one server.
    ///
    /// What it may do in a workspace it is allowed there; through an export it needs the verb on
    /// `apiexports/content`, through an initializer the verb `initialize` on `workspacetypes`.
    pub fn add_token(&self, token: &str, user: User) {
        self.root().add_token(token, user);
    }

    fn make(&self, path: &str, shard: &str, initializers: &[&str]) -> Workspace {
        if let Some(known) = self.get(path) {
            return known;
        }
        let Shard { url, shared, .. } = self.shard(shard);
        self.settle();
        let name: Arc<str> = {
            let mut state = self.0.state.lock();
            state.made += 1;
            if path == ROOT {
                ROOT.into()
            } else {
                opaque(path, state.made).into()
            }
        };
        let server = self.place(&name, &shared);
        {
            let mut store = server.0.store();
            for kind in objects::kinds() {
                store.registry.serve(&kind);
            }
        }
        let url = format!("{url}/clusters/{name}");
        write(
            &server,
            objects::logical_cluster(path),
            &objects::logical_cluster_status(&url, initializers),
        );
        let space = Space {
            path: path.into(),
            copies: BTreeMap::from([(shard.to_owned(), server)]),
            home: shard.to_owned(),
            parked: None,
        };
        self.0.state.lock().workspaces.insert(Arc::clone(&name), space);
        Workspace::new(self.clone(), &name, path)
    }

    /// An empty server for a workspace in the storage of a shard.
    fn place(&self, cluster: &Arc<str>, shared: &Arc<Shared>) -> Server {
        let mut store = Store::new();
        store.part = Some(Arc::new(Part {
            cluster: Some(Arc::clone(cluster)),
            shared: Arc::clone(shared),
        }));
        Server::holding(cluster, store, Arc::clone(&self.0.tokens))
    }

    /// A shard, made if there is none.
    fn shard(&self, name: &str) -> Shard {
        let mut state = self.0.state.lock();
        if let Some(known) = state.shards.get(name) {
            return known.clone();
        }
        let shard = Shard {
            url: format!("https://{name}.kcp.sim"),
            shared: Arc::default(),
            sockets: Server::new(name),
        };
        state.shards.insert(name.to_owned(), shard.clone());
        let State {
            exports,
            initializers,
            ..
        } = &mut *state;
        for export in exports {
            let belongs = Belongs::Binds(
                export.name.clone(),
                Arc::clone(&export.cluster),
                Arc::clone(&export.path),
            );
            let view = Virtual::new(&export.name, belongs, &shard.shared, &self.0.tokens);
            if let Some(only) = &export.only {
                view.limit(only.clone());
            }
            export.views.insert(name.to_owned(), view);
        }
        for initializer in initializers {
            let belongs = Belongs::WaitsFor(initializer.name.clone());
            let view = Virtual::new(&initializer.name, belongs, &shard.shared, &self.0.tokens);
            initializer.views.insert(name.to_owned(), view);
        }
        shard
    }

    fn views(&self, state: &State, name: &str, belongs: &Belongs) -> BTreeMap<String, Arc<Virtual>> {
        let shards = state.shards.iter();
        shards
            .map(|(shard, Shard { shared, .. })| {
                let view = Virtual::new(name, belongs.clone(), shared, &self.0.tokens);
                (shard.clone(), view)
            })
            .collect()
    }

    fn root(&self) -> Server {
        let root = self.get(ROOT).map(|root| root.server());
        root.expect("it is made with the rest and cannot be removed")
    }

    /// What kcp's own controllers do a moment after a change: slices name the shards that have bindings, workspaces
    /// that wait for no initializer are ready.
    pub(crate) fn settle(&self) {
        let (exports, initializers, shards, spaces) = {
            let state = self.0.state.lock();
            let spaces: Vec<_> = state.workspaces.values().cloned().collect();
            (
                state.exports.clone(),
                state.initializers.clone(),
                state.shards.clone(),
                spaces,
            )
        };
        for export in exports {
            let urls: Vec<_> = export
                .views
                .iter()
                .filter(|(shard, view)| !view.is_empty() && !export.hidden.contains(*shard))
                .filter_map(|(shard, _)| Some(export.url(shards.get(shard)?)))
                .collect();
            if let Some(home) = self.get(&export.cluster).filter(Workspace::is_somewhere) {
                say(
                    &home.server(),
                    objects::APIS,
                    "APIExportEndpointSlice",
                    &export.name,
                    |status| *status = objects::slice_status(&urls),
                );
            }
        }
        for initializer in initializers {
            let (home, kind) = home_of(&initializer.name);
            let urls: Vec<_> = shards.values().map(|shard| initializer.url(shard)).collect();
            if let Some(home) = self.get(home).filter(Workspace::is_somewhere) {
                say(
                    &home.server(),
                    objects::TENANCY,
                    "WorkspaceType",
                    kind,
                    |status| {
                        *status = objects::workspace_type_status(&urls);
                    },
                );
            }
        }
        for server in spaces.iter().filter_map(|space| space.copies.get(&space.home)) {
            say(server, objects::CORE, "LogicalCluster", "cluster", |status| {
                let waits = status["initializers"]
                    .as_array()
                    .is_some_and(|all| !all.is_empty());
                if status["phase"] == "Initializing" && !waits {
                    status["phase"] = "Ready".into();
                }
            });
        }
    }
}

impl Exported {
    fn url(&self, shard: &Shard) -> String {
        format!("{}/services/apiexport/{}/{}", shard.url, self.cluster, self.name)
    }
}

impl Initialized {
    fn url(&self, shard: &Shard) -> String {
        format!("{}/services/initializingworkspaces/{}", shard.url, self.name)
    }
}

/// The workspace and the type that an initializer names.
fn home_of(initializer: &str) -> (&str, &str) {
    initializer.rsplit_once(':').unwrap_or((ROOT, initializer))
}

/// Creates an object and gives it a status.
fn write(server: &Server, object: Value, status: &Value) {
    if let Ok(mut object) = server.create(object) {
        object["status"] = status.clone();
        // It was just made and is nobody else's yet.
        let _ = server.replace_status(object);
    }
}

/// Changes the status of an object, if it is there and that changes anything but times.
fn say(server: &Server, api_version: &str, kind: &str, name: &str, change: impl FnOnce(&mut Value)) {
    let Ok(mut object) = server.get(api_version, kind, None, name) else {
        return;
    };
    let before = object["status"].clone();
    change(&mut object["status"]);
    if timeless(&before) != timeless(&object["status"]) {
        // Somebody else has written it since, and settles it again.
        let _ = server.replace_status(object);
    }
}

fn timeless(status: &Value) -> Value {
    let mut status = status.clone();
    for condition in status["conditions"].as_array_mut().into_iter().flatten() {
        condition["lastTransitionTime"] = json!(null);
    }
    status
}

/// A name that says nothing, as logical clusters have: the same one in every run, another for every workspace.
fn opaque(path: &str, made: u64) -> String {
    const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut hasher = DefaultHasher::new();
    (path, made).hash(&mut hasher);
    let mut left = hasher.finish();
    let rest = (0..12).map(|_| {
        let letter = LETTERS[usize::try_from(left % 36).unwrap_or_default()];
        left /= 36;
        char::from(letter)
    });
    std::iter::once('w').chain(rest).collect()
}

impl Default for Kcp {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Kcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.state.lock();
        let paths = state.workspaces.values().map(|space| &space.path);
        f.debug_list().entries(paths).finish()
    }
}
