//! One program with every provider in it: the same controller under each `--provider`, on a real API server, on
//! workspaces of a simulated kcp, and on the simulated fleet.
#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the helpers of tests fail as tests do"
)]
mod support;

use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace, Secret},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::{
        CustomResourceDefinition, CustomResourceDefinitionCondition,
    },
};
use kube::{
    Api, Resource,
    api::{Patch, PatchParams, PostParams},
};
use mcrt::apis::{cluster_api, cluster_profile};
use mcrt_sim::{Authority, Kcp, Listen, Listener};
use mcrt_tests::{
    control_plane::{ControlPlane, assets},
    eventually,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{
    error::Error,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};
use support::{LIMIT, Line, Program, log};
use tempfile::TempDir;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// A host that describes one cluster in every way there is: itself.
struct Site {
    plane: ControlPlane,
    folder: TempDir,
}

const NAMESPACE: &str = "fleet";

impl Site {
    async fn start() -> Outcome<Option<Self>> {
        let Some(assets) = assets()? else { return Ok(None) };
        let site = Self {
            plane: ControlPlane::start(&assets).await?,
            folder: tempfile::tempdir()?,
        };
        site.create::<Namespace>(None, json!({"metadata": {"name": NAMESPACE}}))
            .await?;
        for namespace in ["default", NAMESPACE] {
            site.create::<ConfigMap>(Some(namespace), json!({"metadata": {"name": "swap"}}))
                .await?;
        }
        site.write("kubeconfig", &site.plane.kubeconfig("context"))?;
        site.describe_in_secrets().await?;
        site.describe_in_profile().await?;
        site.describe_by_programs()?;
        Ok(Some(site))
    }

    async fn create<K>(&self, namespace: Option<&str>, object: Value) -> Outcome
    where
        K: Resource<DynamicType = ()> + Clone + Serialize + DeserializeOwned + std::fmt::Debug,
    {
        // Namespaced or not is a matter of the path alone.
        let url = K::url_path(&(), namespace);
        let request =
            kube::core::Request::new(url).create(&PostParams::default(), serde_json::to_vec(&object)?)?;
        let _: Value = self.plane.client().request(request).await?;
        Ok(())
    }

    async fn install(&self, crd: &CustomResourceDefinition) -> Outcome {
        let crds = Api::<CustomResourceDefinition>::all(self.plane.client());
        crds.create(&PostParams::default(), crd).await?;
        let name = crd.metadata.name.clone().unwrap_or_default();
        eventually(LIMIT, "the definition is established", async || {
            let found = crds.get(&name).await.map_err(|error| error.to_string())?;
            let conditions = found
                .status
                .and_then(|status| status.conditions)
                .unwrap_or_default();
            let is_ready =
                |one: &CustomResourceDefinitionCondition| one.type_ == "Established" && one.status == "True";
            conditions
                .iter()
                .any(is_ready)
                .then_some(())
                .ok_or_else(|| format!("{conditions:?}"))
        })
        .await;
        Ok(())
    }

    /// For `kubeconfig` and `cluster-api`.
    async fn describe_in_secrets(&self) -> Outcome {
        let kubeconfig = self.plane.kubeconfig("context");
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "secret", "labels": {"sigs.k8s.io/multicluster-runtime-kubeconfig": "true"}},
            "stringData": {"kubeconfig": &kubeconfig},
        });
        self.create::<Secret>(Some(NAMESPACE), secret).await?;
        self.install(&cluster_api::Cluster::crd()).await?;
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
            "metadata": {"name": "managed-kubeconfig", "labels": {"cluster.x-k8s.io/cluster-name": "managed"}},
            "stringData": {"value": &kubeconfig},
        });
        self.create::<Secret>(Some(NAMESPACE), secret).await?;
        let cluster = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "metadata": {"name": "managed"}, "spec": {"paused": false},
        });
        self.create::<cluster_api::Cluster>(Some(NAMESPACE), cluster)
            .await?;
        let initialized = json!({"initialization": {"controlPlaneInitialized": true}});
        self.status::<cluster_api::Cluster>("managed", initialized).await
    }

    async fn describe_in_profile(&self) -> Outcome {
        self.install(&cluster_profile::ClusterProfile::crd()).await?;
        let profile = json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
            "metadata": {"name": "profile"}, "spec": {"clusterManager": {"name": "tests"}},
        });
        self.create::<cluster_profile::ClusterProfile>(Some(NAMESPACE), profile)
            .await?;
        let ca = k8s_openapi::ByteString(self.plane.ca_pem().as_bytes().to_vec());
        let status = json!({
            "conditions": [{"type": "ControlPlaneHealthy", "status": "True", "reason": "Test", "message": "",
                            "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            "accessProviders": [{"name": "script", "cluster": {
                "server": self.plane.server_url(), "certificate-authority-data": ca}}],
        });
        self.status::<cluster_profile::ClusterProfile>("profile", status)
            .await?;
        let credential = json!({
            "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
            "status": {"token": self.plane.admin_token()},
        });
        let credential = self.write("credential", &credential.to_string())?;
        let program = self.script("plugin", &format!("cat '{}'", credential.display()))?;
        let exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": program});
        let file = json!({"providers": [{"name": "script", "execConfig": exec}]});
        self.write("providers.json", &file.to_string())?;
        Ok(())
    }

    async fn status<K>(&self, name: &str, status: Value) -> Outcome
    where
        K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + std::fmt::Debug,
    {
        let api = Api::<K>::namespaced(self.plane.client(), NAMESPACE);
        let patch = Patch::Merge(json!({"status": status}));
        api.patch_status(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// For `kind` and `command`: command lines that print what a kind cluster and a listing would.
    fn describe_by_programs(&self) -> Outcome {
        let kubeconfig = self.path("kubeconfig");
        self.script("bin/kind", &format!("cat '{}'", kubeconfig.display()))?;
        let container =
            "0123456789ab|local-control-plane|Up 2 hours|127.0.0.1:40000->6443/tcp|control-plane|local";
        let engine = format!(
            "case \"$1\" in -v) echo 'Docker version 28.2.2, build e6534b4';; *) echo '{container}';; esac"
        );
        self.script("bin/docker", &engine)?;
        let line = json!({"name": "listed", "kubeconfig": self.plane.kubeconfig("context")});
        let lines = self.write("lines", &format!("{line}\n"))?;
        self.script("list", &format!("cat '{}'", lines.display()))?;
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> Outcome<PathBuf> {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap())?;
        fs::write(&path, text)?;
        Ok(path)
    }

    fn script(&self, name: &str, body: &str) -> Outcome<PathBuf> {
        let path = self.write(name, &format!("#!/bin/sh\n{body}\n"))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path)
    }

    /// Runs the program with these flags, where `~` stands for the folder, until it has printed all of these.
    fn shows(&self, providers: &str, flags: &str, prints: &[&str]) -> Program {
        self.shows_on(&self.path("kubeconfig"), providers, flags, prints)
    }

    fn shows_on(&self, kubeconfig: &Path, providers: &str, flags: &str, prints: &[&str]) -> Program {
        let flags = flags.replace('~', &self.folder.path().display().to_string());
        let flags: Vec<_> = ["--provider", providers]
            .into_iter()
            .chain(flags.split_whitespace())
            .map(str::to_owned)
            .collect();
        let mut program = Program::start(&flags, |command| {
            let path = std::env::var("PATH").unwrap_or_default();
            let path = format!("{}:{path}", self.path("bin").display());
            command
                .env("PATH", path)
                .env("KUBECONFIG", kubeconfig)
                .env("HOME", self.folder.path());
            command
                .env_remove("KIND_EXPERIMENTAL_PROVIDER")
                .env_remove("KUBERNETES_SERVICE_HOST");
        });
        let first = program.wait_for("a first log line", |seen| log(seen, "").map(str::to_owned));
        assert!(
            first.contains(&format!("because `--provider {providers}` says so")),
            "{first}"
        );
        for line in prints {
            program.wait_for(line, |seen| printed(seen, line).then_some(()));
        }
        program.interrupt();
        let status = program.wait_for_exit();
        assert!(status.success(), "{providers}: {status}; {:#?}", program.seen);
        program
    }
}

