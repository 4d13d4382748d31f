//! Prints whatever can be printed of what a program has in its hands.

use std::{error::Error, fmt::Debug};

use kube::config::Kubeconfig;
use mcrt::{
    FleetEvent, FleetSettings, ManagerHandle, MapContext,
    connect::{Access, ConnectError, Connection, Life, Policy, TransportSettings},
    provider::{Change, ClusterSpec},
};

use crate::servers::Site;

/// As both forms of `Debug` show it.
pub(crate) fn debug(what: &str, value: &impl Debug) {
    println!("debug of {what}: {value:?}");
    println!("debug of {what}: {value:#?}");
}

/// An error of mcrt in all its forms.
pub(crate) fn failed(error: &mcrt::Error) {
    println!("failed: {error}");
    println!("failed: {error:#}");
    println!("failed: {error:?}");
}

/// An error of mcrt's own types, and of what it says is its cause.
fn refused(error: &(dyn Error + 'static)) {
    println!("refused: {error}; {error:?}");
}

/// What a kubeconfig becomes.
pub(crate) fn kubeconfigs(site: &Site) {
    for file in ["good.yaml", "rejected.yaml", "address.yaml", "broken.yaml"] {
        let path = site.folder.path().join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        match Kubeconfig::from_yaml(&text) {
            Ok(kubeconfig) => [Policy::strict(), site.policy()]
                .iter()
                .for_each(|policy| contexts(&kubeconfig, policy)),
            Err(_) => println!("{file} is no YAML"),
        }
        if let Err(error) = Connection::from_files(&[&path], None) {
            refused(&error);
        }
    }
}

fn contexts(kubeconfig: &Kubeconfig, policy: &Policy) {
    debug("Policy", policy);
    for context in &kubeconfig.contexts {
        match Connection::from_kubeconfig_with(kubeconfig, &context.name, policy) {
            Ok(connection) => self::connection(connection),
            Err(error) => {
                refused(&error);
                failed(&error.into());
            }
        }
    }
}

fn connection(connection: Connection) {
    debug("Connection", &connection);
    let access = Access::from(connection);
    debug("Access", &access);
    match access.connect(&TransportSettings::default(), &Life::new()) {
        Ok(transport) => {
            debug("Transport", &transport);
            debug("Breaker", transport.breaker());
        }
        Err(error) => {
            refused(&error);
            failed(&error.into());
        }
    }
    let spec = ClusterSpec::new("shown".try_into().unwrap(), "uid", access);
    debug("ClusterSpec", &spec);
    debug("Change", &Change::Upsert(spec));
}

/// What a manager that runs can be asked.
pub(crate) fn manager(handle: &ManagerHandle) {
    debug("ManagerHandle", handle);
    let fleet = handle.fleet();
    debug("Fleet", fleet);
    debug("FleetSettings", &FleetSettings::default());
    for cluster in fleet.clusters() {
        debug("Cluster", &cluster);
        debug("Health", &cluster.health());
        debug("Properties", &cluster.properties());
        debug("FleetEvent", &FleetEvent::Engaged(cluster.clone()));
        for (scope, state) in cluster.watches() {
            println!("watch of {scope}: {state}");
            debug("WatchScope", &scope);
        }
    }
    for controller in handle.controllers() {
        debug("ControllerHandle", &controller);
        debug("ControllerCounters", &controller.counters());
        debug("QueueCounters", &controller.queue());
        for failure in controller.last_failures() {
            println!("last failure: {failure}");
            debug("ReconcileFailure", &failure);
        }
    }
}

/// What a map has in its hands.
pub(crate) fn map_context<C>(cx: &MapContext<C>) {
    debug("MapContext", cx);
}

/// The error of a request that a reconciler makes by hand, as mcrt prints it: kube's own `Debug` is its own affair.
pub(crate) fn request(error: kube::Error) -> mcrt::Error {
    if let Some(ours) = ConnectError::within(&error) {
        println!("inside: {ours}");
    }
    let error = mcrt::Error::from(error);
    failed(&error);
    error
}
