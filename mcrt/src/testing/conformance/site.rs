//! Where a check takes place: a host, and the members that a provider is to find.
use super::{
    member::{ADMIN, Member, Place},
    outside::{Outside, account_token, done, made, role_ref, subject},
    relay::Relay,
};
use crate::{
    connect::{Access, Life, ServiceAccess, TransportSettings},
    testing::{Servers, eventually},
};
use k8s_openapi::{
    api::{
        core::v1::Namespace,
        rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{Api, Client, Resource, ResourceExt, api::PostParams};
use mcrt_sim::{Server, User};
use parking_lot::Mutex;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fmt,
    net::{Ipv4Addr, TcpListener},
    process,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// How many members can be reached.
const MEMBERS: usize = 3;

/// A host, three members that work and one that never answers. Clones are the same.
///
/// Every check gets a site of its own; what several sites share, as real servers are shared, is told apart by
/// [`id`](Self::id).
#[derive(Clone)]
pub struct Site(Arc<Inner>);

struct Inner {
    id: String,
    host: Host,
    members: Vec<Member>,
    silent: Member,
    clients: Arc<Clients>,
    pace: Pace,
    /// Who was given access to the host: accounts by their namespaces.
    accounts: Mutex<Vec<(String, String)>>,
}

enum Host {
    Simulated(Server),
    /// Reached past a relay by all but the kit itself.
    Outside(Box<Outside>, Relay),
}

/// How long things may take.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Until what should come has come.
    limit: Duration,
    /// For which nothing may happen.
    quiet: Duration,
}

/// Time may be paused: it costs nothing.
const VIRTUAL: Pace = Pace {
    limit: Duration::from_mins(2),
    quiet: Duration::from_mins(1),
};

const REAL: Pace = Pace {
    limit: Duration::from_mins(1),
    quiet: Duration::from_secs(2),
};

impl Site {
    /// Everything in this process, without a socket: for providers whose descriptions can hold an
    /// [`Access`](super::Reach::access), and in paused time.
    pub fn simulated() -> Self {
        let clients = Arc::new(Clients::default());
        let member =
            |name: &str| Member::new(name.to_owned(), Place::Memory(Server::new(name)), clients.clone());
        let members = (1..=MEMBERS)
            .map(|number| member(&format!("member-{number}")))
            .collect();
        let silent = member("silent");
        if let Some(server) = silent.server() {
            server.partition();
        }
        Self::new(
            Host::Simulated(Server::new("host")),
            members,
            silent,
            clients,
            VIRTUAL,
        )
    }

    /// A host in this process, and members there behind TLS on loopback: for providers that read kubeconfigs. Time
    /// must not be paused.
    ///
    /// # Panics
    /// If no port is to be had.
    #[cfg(feature = "sim-tls")]
    pub async fn served() -> Self {
        use mcrt_sim::{Authority, Listen};
        let clients = Arc::new(Clients::default());
        let authority = Authority::new("conformance");
        let authority = authority.unwrap_or_else(|error| panic!("no certificate can be made: {error}"));
        let ca_pem = authority.pem();
        let mut members = Vec::new();
        for number in 1..=MEMBERS {
            let name = format!("member-{number}");
            let server = Server::new(&name);
            let listener = server.listen_with(Listen::new().tls(&authority)).await;
            let listener = listener.unwrap_or_else(|error| panic!("no port can be had: {error}"));
            let place = Place::Port {
                server,
                listener,
                ca_pem: ca_pem.to_owned(),
            };
            members.push(Member::new(name, place, clients.clone()));
        }
        let silent = silent(ca_pem.to_owned(), &clients);
        Self::new(
            Host::Simulated(Server::new("host")),
            members,
            silent,
            clients,
            REAL,
        )
    }

    /// Servers that are there already: a host, and three members.
    ///
    /// # Panics
    /// If there are fewer members, no port is to be had, or outside a tokio runtime.
    pub fn outside(host: Outside, members: impl IntoIterator<Item = Outside>) -> Self {
        let clients = Arc::new(Clients::default());
        let mut ca_pem = String::new();
        let members: Vec<_> = members
            .into_iter()
            .zip(1..)
            .map(|(outside, number)| {
                ca_pem.clone_from(&outside.ca_pem);
                Member::new(
                    format!("member-{number}"),
                    Place::Outside(outside),
                    clients.clone(),
                )
            })
            .collect();
        assert!(
            members.len() >= MEMBERS,
            "a site has {MEMBERS} members, not {}",
            members.len()
        );
        let silent = silent(ca_pem, &clients);
        let relay = host.relay();
        let host = Host::Outside(Box::new(host), relay);
        Self::new(host, members, silent, clients, REAL)
    }

    fn new(host: Host, members: Vec<Member>, silent: Member, clients: Arc<Clients>, pace: Pace) -> Self {
        static SITES: AtomicU64 = AtomicU64::new(1);
        if let Host::Simulated(server) = &host {
            server.add_token(ADMIN, User::admin(ADMIN).group("system:masters"));
        }
        Self(Arc::new(Inner {
            id: format!("site-{}-{}", process::id(), SITES.fetch_add(1, Relaxed)),
            host,
            members,
            silent,
            clients,
            pace,
            accounts: Mutex::default(),
        }))
    }

    /// A word for names and labels, different for each site.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The members that work.
    pub fn members(&self) -> &[Member] {
        &self.0.members
    }

    /// A member that takes connections and never answers.
    pub fn silent(&self) -> &Member {
        &self.0.silent
    }

    /// The simulated host, if it is one: for faults and counters.
    pub fn host_server(&self) -> Option<&Server> {
        match &self.0.host {
            Host::Simulated(server) => Some(server),
            Host::Outside(..) => None,
        }
    }

    /// A client for the host that may do everything. Ask for one when it is needed and do not keep it.
    ///
    /// # Panics
    /// If it cannot be built.
    pub fn host_client(&self) -> Client {
        match &self.0.host {
            Host::Simulated(server) => self.0.clients.of_server(server),
            Host::Outside(outside, _) => self.0.clients.of(&outside.url, &outside.access),
        }
    }

    /// How the administrator reaches the host. A provider should get less: [`host_as`](Self::host_as).
    pub fn host_access(&self) -> Access {
        match &self.0.host {
            Host::Simulated(server) => service(server, ADMIN),
            Host::Outside(outside, _) => outside.access.clone(),
        }
    }

    /// How somebody reaches the host who may do only what these roles allow: documents of YAML, `ClusterRole`s and
    /// `Role`s. A `Role` counts in the namespace that it names, or else in the one given.
    ///
    /// # Panics
    /// If they cannot be read or created.
    pub async fn host_as(&self, roles: &str, namespace: &str) -> Access {
        let account = {
            let mut accounts = self.0.accounts.lock();
            let account = format!("{}-{}", self.0.id, accounts.len() + 1);
            accounts.push((namespace.to_owned(), account.clone()));
            account
        };
        self.grant_all(roles, namespace, &account).await;
        self.access_of(namespace, &account).await
    }

    /// Allows the same to everybody who was given access to the host before. False if nobody was.
    ///
    /// # Panics
    /// As [`host_as`](Self::host_as).
    pub(super) async fn allow_too(&self, roles: &str) -> bool {
        let accounts = self.0.accounts.lock().clone();
        for (namespace, account) in &accounts {
            self.grant_all(roles, namespace, account).await;
        }
        !accounts.is_empty()
    }

    async fn grant_all(&self, roles: &str, namespace: &str, account: &str) {
        let roles = serde_saphyr::from_multiple::<Value>(roles);
        let roles = roles.unwrap_or_else(|error| panic!("the roles cannot be read: {error}"));
        for role in roles {
            self.grant(role, namespace, account).await;
        }
    }

    /// The namespace of this site on the host, which is there afterwards.
    ///
    /// # Panics
    /// If it cannot be created.
    pub async fn namespace(&self) -> String {
        self.create_namespace(&self.0.id).await;
        self.0.id.clone()
    }

    /// Creates a namespace on the host, unless it is there.
    ///
    /// # Panics
    /// If it cannot be created.
    pub async fn create_namespace(&self, name: &str) {
        let namespace: Namespace = made(json!({"metadata": {"name": name}}));
        create(&Api::all(self.host_client()), &namespace).await;
    }

    /// Has the host serve a kind; returns when it does.
    ///
    /// # Panics
    /// If it does not.
    pub async fn install(&self, definition: &CustomResourceDefinition) {
        let definitions = Api::<CustomResourceDefinition>::all(self.host_client());
        create(&definitions, definition).await;
        let name = definition.name_any();
        eventually(
            self.limit(),
            "the definition of a kind is established",
            async || {
                let found = definitions.get(&name).await.map_err(|error| error.to_string())?;
                let conditions = found.status.and_then(|status| status.conditions);
                let mut conditions = conditions.into_iter().flatten();
                if conditions.any(|one| one.type_ == "Established" && one.status == "True") {
                    return Ok(());
                }
                Err("not yet".to_owned())
            },
        )
        .await;
    }

    /// How long what should come is waited for.
    pub fn limit(&self) -> Duration {
        self.0.pace.limit
    }

    /// How long nothing may happen, where nothing should.
    pub fn quiet(&self) -> Duration {
        self.0.pace.quiet
    }

    /// Has the host not answer those who come as [`host_as`](Self::host_as) says, or answer them again.
    pub(super) fn set_host_out(&self, out: bool) {
        match &self.0.host {
            Host::Simulated(server) if out => server.partition(),
            Host::Simulated(server) => server.heal(),
            Host::Outside(_, relay) => relay.set_out(out),
        }
    }

    /// Ends every client of the kit and waits for that; the next that is asked for is a new one.
    pub(super) async fn rest(&self) {
        self.0.clients.rest().await;
    }

    /// Whoever may hold something open in the end.
    pub(super) fn servers(&self) -> impl Servers {
        let members = self.0.members.iter().chain([&self.0.silent]);
        let members = members.filter_map(|member| member.server().cloned());
        Simulated(members.chain(self.host_server().cloned()).collect())
    }
}

impl Site {
    /// Creates a role of YAML under a name of its own, and binds it to an account.
    async fn grant(&self, mut role: Value, namespace: &str, account: &str) {
        let kind = role["kind"].as_str().unwrap_or_default().to_owned();
        let role_name = format!(
            "{account}-{}",
            role["metadata"]["name"].as_str().unwrap_or_default()
        );
        let within = role["metadata"]["namespace"]
            .as_str()
            .unwrap_or(namespace)
            .to_owned();
        let client = self.host_client();
        role["metadata"] = json!({"name": role_name});
        let binding = json!({
            "metadata": {"name": role_name},
            "roleRef": role_ref(&kind, &role_name),
            "subjects": [subject(namespace, account)],
        });
        match kind.as_str() {
            "ClusterRole" => {
                create(&Api::all(client.clone()), &made::<ClusterRole>(role)).await;
                create(&Api::all(client), &made::<ClusterRoleBinding>(binding)).await;
            }
            "Role" => {
                create(&Api::namespaced(client.clone(), &within), &made::<Role>(role)).await;
                create(&Api::namespaced(client, &within), &made::<RoleBinding>(binding)).await;
            }
            // Who has the role in the end is the operator's business.
            "ClusterRoleBinding" | "RoleBinding" | "ServiceAccount" => {}
            other => panic!("the roles hold a `{other}`"),
        }
    }

    /// How an account of a namespace reaches the host.
    async fn access_of(&self, namespace: &str, account: &str) -> Access {
        match &self.0.host {
            Host::Simulated(server) => {
                let user = format!("system:serviceaccount:{namespace}:{account}");
                server.add_token(account, User::new(user).group("system:serviceaccounts"));
                service(server, account)
            }
            Host::Outside(outside, relay) => {
                let token = account_token(&self.host_client(), namespace, account).await;
                outside.access(relay, token)
            }
        }
    }
}

/// An address where the kernel takes connections and nobody reads them.
fn silent(ca_pem: String, clients: &Arc<Clients>) -> Member {
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let socket = socket.unwrap_or_else(|error| panic!("no port can be had: {error}"));
    Member::new(
        "silent".to_owned(),
        Place::Silent { socket, ca_pem },
        clients.clone(),
    )
}

fn service(server: &Server, token: &str) -> Access {
    ServiceAccess::new(
        format!("sim://{}", server.name()),
        server.service().with_token(token),
    )
    .into()
}

/// Creates an object unless one of its name is there.
async fn create<K>(api: &Api<K>, object: &K)
where
    K: Resource<DynamicType = ()> + Clone + Serialize + DeserializeOwned + fmt::Debug,
{
    match api.create(&PostParams::default(), object).await {
        Err(kube::Error::Api(status)) if status.code == 409 => {}
        created => drop(done(&format!("create a {}", K::kind(&())), created)),
    }
}

/// The kit's own clients: one for each server, until the next rest.
#[derive(Default)]
pub(super) struct Clients(Mutex<Made>);

#[derive(Default)]
struct Made {
    life: Arc<Life>,
    clients: BTreeMap<String, Client>,
}

impl Clients {
    pub(super) fn of_server(&self, server: &Server) -> Client {
        self.of(&server.uid(), &service(server, ADMIN))
    }

    pub(super) fn of(&self, key: &str, access: &Access) -> Client {
        let mut made = self.0.lock();
        if let Some(client) = made.clients.get(key) {
            return client.clone();
        }
        match access.client(&TransportSettings::default(), &made.life) {
            Ok(client) => {
                made.clients.insert(key.to_owned(), client.clone());
                client
            }
            Err(error) => panic!("the kit cannot build a client: {error}"),
        }
    }

    async fn rest(&self) {
        let made = std::mem::take(&mut *self.0.lock());
        drop(made.clients);
        made.life.end().await;
    }
}

/// The simulated servers of a site.
struct Simulated(Vec<Server>);

impl Servers for Simulated {
    fn members(&self) -> Vec<Server> {
        Vec::new()
    }

    fn all(&self) -> Vec<Server> {
        self.0.clone()
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site")
            .field("id", &self.0.id)
            .field("members", &self.0.members)
            .finish_non_exhaustive()
    }
}
