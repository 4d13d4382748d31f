//! The recipes of the book against scripted command lines that print what the real ones are documented to print.
use crate::{
    connect::Policy,
    provider::{Change, ClusterSpec, tests::Reader},
    providers::Command,
};
use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::PathBuf, sync::Arc};
use tempfile::TempDir;

/// Recipes use the shell, `jq`, and one command line.
struct Kitchen(TempDir);

impl Kitchen {
    /// Nothing where there is no `jq`.
    fn with(name: &str, script: &str) -> Option<Self> {
        if std::process::Command::new("jq")
            .arg("--version")
            .output()
            .is_err()
        {
            eprintln!("skipped: jq is not here");
            return None;
        }
        let kitchen = Self(tempfile::tempdir().unwrap());
        let path = kitchen.0.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        Some(kitchen)
    }

    fn command(&self, recipe: &str) -> Command {
        let recipes = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../examples/recipes");
        let path = std::env::var("PATH").unwrap_or_default();
        Command::new("/bin/sh")
            .arg(recipes.join(recipe))
            .env("PATH", format!("{}:{path}", self.0.path().display()))
    }
}

/// What a command gives: clusters by name, and why others are rejected.
async fn given(command: Command) -> (BTreeMap<String, ClusterSpec>, BTreeMap<String, String>) {
    let mut reader = Reader::of(&Arc::new(command));
    let (mut clusters, mut rejected) = (BTreeMap::new(), BTreeMap::new());
    loop {
        match reader.change().await {
            Change::Upsert(spec) => drop(clusters.insert(spec.name.to_string(), spec)),
            Change::Rejected { name, reason } => drop(rejected.insert(name.to_string(), reason)),
            Change::Failed(reason) => panic!("{reason}"),
            Change::Remove(name) => panic!("{name} is removed"),
            Change::Synced => return (clusters, rejected),
        }
    }
}

const EKS: &str = r#"
case "$*" in
"eks list-clusters --region eu-west-1 --output json")
    echo '{"clusters": ["prod", "new", "denied", "old"]}';;
"eks describe-cluster --region eu-west-1 --name prod --output json")
    echo '{"cluster": {"name": "prod", "arn": "arn:aws:eks:eu-west-1:123456789012:cluster/prod",
        "createdAt": "2026-01-02T03:04:05.678000+00:00", "version": "1.34", "status": "ACTIVE",
        "endpoint": "https://0123.gr7.eu-west-1.eks.amazonaws.com",
        "certificateAuthority": {"data": "AUTHORITY"}, "tags": {"stage": "prod"}}}';;
"eks describe-cluster --region eu-west-1 --name new --output json")
    echo '{"cluster": {"name": "new", "arn": "arn:aws:eks:eu-west-1:123456789012:cluster/new",
        "createdAt": "2026-01-02T03:04:05.678000+00:00", "version": "1.34", "status": "CREATING",
        "certificateAuthority": {}, "tags": {}}}';;
"eks describe-cluster --region eu-west-1 --name old --output json")
    echo '{"cluster": {"name": "old", "arn": "arn:aws:eks:eu-west-1:123456789012:cluster/old",
        "createdAt": "2026-01-02T03:04:05.678000+00:00", "version": "1.33", "status": "UPDATING",
        "endpoint": "https://4567.gr7.eu-west-1.eks.amazonaws.com", "certificateAuthority": {"data": "AUTHORITY"}}}';;
"eks describe-cluster --region eu-west-1 --name denied --output json")
    echo 'An error occurred (AccessDeniedException) when calling the DescribeCluster operation' >&2; exit 254;;
*) echo "unknown: $*" >&2; exit 252;;
esac"#;

/// A certificate, in base64.
fn authority() -> String {
    use base64::Engine as _;
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["ca".into()]).unwrap();
    let pem = params.self_signed(&key).unwrap().pem();
    base64::engine::general_purpose::STANDARD.encode(pem)
}

