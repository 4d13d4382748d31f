//! The state of a fleet as a failing test prints it: names and numbers, never what an object holds.
use crate::{Cluster, ControllerHandle, ManagerHandle};
use mcrt_sim::Server;
use std::{collections::BTreeMap, fmt};

/// How many names of a kind are worth their space.
const NAMES: usize = 8;

/// Prints the clusters with their health and watches, the controllers with their queues and last failures, and the
/// servers with their objects and requests.
pub(super) struct State<'a> {
    pub(super) manager: &'a ManagerHandle,
    pub(super) servers: &'a [Server],
}

impl fmt::Display for State<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fleet = self.manager.fleet();
        for cluster in fleet.clusters().iter().chain(&fleet.host()) {
            write_cluster(f, cluster)?;
        }
        for controller in self.manager.controllers() {
            write_controller(f, &controller)?;
        }
        for server in self.servers {
            write_server(f, server)?;
        }
        Ok(())
    }
}

fn write_cluster(f: &mut fmt::Formatter<'_>, cluster: &Cluster) -> fmt::Result {
    let tasks = cluster.connection_tasks();
    write!(f, "\n  {cluster:?}, {tasks} connection tasks")?;
    let states: BTreeMap<_, _> = (cluster.watches().into_iter())
        .map(|(scope, state)| (scope.to_string(), state))
        .collect();
    for (scope, stats) in cluster.caches().stats() {
        let scope = scope.to_string();
        let state = states.get(&scope).map_or("unknown", |state| state.as_str());
        let heard = match stats.last_message {
            Some(at) => format!("heard {} s ago", at.elapsed().as_secs()),
            None => "never heard".to_owned(),
        };
        write!(
            f,
            "\n    watch of {scope}: {state}, {} objects, {} lists, {} restarts, {heard}",
            stats.objects, stats.lists, stats.watch_restarts
        )?;
    }
    Ok(())
}

fn write_controller(f: &mut fmt::Formatter<'_>, controller: &ControllerHandle) -> fmt::Result {
    let (counters, queue) = (controller.counters(), controller.queue());
    write!(
        f,
        "\n  controller {}: {} reconciles, {} errors, {} panics, {} timeouts, {} gone",
        controller.name(),
        counters.reconciles,
        counters.errors,
        counters.panics,
        counters.timeouts,
        counters.gone
    )?;
    write!(
        f,
        "\n    queue: {} ready, {} running, {} delayed in {} lanes; {} dispatched, {} retries, {} given up",
        queue.ready,
        queue.running,
        queue.delayed,
        queue.lanes,
        queue.dispatched,
        queue.retries,
        queue.given_up
    )?;
    for gating in controller.waits_for() {
        write!(
            f,
            "\n    does not work in {} yet: waits for {gating}",
            gating.cluster
        )?;
    }
    for failure in controller.last_failures() {
        write!(f, "\n    failed: {failure}")?;
    }
    Ok(())
}

fn write_server(f: &mut fmt::Formatter<'_>, server: &Server) -> fmt::Result {
    let counters = server.counters();
    write!(
        f,
        "\n  server {} ({}): {} requests open, {} watches open; {} gets, {} lists, {} watches, {} writes, {} unauthorized",
        server.name(),
        server.uid(),
        counters.open_requests,
        counters.open_watches,
        counters.gets,
        counters.lists,
        counters.watches,
        counters.writes,
        counters.unauthorized
    )?;
    for (kind, names) in objects(server) {
        let shown = names.iter().take(NAMES).cloned().collect::<Vec<_>>().join(", ");
        let more = if names.len() > NAMES { ", ..." } else { "" };
        write!(f, "\n    {} {kind}: {shown}{more}", names.len())?;
    }
    Ok(())
}

/// The names of a server's objects by kind, each kind in one of its versions.
fn objects(server: &Server) -> BTreeMap<String, Vec<String>> {
    let mut objects = BTreeMap::new();
    for kind in server.kinds() {
        let (resource, api_version) = match kind.group.as_str() {
            "" => (kind.plural, kind.version),
            group => (
                format!("{}.{group}", kind.plural),
                format!("{group}/{}", kind.version),
            ),
        };
        if objects.contains_key(&resource) {
            continue;
        }
        let found = server.list(&api_version, &kind.kind, None).unwrap_or_default();
        let name = |object: &serde_json::Value| {
            let text = |field: &str| object["metadata"][field].as_str().map(str::to_owned);
            let name = text("name").unwrap_or_default();
            match text("namespace") {
                Some(namespace) => format!("{namespace}/{name}"),
                None => name,
            }
        };
        if !found.is_empty() {
            objects.insert(resource, found.iter().map(name).collect());
        }
    }
    objects
}