fn printed(seen: &[Line], wanted: &str) -> bool {
    seen.iter()
        .any(|line| matches!(line, Line::Out(text) if text == wanted))
}

/// One shard behind TLS, a workspace on it that binds an export, and the kubeconfig of the export's home.
async fn kcp(site: &Site) -> Outcome<(Listener, String, PathBuf)> {
    let (kcp, authority) = (Kcp::new(), Authority::new("kcp")?);
    let listener = kcp.listen_with("root", Listen::new().tls(&authority)).await?;
    let export = kcp.export(&kcp.workspace("root:provider"), "fleet");
    let workspace = kcp.workspace("root:team");
    export.bind(&workspace);
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "swap", "namespace": "default"}});
    workspace
        .server()
        .create(config)
        .map_err(|status| status.message().to_owned())?;
    let cluster = json!({
        "server": format!("{}/clusters/root:provider", listener.url().trim_end_matches('/')),
        "certificate-authority-data": k8s_openapi::ByteString(authority.pem().as_bytes().to_vec()),
    });
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "kcp",
        "clusters": [{"name": "kcp", "cluster": cluster}],
        "users": [{"name": "kcp", "user": {}}],
        "contexts": [{"name": "kcp", "context": {"cluster": "kcp", "user": "kcp"}}],
    });
    let path = site.write("kcp", &kubeconfig.to_string())?;
    Ok((listener, workspace.name().to_owned(), path))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_program_runs_the_same_controller_under_every_provider() -> Outcome {
    let Some(site) = Site::start().await? else {
        return Ok(());
    };
    let all = [
        ("single", "", "single"),
        ("file", "--file ~/kubeconfig", "context"),
        ("kubeconfig", "--kubeconfig-allow-local-servers", "fleet/secret"),
        (
            "cluster-api",
            "--cluster-api-allow-local-servers",
            "fleet/managed",
        ),
        (
            "cluster-profile",
            "--clusterprofile-provider-file ~/providers.json --cluster-profile-allow-local-servers",
            "fleet/profile",
        ),
        ("kind", "", "local"),
        (
            "command",
            "--command-program ~/list --command-own-files",
            "listed",
        ),
    ];
    for (provider, flags, cluster) in all {
        site.shows(
            provider,
            flags,
            &[&format!("cluster={cluster} namespace=default name=swap")],
        );
    }
    site.shows("namespace", "", &["cluster=fleet namespace=fleet name=swap"]);

    let (listener, workspace, kubeconfig) = kcp(&site).await?;
    let line = format!("cluster={workspace} namespace=default name=swap");
    site.shows_on(&kubeconfig, "kcp", "--kcp-slice fleet", &[&line]);
    listener.shutdown().await;

    let simulated = site.shows(
        "sim",
        "",
        &["cluster=alpha namespace=default name=kube-root-ca.crt"],
    );
    assert!(log(&simulated.seen, "SIMULATED fleet: provider `sim`").is_some());
    let none = site.shows("none", "", &[]);
    assert!(
        !none.seen.iter().any(|line| matches!(line, Line::Out(_))),
        "{:#?}",
        none.seen
    );

    // Several, each under its own names, or its prefix.
    let several = site.shows(
        "file,namespace=ns/",
        "--file ~/kubeconfig",
        &[
            "cluster=context namespace=default name=swap",
            "cluster=ns/fleet namespace=fleet name=swap",
        ],
    );
    assert!(
        log(
            &several.seen,
            "providers `file`, `namespace` (as `ns/...`), because"
        )
        .is_some()
    );
    site.plane.stop().await;
    Ok(())
}