#[tokio::test]
async fn eks() {
    let script = EKS.replace("AUTHORITY", &authority());
    let Some(kitchen) = Kitchen::with("aws", &script) else {
        return;
    };
    let command = kitchen.command("eks.sh").arg("eu-west-1");
    let (clusters, rejected) = given(command.clone().policy(Policy::strict().allow_command("aws"))).await;
    let names: Vec<_> = clusters.keys().cloned().collect();
    assert_eq!(names, ["eu-west-1/old", "eu-west-1/prod"], "{rejected:?}");
    let prod = &clusters["eu-west-1/prod"];
    assert_eq!(
        prod.access.server(),
        "https://0123.gr7.eu-west-1.eks.amazonaws.com/"
    );
    assert_eq!(prod.properties.labels["stage"], "prod");
    assert_eq!(prod.properties.named["version"].value, "1.34");
    assert!(prod.uid.contains("2026-01-02"), "{}", prod.uid);
    assert_eq!(rejected["eu-west-1/new"], "the cluster is CREATING");
    assert!(
        rejected["eu-west-1/denied"].contains("aws eks describe-cluster"),
        "{rejected:?}"
    );
    let (clusters, rejected) = given(command).await;
    assert!(
        clusters.is_empty() && rejected.len() == 4,
        "programs are the operator's to allow"
    );
}

const AKS: &str = r#"
case "$*" in
"aks list --output json")
    echo '[
      {"name": "prod", "resourceGroup": "group", "id": "/subscriptions/0/resourcegroups/group/providers/Microsoft.ContainerService/managedClusters/prod",
       "provisioningState": "Succeeded", "powerState": {"code": "Running"}, "kubernetesVersion": "1.34", "tags": {"stage": "prod"},
       "location": "westeurope", "resourceUid": "0123456789abcdef"},
      {"name": "asleep", "resourceGroup": "group", "id": "/subscriptions/0/resourcegroups/group/providers/Microsoft.ContainerService/managedClusters/asleep",
       "provisioningState": "Succeeded", "powerState": {"code": "Stopped"}, "kubernetesVersion": "1.34", "tags": null, "location": "westeurope"},
      {"name": "denied", "resourceGroup": "group", "id": "/subscriptions/0/resourcegroups/group/providers/Microsoft.ContainerService/managedClusters/denied",
       "provisioningState": "Succeeded", "powerState": {"code": "Running"}, "kubernetesVersion": "1.34", "tags": null, "location": "westeurope"}
    ]';;
"aks get-credentials --resource-group group --name prod --format exec --file -")
    cat <<'END'
apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: AUTHORITY
    server: https://prod-dns-0123.hcp.westeurope.azmk8s.io:443
  name: prod
contexts:
- context:
    cluster: prod
    user: clusterUser_group_prod
  name: prod
current-context: prod
kind: Config
preferences: {}
users:
- name: clusterUser_group_prod
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      args:
      - get-token
      - --login
      - devicecode
      - --server-id
      - 6dae42f8-4368-4678-94ff-3960e28e3630
      command: kubelogin
      env: null
      installHint: |2

        kubelogin is not installed which is required to connect to AAD enabled cluster.

        To learn more, please go to https://aka.ms/aks/kubelogin
      provideClusterInfo: false
END
    ;;
"aks get-credentials --resource-group group --name denied --format exec --file -")
    echo 'ERROR: (AuthorizationFailed) The client does not have authorization' >&2; exit 1;;
*) echo "unknown: $*" >&2; exit 2;;
esac"#;

#[tokio::test]
async fn aks() {
    let script = AKS.replace("AUTHORITY", &authority());
    let Some(kitchen) = Kitchen::with("az", &script) else {
        return;
    };
    let command = kitchen
        .command("aks.sh")
        .policy(Policy::strict().allow_command("kubelogin"));
    let (clusters, rejected) = given(command).await;
    assert_eq!(
        clusters.keys().collect::<Vec<_>>(),
        ["group/prod"],
        "{rejected:?}"
    );
    let prod = &clusters["group/prod"];
    assert_eq!(
        prod.access.server(),
        "https://prod-dns-0123.hcp.westeurope.azmk8s.io:443/"
    );
    assert_eq!(prod.properties.labels["stage"], "prod");
    assert_eq!(prod.uid, "0123456789abcdef");
    assert_eq!(rejected["group/asleep"], "the cluster is Stopped");
    assert!(
        rejected["group/denied"].contains("az aks get-credentials"),
        "{rejected:?}"
    );
}

