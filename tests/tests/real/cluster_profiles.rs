//! `ClusterProfile`s with a credential program that runs: on real API servers, under the provider's own rights; and with
//! one that hangs.
use std::{
    error::Error,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use k8s_openapi::{
    api::{
        authentication::v1::TokenRequest,
        core::v1::{ConfigMap, Namespace, Secret, ServiceAccount},
        rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, Resource,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use mcrt::{
    ClusterName, Manager,
    apis::{cluster_profile::ClusterProfile, cluster_property::ClusterProperty},
    connect::{Access, Policy},
    provider::cluster_profile::{EngageWhen, ProviderFile},
    providers::ClusterProfiles,
};
use mcrt_sim::{Authority, Listen, Listener, Server, User as SimUser};
use mcrt_tests::{
    Running,
    control_plane::{ControlPlane, User, assets},
    eventually,
    running::connection,
    simulated::{Recorder, config},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const LIMIT: Duration = Duration::from_mins(1);
const NAMESPACE: &str = "fleet";
const ROLES: &str = include_str!("../../../mcrt/src/provider/cluster_profile/rbac.yaml");

fn made<K: DeserializeOwned>(object: Value) -> K {
    serde_json::from_value(object).unwrap()
}

async fn create<K>(api: Api<K>, object: Value) -> Outcome<K>
where
    K: Resource + Clone + Serialize + DeserializeOwned + std::fmt::Debug,
{
    Ok(api.create(&PostParams::default(), &made(object)).await?)
}

fn named(name: &str) -> ClusterName {
    name.try_into().unwrap()
}

fn way(name: &str, server: &str, ca_pem: &str, cluster: &str) -> Value {
    let ca = k8s_openapi::ByteString(ca_pem.as_bytes().to_vec());
    let config = json!({"name": "client.authentication.k8s.io/exec", "extension": {"clusterName": cluster}});
    json!({"name": name, "cluster": {"server": server, "certificate-authority-data": ca, "extensions": [config]}})
}

fn conditions(healthy: &str) -> Value {
    json!([{"type": "ControlPlaneHealthy", "status": healthy, "reason": "Test", "message": "", "lastTransitionTime":
            "2026-01-01T00:00:00Z"}])
}

/// A host and a member, the host with profiles.
struct Site {
    host: ControlPlane,
    member: ControlPlane,
    folder: tempfile::TempDir,
}

impl Site {
    async fn start() -> Outcome<Option<Self>> {
        let Some(assets) = assets()? else { return Ok(None) };
        let (host, member) = (
            ControlPlane::start(&assets).await?,
            ControlPlane::start(&assets).await?,
        );
        let site = Self {
            host,
            member,
            folder: tempfile::tempdir()?,
        };
        let client = site.host.client();
        let namespace = json!({"metadata": {"name": NAMESPACE}});
        create(Api::<Namespace>::all(client.clone()), namespace).await?;
        for crd in [ClusterProfile::crd(), ClusterProperty::crd()] {
            site.install(&crd).await?;
        }
        site.bind().await?;
        Ok(Some(site))
    }

    async fn install(&self, crd: &CustomResourceDefinition) -> Outcome {
        let crds = Api::<CustomResourceDefinition>::all(self.host.client());
        crds.create(&PostParams::default(), crd).await?;
        let name = crd.metadata.name.clone().unwrap_or_default();
        eventually(LIMIT, "the definition is established", async || {
            let found = crds.get(&name).await.map_err(|error| error.to_string())?;
            let conditions = found
                .status
                .and_then(|status| status.conditions)
                .unwrap_or_default();
            let is = |type_: &str| {
                conditions
                    .iter()
                    .any(|one| one.type_ == type_ && one.status == "True")
            };
            if is("Established") && !is("NonStructuralSchema") {
                return Ok(());
            }
            Err(format!("{conditions:?}"))
        })
        .await;
        Ok(())
    }

    /// The limited user may do what the provider's role allows in the namespace, and read Secrets there as the program.
    async fn bind(&self) -> Outcome {
        let client = self.host.client();
        let roles: Vec<_> = ROLES.split("\n---\n").collect();
        let role: ClusterRole = kube_yaml(roles[0])?;
        Api::<ClusterRole>::all(client.clone())
            .create(&PostParams::default(), &role)
            .await?;
        let mut binding: RoleBinding = kube_yaml(roles[1])?;
        let user =
            json!([{"kind": "User", "name": User::Limited.name(), "apiGroup": "rbac.authorization.k8s.io"}]);
        binding.subjects = Some(made(user.clone()));
        let bindings = Api::<RoleBinding>::namespaced(client.clone(), NAMESPACE);
        bindings.create(&PostParams::default(), &binding).await?;
        let reader = json!({"metadata": {"name": "secretreader"},
                            "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]});
        create(Api::<Role>::namespaced(client, NAMESPACE), reader).await?;
        let role = json!({"kind": "Role", "name": "secretreader", "apiGroup": "rbac.authorization.k8s.io"});
        create(
            bindings,
            json!({"metadata": {"name": "secretreader"}, "roleRef": role, "subjects": user}),
        )
        .await?;
        Ok(())
    }

    /// Makes an administrator of the member, and gives a token of it.
    async fn account(&self, name: &str) -> Outcome<String> {
        let client = self.member.client();
        let accounts = Api::<ServiceAccount>::namespaced(client.clone(), "default");
        create(accounts.clone(), json!({"metadata": {"name": name}})).await?;
        let role =
            json!({"kind": "ClusterRole", "name": "cluster-admin", "apiGroup": "rbac.authorization.k8s.io"});
        let subject = json!([{"kind": "ServiceAccount", "name": name, "namespace": "default"}]);
        let binding = json!({"metadata": {"name": name}, "roleRef": role, "subjects": subject});
        create(Api::<ClusterRoleBinding>::all(client), binding).await?;
        let request: TokenRequest = made(json!({"spec": {"audiences": []}}));
        let answer = accounts
            .create_token_request(name, &PostParams::default(), &request)
            .await?;
        Ok(answer.status.and_then(|status| status.token).ok_or("no token")?)
    }

    fn profiles(&self) -> Api<ClusterProfile> {
        Api::namespaced(self.host.client(), NAMESPACE)
    }

    async fn profile(&self, name: &str, status: Value) -> Outcome {
        let profile = json!({"metadata": {"name": name}, "spec": {"clusterManager": {"name": "tests"}}});
        create(self.profiles(), profile).await?;
        self.status(name, status).await
    }

    async fn status(&self, name: &str, status: Value) -> Outcome {
        let patch = Patch::Merge(json!({"status": status}));
        self.profiles()
            .patch_status(name, &PatchParams::default(), &patch)
            .await?;
        Ok(())
    }

    async fn token(&self, cluster: &str, token: &str) -> Outcome {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": cluster},
                            "stringData": {"token": token}});
        let secrets = Api::<Secret>::namespaced(self.host.client(), NAMESPACE);
        let patch = Patch::Apply(secret);
        secrets
            .patch(cluster, &PatchParams::apply("test"), &patch)
            .await?;
        Ok(())
    }

    /// The operator's file: the program reads the host as the limited user.
    fn file(&self) -> Outcome<PathBuf> {
        let kubeconfig = self.host.kubeconfig_of(User::Limited, &["host".to_owned()]);
        let mut kubeconfig: Value = kube_yaml(&kubeconfig)?;
        kubeconfig["contexts"][0]["context"]["namespace"] = NAMESPACE.into();
        let at = self.folder.path().join("kubeconfig");
        std::fs::write(&at, kubeconfig.to_string())?;
        let exec = json!({
            "apiVersion": "client.authentication.k8s.io/v1", "command": env!("CARGO_BIN_EXE_secretreader"),
            "args": null, "env": [{"name": "KUBECONFIG", "value": at}], "provideClusterInfo": true,
        });
        let file = self.folder.path().join("clusterprofile-provider-file.json");
        std::fs::write(
            &file,
            json!({"providers": [{"name": "secretreader", "execConfig": exec}]}).to_string(),
        )?;
        Ok(file)
    }

    fn provider(&self) -> Outcome<ClusterProfiles> {
        let policy = Policy::strict().allow_local_servers();
        let file = ProviderFile::read(self.file()?)?;
        Ok(ClusterProfiles::new(file).in_namespace(NAMESPACE).policy(policy))
    }

    fn start_manager(&self, seen: &Recorder, provider: ClusterProfiles) -> Outcome<Running> {
        let host = self.host.kubeconfig_of(User::Limited, &["host".to_owned()]);
        let manager = Manager::builder()
            .provider(provider)
            .host(connection(&host, "host").into())
            .controller(seen.controller("seen"));
        Ok(Running::start(manager.build()?))
    }

    async fn create_config(client: Client, name: &str) -> Outcome {
        create(Api::<ConfigMap>::namespaced(client, "default"), config(name)).await?;
        Ok(())
    }
}

fn kube_yaml<T: DeserializeOwned>(text: &str) -> Outcome<T> {
    // kube reads YAML for kubeconfigs alone; comments and flow maps are all that JSON lacks here.
    Ok(serde_saphyr::from_str(text)?)
}

async fn reconciled(seen: &Recorder, cluster: &str, object: &str) {
    eventually(LIMIT, &format!("{object} of {cluster}"), async || {
        seen.expect(cluster, object, 1)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn profiles_lead_to_clusters_whose_tokens_a_program_reads_on_the_host() -> Outcome {
    let Some(site) = Site::start().await? else {
        return Ok(());
    };
    site.token("member", &site.account("first").await?).await?;
    site.token("former", &site.host.admin_token()).await?;
    let ways = json!([way(
        "secretreader",
        site.member.server_url(),
        site.member.ca_pem(),
        "member"
    )]);
    let former = json!([way(
        "secretreader",
        site.host.server_url(),
        site.host.ca_pem(),
        "former"
    )]);
    let healthy = json!({"conditions": conditions("True"), "accessProviders": ways});
    site.profile("member", healthy.clone()).await?;
    site.profile(
        "former",
        json!({"conditions": conditions("True"), "credentialProviders": former}),
    )
    .await?;
    site.profile("bare", json!({"accessProviders": ways})).await?;
    Site::create_config(site.member.client(), "before").await?;
    Site::create_config(site.host.client(), "before").await?;
    let seen: Recorder = Recorder::default();
    let running = site.start_manager(&seen, site.provider()?)?;
    let fleet = running.handle().fleet().clone();
    reconciled(&seen, "fleet/member", "before").await;
    reconciled(&seen, "fleet/former", "before").await;
    assert!(fleet.get(&named("fleet/bare")).is_none(), "it has no condition");
    let why = fleet.rejections();
    assert!(
        why["fleet/bare"].contains("it has no condition ControlPlaneHealthy"),
        "{why:?}"
    );
    let epoch = fleet.get(&named("fleet/member")).ok_or("gone")?.epoch();

    // The condition flips, and the cluster goes on; a property tells.
    for (status, at) in [("False", "unhealthy"), ("True", "healthy")] {
        site.status("member", json!({"conditions": conditions(status)}))
            .await?;
        eventually(LIMIT, "the property", async || {
            let cluster = fleet.get(&named("fleet/member")).ok_or("gone")?;
            match cluster.properties().named.get("ControlPlaneHealthy") {
                Some(property) if property.value == status => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
        Site::create_config(site.member.client(), at).await?;
        reconciled(&seen, "fleet/member", at).await;
    }

    // Another token, and the old one is no longer good: the program is asked again.
    site.token("member", &site.account("second").await?).await?;
    let accounts = Api::<ServiceAccount>::namespaced(site.member.client(), "default");
    accounts.delete("first", &DeleteParams::default()).await?;
    Site::create_config(site.member.client(), "after").await?;
    reconciled(&seen, "fleet/member", "after").await;
    assert_eq!(fleet.get(&named("fleet/member")).ok_or("gone")?.epoch(), epoch);
    seen.expect("fleet/member", "before", 1)?;

    site.profiles().delete("member", &DeleteParams::default()).await?;
    eventually(LIMIT, "it has left", async || {
        match fleet.get(&named("fleet/member")) {
            None => Ok(()),
            Some(cluster) => Err(format!("{cluster:?}")),
        }
    })
    .await;
    running.stop().await;

    // A question of one's own: no condition is needed.
    let seen: Recorder = Recorder::default();
    let ready = |profile: &ClusterProfile| profile.metadata.name.as_deref() == Some("bare");
    let running = site.start_manager(&seen, site.provider()?.ready_when(ready))?;
    reconciled(&seen, "fleet/bare", "before").await;
    assert!(running.handle().fleet().get(&named("fleet/former")).is_none());
    running.stop().await;
    the_definitions_hold(&site).await
}

/// What a real API server makes of the definitions.
async fn the_definitions_hold(site: &Site) -> Outcome {
    let manager = json!({"spec": {"clusterManager": {"name": "other"}}});
    let patched = site
        .profiles()
        .patch("former", &PatchParams::default(), &Patch::Merge(manager))
        .await;
    let refused = patched.unwrap_err().to_string();
    assert!(refused.contains("ClusterManager is immutable"), "{refused}");
    let arguments = "clusterprofiles.multicluster.x-k8s.io/exec/additional-args";
    for (extension, taken) in [(json!(["--more"]), false), (json!({"args": ["--more"]}), true)] {
        let extensions = json!([{"name": arguments, "extension": extension}]);
        let way = json!({"name": "x", "cluster": {"server": "https://s", "extensions": extensions}});
        let set = site.status("former", json!({"accessProviders": [way]})).await;
        assert_eq!(set.is_ok(), taken, "{set:?}");
    }
    let read = site.profiles().get("former").await?;
    let status = read.status.as_ref().ok_or("no status")?;
    assert_eq!(status.access_providers[0].name, "x");
    // Written back as it was read, it is the same.
    let version = read.metadata.resource_version.clone();
    let written = site
        .profiles()
        .replace_status("former", &PostParams::default(), &read)
        .await?;
    assert_eq!(written.metadata.resource_version, version);
    let twice = json!([{"name": "x", "cluster": {"server": "a"}}, {"name": "x", "cluster": {"server": "b"}}]);
    assert!(
        site.status("former", json!({"accessProviders": twice}))
            .await
            .is_err(),
        "one of each name"
    );

    let properties = Api::<ClusterProperty>::all(site.host.client());
    let property = ClusterProperty::new("cluster.clusterset.k8s.io", "one");
    properties.create(&PostParams::default(), &property).await?;
    let former = Api::<mcrt::apis::cluster_property::v1alpha1::ClusterProperty>::all(site.host.client());
    assert_eq!(former.get("cluster.clusterset.k8s.io").await?.spec.value, "one");
    assert!(
        properties
            .create(&PostParams::default(), &ClusterProperty::new("empty", ""))
            .await
            .is_err()
    );
    Ok(())
}

/// A simulated member on a TLS port, and the profile of it.
struct Simulated {
    server: Server,
    authority: Authority,
    listener: Listener,
}

impl Simulated {
    async fn open(name: &str, token: &str) -> Outcome<Self> {
        let (server, authority) = (Server::new(name), Authority::new(name)?);
        server.add_token(token, SimUser::admin("operator"));
        server.create(config("object"))?;
        let listener = server.listen_with(Listen::new().tls(&authority)).await?;
        Ok(Self {
            server,
            authority,
            listener,
        })
    }

    /// Puts the profile on the host, or writes its status anew.
    fn publish(&self, host: &Server, way: &str, healthy: &str) -> Outcome {
        let name = self.server.name();
        let profile = json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
            "metadata": {"name": name, "namespace": "default"}, "spec": {"clusterManager": {"name": "tests"}},
            "status": {
                "conditions": conditions(healthy),
                "accessProviders": [self::way(way, self.listener.url(), self.authority.pem(), name)],
            },
        });
        if host.replace_status(profile.clone()).is_err() {
            host.create(profile.clone())?;
            host.replace_status(profile)?;
        }
        Ok(())
    }
}

fn shell(name: &str, script: &str) -> Value {
    let exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/sh", "args": ["-c", script]});
    json!({"name": name, "execConfig": exec})
}

fn lines(file: &Path) -> usize {
    std::fs::read_to_string(file).unwrap_or_default().lines().count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_takes_half_a_minute_holds_up_its_own_cluster_alone() -> Outcome {
    let folder = tempfile::tempdir()?;
    let runs = folder.path().join("runs");
    let credential = r#"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"good"}}"#;
    let slow = format!("echo run >> {}; sleep 30; echo '{credential}'", runs.display());
    let programs = [
        shell("slow", &slow),
        shell("quick", &format!("echo '{credential}'")),
    ];
    let file = ProviderFile::from_json(&json!({"providers": programs}).to_string())?;
    let host = Server::new("host");
    host.create(serde_json::to_value(ClusterProfile::crd())?)?;
    let (a, b) = (
        Simulated::open("a", "good").await?,
        Simulated::open("b", "good").await?,
    );
    a.publish(&host, "slow", "True")?;
    b.publish(&host, "quick", "True")?;
    let provider = ClusterProfiles::new(file)
        .engage_when(EngageWhen::Healthy)
        .policy(Policy::strict().allow_local_servers());
    let seen: Recorder = Recorder::default();
    let manager = Manager::builder()
        .provider(provider)
        .host(Access::service("host", host.service()))
        .controller(seen.controller("seen"));
    let began = Instant::now();
    let running = Running::start(manager.build()?);
    let fleet = running.handle().fleet().clone();
    reconciled(&seen, "default/b", "object").await;
    eventually(LIMIT, "the slow program runs", async || match lines(&runs) {
        1 => Ok(()),
        other => Err(format!("{other} runs")),
    })
    .await;
    // Nothing that is asked of the fleet waits for it.
    let (b_name, mut longest) = (named("default/b"), Duration::ZERO);
    for _ in 0..1000 {
        let asked = Instant::now();
        assert!(fleet.get(&b_name).is_some());
        longest = longest.max(asked.elapsed());
    }
    assert!(longest < Duration::from_millis(50), "{longest:?}");
    // Nor does what the provider says: a profile that changes, one that comes, one that goes.
    let (epoch, lists) = (
        fleet.get(&b_name).ok_or("gone")?.epoch(),
        b.server.counters().lists,
    );
    for status in ["False", "True"] {
        b.publish(&host, "quick", status)?;
        eventually(LIMIT, "the property of b", async || {
            let cluster = fleet.get(&b_name).ok_or("gone")?;
            match cluster.properties().named.get("ControlPlaneHealthy") {
                Some(property) if property.value == status => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }
    assert_eq!(fleet.get(&b_name).ok_or("gone")?.epoch(), epoch);
    assert_eq!(b.server.counters().lists, lists, "nothing was listed again");
    let c = Simulated::open("c", "good").await?;
    c.publish(&host, "quick", "True")?;
    reconciled(&seen, "default/c", "object").await;
    host.delete(
        "multicluster.x-k8s.io/v1alpha1",
        "ClusterProfile",
        Some("default"),
        "a",
    )?;
    eventually(LIMIT, "a has left", async || {
        match fleet.get(&named("default/a")) {
            None => Ok(()),
            Some(cluster) => Err(format!("{cluster:?}")),
        }
    })
    .await;
    assert!(
        began.elapsed() < Duration::from_secs(25),
        "before the slow program was done: {:?}",
        began.elapsed()
    );
    assert_eq!(lines(&runs), 1);
    running.stop().await;
    Ok(())
}
