//! Tests of the room as a whole: servers that misbehave, kubeconfigs that do.
mod bounds;
mod breaker;
mod elsewhere;
mod environment;
mod fingerprint;
mod http2;
mod http2_server;
mod life;
mod mutation;
mod opt_ins;
mod probe;
mod proxy;
mod server;
mod shared_failures;
pub(super) mod tls;
mod transport;
mod vetting;

use super::{Access, Connection, Limits, TransportSettings};
use kube::config::Kubeconfig;
use std::time::Duration;

/// Never waited for in full: a condition that takes this long has failed.
pub(super) const SOON: Duration = Duration::from_secs(5);

pub(super) fn kubeconfig(yaml: &str) -> Kubeconfig {
    super::kubeconfig::parse(yaml, None).unwrap()
}

/// A context `c` with this server and these lines in its cluster and user.
pub(super) fn yaml(server: &str, cluster: &[&str], user: &[&str]) -> String {
    let lines = |lines: &[&str]| -> String { lines.iter().flat_map(|line| ["\n    ", line]).collect() };
    format!(
        "apiVersion: v1\nkind: Config\n\
         clusters:\n- name: k\n  cluster:\n    server: {server}{}\n\
         contexts:\n- name: c\n  context:\n    cluster: k\n    user: u\n\
         current-context: c\n\
         users:\n- name: u\n  user:\n    extensions: []{}\n",
        lines(cluster),
        lines(user)
    )
}

fn access(server: &str) -> Access {
    Connection::from_kubeconfig(&kubeconfig(&yaml(server, &[], &[])), "c")
        .unwrap()
        .into()
}

pub(super) fn limits(connect: u64, first_byte: u64) -> TransportSettings {
    TransportSettings {
        limits: Limits {
            connect: Duration::from_millis(connect),
            first_byte: Duration::from_millis(first_byte),
            ..Limits::default()
        },
        ..TransportSettings::default()
    }
}
