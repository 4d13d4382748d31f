//! What the engine lists: the containers of each cluster, and what they tell of it.
use std::collections::BTreeMap;

pub(super) const CLUSTER: &str = "io.x-k8s.kind.cluster";
pub(super) const ROLE: &str = "io.x-k8s.kind.role";

/// All clusters that have containers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) clusters: BTreeMap<String, Nodes>,
    /// Lines that could not be read.
    pub(super) unreadable: usize,
}

/// The containers of a cluster that say whether and where it can be reached, by role and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Nodes {
    control_planes: BTreeMap<String, Node>,
    balancers: BTreeMap<String, Node>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    id: String,
    is_up: bool,
    /// A port that the engine chose may be another after a restart.
    ports: String,
}

impl Listing {
    /// Reads the lines of [`Engine::list`](super::engine::Engine::list).
    pub(super) fn read(text: &[u8]) -> Self {
        let mut listing = Self::default();
        for line in String::from_utf8_lossy(text).lines() {
            let line = line.trim_end_matches('\r');
            if !line.is_empty() && listing.add(line).is_none() {
                listing.unreadable += 1;
            }
        }
        listing
    }

    fn add(&mut self, line: &str) -> Option<()> {
        let mut fields = line.splitn(6, '|');
        let mut next = || fields.next();
        let (id, name, status, ports) = (next()?, next()?, next()?, next()?);
        let (role, cluster) = (next()?, next()?);
        if cluster.is_empty() || id.is_empty() {
            return None;
        }
        let nodes = self.clusters.entry(cluster.to_owned()).or_default();
        let node = Node {
            id: id.to_owned(),
            is_up: is_up(status),
            ports: ports.to_owned(),
        };
        match role {
            "control-plane" => nodes.control_planes.insert(name.to_owned(), node),
            "external-load-balancer" => nodes.balancers.insert(name.to_owned(), node),
            // Workers come and go without changing how the cluster is reached.
            _ => None,
        };
        Some(())
    }
}

impl Nodes {
    /// The number of the container that kind reads the kubeconfig in, which was made when the cluster was.
    pub(super) fn life(&self) -> Option<&str> {
        self.control_planes.values().next().map(|node| node.id.as_str())
    }

    /// Why there is no use in asking for a kubeconfig, if there is none.
    pub(super) fn unreachable(&self) -> Option<&'static str> {
        let is_down = |nodes: &BTreeMap<String, Node>| nodes.values().all(|node| !node.is_up);
        if self.control_planes.is_empty() {
            return Some("it has no control-plane container: it is being created or deleted");
        }
        if is_down(&self.control_planes) {
            return Some("it is stopped: start its containers");
        }
        if !self.balancers.is_empty() && is_down(&self.balancers) {
            return Some("its load balancer is stopped: start that container");
        }
        None
    }
}

/// docker and podman: `Up 2 hours`, `Up 2 hours (Paused)`, `Exited (0) 3 hours ago`, `Created`; nerdctl: `Up`, `Paused`.
fn is_up(status: &str) -> bool {
    status.starts_with("Up") && !status.contains("(Paused)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Listing {
        Listing::read(lines.join("\n").as_bytes())
    }

    #[test]
    fn the_first_control_plane_stands_for_the_life_of_its_cluster() {
        let listing = read(&[
            "c3|b-worker|Up 2 hours||worker|b",
            "c2|b-control-plane2|Up 2 hours||control-plane|b",
            "c1|b-control-plane|Up 2 hours|127.0.0.1:40001->6443/tcp|control-plane|b",
            "",
            "c0|a-control-plane|Exited (0) 3 hours ago||control-plane|a",
        ]);
        assert_eq!(listing.clusters["b"].life(), Some("c1"));
        assert_eq!(listing.clusters["b"].unreachable(), None);
        assert!(listing.clusters["a"].unreachable().unwrap().contains("stopped"));
        assert_eq!(listing.unreadable, 0);
    }

    #[test]
    fn what_runs_is_told_from_what_does_not() {
        for (status, up) in [
            ("Up 2 hours", true),
            ("Up Less than a second", true),
            ("Up", true),
            ("Up 2 hours (Paused)", false),
            ("Paused", false),
            ("Exited (137) 5 days ago", false),
            ("Created", false),
            ("Restarting (1) 5 seconds ago", false),
            ("Removal In Progress", false),
            ("Dead", false),
            ("", false),
        ] {
            assert_eq!(is_up(status), up, "{status}");
        }
    }

    #[test]
    fn a_balancer_that_is_down_leaves_no_way_in() {
        let line = |status: &str| format!("lb|a-external-load-balancer|{status}||external-load-balancer|a");
        let control_plane = "c1|a-control-plane|Up 2 hours||control-plane|a";
        let of = |status: &str| read(&[control_plane, &line(status)]).clusters["a"].unreachable();
        assert_eq!(of("Up 2 hours"), None);
        assert!(of("Exited (0) 1 second ago").unwrap().contains("load balancer"));
        let workers = read(&["w|a-worker|Up||worker|a"]);
        assert!(
            workers.clusters["a"]
                .unreachable()
                .unwrap()
                .contains("no control-plane")
        );
    }

    #[test]
    fn lines_that_are_none_are_counted_and_the_rest_is_read() {
        let listing = read(&[
            "nonsense",
            "|a-control-plane|Up||control-plane|a",
            "id|a-control-plane|Up||control-plane|",
            "id|x|Up||control-plane|Odd /#+: name|with|bars",
        ]);
        assert_eq!(listing.unreadable, 3);
        assert_eq!(
            listing.clusters.keys().collect::<Vec<_>>(),
            ["Odd /#+: name|with|bars"]
        );
    }
}