const GKE: &str = r#"
case "$*" in
"container clusters list --format=json --project=project")
    echo '[
      {"name": "prod", "location": "europe-west1", "id": "0123", "endpoint": "34.1.2.3", "status": "RUNNING",
       "selfLink": "https://container.googleapis.com/v1/projects/project/locations/europe-west1/clusters/prod",
       "currentMasterVersion": "1.34.1-gke.1", "masterAuth": {"clusterCaCertificate": "AUTHORITY"}, "resourceLabels": {"stage": "prod"}},
      {"name": "dns", "location": "europe-west1", "id": "4567", "endpoint": "10.0.0.2", "status": "RECONCILING",
       "currentMasterVersion": "1.34.1-gke.1", "masterAuth": {"clusterCaCertificate": "AUTHORITY"},
       "controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"endpoint": "gke-4567.europe-west1.gke.goog", "allowExternalTraffic": true},
         "ipEndpointsConfig": {"enabled": true}}},
      {"name": "new", "location": "europe-west1-b", "id": "89", "status": "PROVISIONING", "masterAuth": {}}
    ]';;
*) echo "unknown: $*" >&2; exit 2;;
esac"#;

#[tokio::test]
async fn gke() {
    let script = GKE.replace("AUTHORITY", &authority());
    let Some(kitchen) = Kitchen::with("gcloud", &script) else {
        return;
    };
    let policy = Policy::strict().allow_command("gke-gcloud-auth-plugin");
    let command = kitchen.command("gke.sh").arg("project").policy(policy);
    let (clusters, rejected) = given(command).await;
    let names: Vec<_> = clusters.keys().collect();
    assert_eq!(
        names,
        ["project/europe-west1/dns", "project/europe-west1/prod"],
        "{rejected:?}"
    );
    let server = |name: &str| clusters[name].access.server();
    assert_eq!(server("project/europe-west1/prod"), "https://34.1.2.3/");
    assert_eq!(
        server("project/europe-west1/dns"),
        "https://gke-4567.europe-west1.gke.goog/"
    );
    assert_eq!(
        clusters["project/europe-west1/prod"].properties.labels["stage"],
        "prod"
    );
    assert_eq!(
        rejected["project/europe-west1-b/new"],
        "the cluster is PROVISIONING"
    );
}

const K3D: &str = r#"
case "$*" in
"cluster list --output json")
    echo '[{"name":"dev","network":{"name":"k3d-dev"},"serversCount":1,"serversRunning":1,"agentsCount":0,"agentsRunning":0,"hasLoadbalancer":true,
      "nodes":[{"name":"k3d-dev-server-0","role":"server","created":"2026-08-01T10:00:00Z","State":{"Running":true,"Status":"running","Started":"2026-08-01T10:00:01Z"}},
               {"name":"k3d-dev-serverlb","role":"loadbalancer","created":"2026-08-01T10:00:00Z","State":{"Running":true,"Status":"running"}}]},
      {"name":"asleep","serversCount":1,"serversRunning":0,"nodes":[{"name":"k3d-asleep-server-0","role":"server","created":"2026-08-01T10:00:00Z","State":{"Running":false,"Status":"exited"}}]},
      {"name":"broken","serversCount":1,"serversRunning":1,"nodes":[]}]';;
"kubeconfig get dev")
    printf 'apiVersion: v1\nclusters:\n- cluster:\n    server: https://0.0.0.0:41235\n  name: k3d-dev\ncontexts:\n- context:\n    cluster: k3d-dev\n    user: admin@k3d-dev\n  name: k3d-dev\ncurrent-context: k3d-dev\nkind: Config\npreferences: {}\nusers:\n- name: admin@k3d-dev\n  user:\n    token: abc\n\n';;
