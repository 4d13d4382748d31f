//! What Leases are called and what is written on them. Wire format: replicas of different versions share them.
use crate::cluster::ClusterName;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Label: the group of replicas that share.
pub(super) const GROUP: &str = "mcrt.dev/shard-group";
/// Label: [`SESSION`] or [`FENCE`].
pub(super) const LEASE: &str = "mcrt.dev/lease";
pub(super) const SESSION: &str = "replica";
pub(super) const FENCE: &str = "cluster";
/// Label: whose the object is.
pub(super) const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Annotation of a fence: the name of the cluster as it is.
pub(super) const CLUSTER: &str = "mcrt.dev/cluster";
/// Annotation of the host's fence, in place of a name that a member may have.
pub(super) const HOST: &str = "mcrt.dev/host";
/// Annotation of a session: whose it is, also once it has ended.
pub(super) const REPLICA: &str = "mcrt.dev/replica";
/// Annotation of a session: the weight of its replica.
pub(super) const WEIGHT: &str = "mcrt.dev/weight";

/// Longest readable part of a name: with group and hash it stays well below the 253 bytes of a name.
const READABLE: usize = 40;

/// The Lease of a session.
pub(super) fn session(group: &str, id: &str) -> String {
    name(group, SESSION, id, id)
}

/// The Lease of a cluster.
pub(super) fn fence(group: &str, cluster: &ClusterName) -> String {
    // A member may be called `host`: what is hashed is the empty name, which no member has.
    let exact: &str = std::borrow::Borrow::borrow(cluster);
    name(group, FENCE, exact, cluster.as_str())
}

/// The hash tells names apart that read the same, and those that are too long; what it is of is part of it.
fn name(group: &str, kind: &str, exact: &str, readable: &str) -> String {
    let hash = hash(&[group, kind, exact]);
    let mut name = format!("mcrt-{}", readably(group));
    let readable = readably(readable);
    if !readable.is_empty() {
        let _ = write!(name, "-{readable}");
    }
    let _ = write!(name, "-{hash:016x}");
    name
}

/// What of a text may stand in the name of an object, in lower case.
fn readably(text: &str) -> String {
    let mut readable = String::with_capacity(READABLE);
    for char in text.chars() {
        if readable.len() == READABLE {
            break;
        }
        match char.to_ascii_lowercase() {
            char @ ('a'..='z' | '0'..='9') => readable.push(char),
            _ if readable.ends_with('-') || readable.is_empty() => {}
            _ => readable.push('-'),
        }
    }
    readable.trim_end_matches('-').to_owned()
}

/// The same in every build and on every machine: replicas have to agree. Strong, so that names that differ in their last
/// letter, as those of a StatefulSet do, share nothing. Each part is told from the next by its length.
pub(super) fn hash(parts: &[&str]) -> u64 {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    let digest = hasher.finalize();
    digest
        .iter()
        .take(8)
        .fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn fence_of(name: &str) -> String {
        fence("tokens", &ClusterName::new(name).unwrap())
    }

    fn is_dns_label(name: &str) -> bool {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        name.bytes().all(inner) && !name.starts_with('-') && !name.ends_with('-') && name.len() <= 253
    }

    #[test]
    fn names_that_read_the_same_have_leases_of_their_own() {
        let long = "x".repeat(253);
        let other = format!("{}y", "x".repeat(252));
        let names = [
            "a/b",
            "a-b",
            "A/b",
            "a#b",
            "a+b",
            "a:b",
            "a.b",
            "team-a/prod",
            "team/a-prod",
            "host",
            "é",
            "///",
            &long,
            &other,
            "arn:aws:eks:eu-west-1:123:cluster/prod",
        ];
        let mut leases: BTreeSet<_> = names.iter().map(|name| fence_of(name)).collect();
        leases.insert(fence("tokens", &ClusterName::host()));
        leases.insert(session("tokens", "a/b"));
        leases.insert(fence("other", &ClusterName::new("a/b").unwrap()));
        assert_eq!(leases.len(), names.len() + 3, "{leases:?}");
        for lease in leases {
            assert!(is_dns_label(&lease), "{lease}");
        }
    }

    #[test]
    fn a_name_is_wire_format_and_does_not_change() {
        assert_eq!(
            fence_of("team-a/Prod"),
            "mcrt-tokens-team-a-prod-19bdec73ea466f31"
        );
    }
}
