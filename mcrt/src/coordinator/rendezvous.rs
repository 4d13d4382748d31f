//! Whose a cluster is, by rendezvous: every replica comes to the same end without asking another.
use super::names::hash;
use crate::cluster::ClusterName;

/// One that takes part.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Peer {
    pub(super) id: String,
    pub(super) weight: u32,
}

/// The peer that a key falls to; none if there is none.
///
/// Each peer draws a lot for each key, `weight / -ln(u)` with `u` from a hash of both: the largest wins, in proportion to the
/// weights. Who comes or goes changes the keys alone that it wins or won.
pub(super) fn owner<'a>(key: &str, peers: &'a [Peer]) -> Option<&'a Peer> {
    let lots = peers.iter().map(|peer| (lot(key, peer), peer));
    let winner = lots.max_by(|(one, a), (other, b)| one.total_cmp(other).then_with(|| b.id.cmp(&a.id)));
    winner.map(|(_, peer)| peer)
}

/// What stands for a cluster; the host's is the empty text, which no member's is.
pub(super) fn key(cluster: &ClusterName) -> &str {
    std::borrow::Borrow::borrow(cluster)
}

fn lot(key: &str, peer: &Peer) -> f64 {
    // With the half that keeps it from 0 and from 1 these are the 53 bits that a float has.
    let bits = hash(&["lot", key, &peer.id]) >> 12;
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let u = (bits as f64 + 0.5) / (1u64 << 52) as f64;
    f64::from(peer.weight) / -u.ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn peers(weights: &[(&str, u32)]) -> Vec<Peer> {
        let peer = |(id, weight): &(&str, u32)| Peer {
            id: (*id).to_owned(),
            weight: *weight,
        };
        weights.iter().map(peer).collect()
    }

    fn shares(peers: &[Peer], keys: usize) -> BTreeMap<&str, usize> {
        let mut shares = BTreeMap::new();
        for key in 0..keys {
            let owner = owner(&format!("cluster-{key}"), peers).unwrap();
            *shares.entry(owner.id.as_str()).or_default() += 1;
        }
        shares
    }

    #[test]
    fn clusters_are_shared_by_weight_within_a_tenth() {
        let peers = peers(&[("a", 1), ("b", 2), ("c", 8)]);
        let shares = shares(&peers, 11_000);
        for (id, ideal) in [("a", 1000), ("b", 2000), ("c", 8000)] {
            assert!(shares[id].abs_diff(ideal) < ideal / 10, "{shares:?}");
        }
    }

    #[test]
    fn peers_whose_names_differ_in_the_last_letter_have_even_shares() {
        for count in [3, 5] {
            let ids: Vec<_> = (0..count).map(|number| format!("ctl-{number}")).collect();
            let peers: Vec<_> = ids
                .iter()
                .map(|id| Peer {
                    id: id.clone(),
                    weight: 1,
                })
                .collect();
            let shares = shares(&peers, 5_000);
            let ideal = 5_000 / count;
            assert!(
                shares.values().all(|share| share.abs_diff(ideal) < ideal / 10),
                "{shares:?}"
            );
        }
    }

    #[test]
    fn of_a_thousand_clusters_those_of_the_peer_that_is_lost_move_and_no_other() {
        let (all, left) = (
            peers(&[("a", 1), ("b", 1), ("c", 1)]),
            peers(&[("a", 1), ("c", 1)]),
        );
        let mut moved = 0;
        for number in 0..1_000 {
            let key = format!("cluster-{number}");
            let (before, after) = (owner(&key, &all).unwrap(), owner(&key, &left).unwrap());
            if before != after {
                assert_eq!(before.id, "b", "{key}");
                moved += 1;
            }
        }
        assert!((280..390).contains(&moved), "{moved} moved");
    }

    #[test]
    fn the_order_of_peers_does_not_matter_and_without_any_nothing_is_owned() {
        let (one, other) = (peers(&[("a", 1), ("b", 1)]), peers(&[("b", 1), ("a", 1)]));
        for key in ["", "x", "host"] {
            assert_eq!(owner(key, &one), owner(key, &other));
        }
        assert_eq!(owner("x", &[]), None);
    }
}