*) echo "FATA[0000] no" >&2; exit 1;;
esac"#;

#[tokio::test]
async fn k3d() {
    let Some(kitchen) = Kitchen::with("k3d", K3D) else {
        return;
    };
    let command = kitchen.command("k3d.sh").policy(Policy::own_files());
    let (clusters, rejected) = given(command).await;
    assert_eq!(clusters.keys().collect::<Vec<_>>(), ["dev"], "{rejected:?}");
    assert_eq!(clusters["dev"].access.server(), "https://0.0.0.0:41235/");
    assert_eq!(clusters["dev"].uid, "2026-08-01T10:00:00Z");
    assert_eq!(rejected["asleep"], "the cluster is stopped");
    assert!(rejected["broken"].contains("k3d kubeconfig get"), "{rejected:?}");
}

const MINIKUBE: &str = r#"
case "$*" in
"profile list --output json")
    echo '{"invalid":[{"Name":"broken"}],"valid":[
      {"Name":"minikube","Status":"Running","Config":{"Name":"minikube","Driver":"docker","KubernetesConfig":{"KubernetesVersion":"v1.34.0","ClusterName":"minikube"}},"Active":true},
      {"Name":"recent","Status":"OK","Config":{"Name":"recent","Driver":"docker","KubernetesConfig":{"KubernetesVersion":"v1.34.0"}}},
      {"Name":"asleep","Status":"Stopped","Config":{"Name":"asleep","Driver":"docker","KubernetesConfig":{"KubernetesVersion":"v1.34.0"}}}]}';;
"--profile minikube kubectl -- config view --raw --flatten --minify --context minikube --output json")
    echo '{"kind":"Config","apiVersion":"v1","preferences":{},"clusters":[{"name":"minikube","cluster":{"server":"https://192.168.49.2:8443",
      "extensions":[{"name":"cluster_info","extension":{"provider":"minikube.sigs.k8s.io","version":"v1.37.0"}}]}}],
      "users":[{"name":"minikube","user":{"token":"abc"}}],
      "contexts":[{"name":"minikube","context":{"cluster":"minikube","user":"minikube","namespace":"default",
      "extensions":[{"name":"context_info","extension":{"provider":"minikube.sigs.k8s.io"}}]}}],"current-context":"minikube"}';;
*) echo "X Exiting" >&2; exit 1;;
esac"#;

#[tokio::test]
async fn minikube() {
    let Some(kitchen) = Kitchen::with("minikube", MINIKUBE) else {
        return;
    };
    let (clusters, rejected) = given(kitchen.command("minikube.sh").policy(Policy::own_files())).await;
    assert_eq!(clusters.keys().collect::<Vec<_>>(), ["minikube"], "{rejected:?}");
    assert_eq!(clusters["minikube"].access.server(), "https://192.168.49.2:8443/");
    assert_eq!(rejected["asleep"], "the cluster is Stopped");
    assert_eq!(rejected["broken"], "minikube calls its profile invalid");
    assert!(rejected["recent"].contains("config view"), "{rejected:?}");
}

#[tokio::test]
async fn a_recipe_whose_command_line_fails_fails() {
    for (recipe, program) in [
        ("eks.sh", "aws"),
        ("aks.sh", "az"),
        ("gke.sh", "gcloud"),
        ("k3d.sh", "k3d"),
        ("minikube.sh", "minikube"),
    ] {
        for script in ["exit 1", "echo nonsense", "exit 0", "echo '{}'"] {
            let Some(kitchen) = Kitchen::with(program, script) else {
                return;
            };
            let command = kitchen.command(recipe).arg("x");
            let said = Reader::of(&Arc::new(command)).next().await;
            assert!(said.contains("exited with code"), "{recipe}, {script}: {said}");
        }
    }
}
