//! The command lines of the three programs: as little as a control plane on loopback needs.

use std::{net::SocketAddr, path::Path, process::Command};

/// The controllers that tests lean on; the others would only cost memory and noise.
const CONTROLLERS: &str = "garbage-collector-controller,root-ca-certificate-publisher-controller,\
                           namespace-controller,serviceaccount-controller";

pub(super) fn etcd(program: &Path, folder: &Path, client: SocketAddr) -> Command {
    let mut command = Command::new(program);
    command
        .arg(format!("--data-dir={}", folder.join("etcd").display()))
        .arg(format!("--listen-client-urls=http://{client}"))
        .arg(format!("--advertise-client-urls=http://{client}"))
        // A single member has no peers: any port will do, and none is dialled.
        .arg("--listen-peer-urls=http://127.0.0.1:0")
        // Nobody needs the data after a power cut, and syncing is what makes etcd slow on shared disks.
        .arg("--unsafe-no-fsync")
        .arg("--log-level=warn");
    command
}

/// Where the parts of an API server are.
#[derive(Debug)]
pub(super) struct ApiServer<'a> {
    pub(super) folder: &'a Path,
    pub(super) etcd: SocketAddr,
    pub(super) address: SocketAddr,
    /// Part of the names of all keys in etcd: an API server that reached a stranger's etcd would see nothing.
    pub(super) prefix: &'a str,
    pub(super) extra: &'a [String],
}

impl ApiServer<'_> {
    pub(super) fn command(&self, program: &Path) -> Command {
        let certificates = certificates(self.folder);
        let key = certificates.join("apiserver.key");
        let mut command = Command::new(program);
        command
            .arg(format!("--etcd-servers=http://{}", self.etcd))
            .arg(format!("--etcd-prefix=/{}", self.prefix))
            .arg(format!("--bind-address={}", self.address.ip()))
            .arg(format!("--advertise-address={}", self.address.ip()))
            .arg(format!("--secure-port={}", self.address.port()))
            // It makes itself a key and a certificate there, before it reads the key of service accounts:
            // so one key can be both, and nothing here has to make keys.
            .arg(format!("--cert-dir={}", certificates.display()))
            .arg(format!("--service-account-signing-key-file={}", key.display()))
            .arg(format!("--service-account-key-file={}", key.display()))
            .arg("--service-account-issuer=https://kubernetes.default.svc")
            .arg(format!("--token-auth-file={}", tokens(self.folder).display()))
            .arg("--authorization-mode=RBAC")
            // Pods can be created without waiting for the service account of their namespace.
            .arg("--disable-admission-plugins=ServiceAccount")
            .arg("--service-cluster-ip-range=10.0.0.0/24")
            // Endpoints must not be on loopback; nothing runs here that would use them.
            .arg("--endpoint-reconciler-type=none")
            .arg("--profiling=false")
            .args(self.extra);
        command
    }
}

pub(super) fn controller_manager(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .arg(format!(
            "--kubeconfig={}",
            controllers_kubeconfig(folder).display()
        ))
        .arg(format!("--root-ca-file={}", ca(folder).display()))
        .arg(format!("--controllers={CONTROLLERS}"))
        .arg("--leader-elect=false")
        // It serves nothing: metrics of a controller manager are not what is tested.
        .arg("--secure-port=0");
    command
}

pub(super) fn certificates(folder: &Path) -> std::path::PathBuf {
    folder.join("certificates")
}

pub(super) fn tokens(folder: &Path) -> std::path::PathBuf {
    folder.join("tokens.csv")
}

pub(super) fn ca(folder: &Path) -> std::path::PathBuf {
    folder.join("ca.crt")
}

pub(super) fn controllers_kubeconfig(folder: &Path) -> std::path::PathBuf {
    folder.join("controllers.kubeconfig")
}
