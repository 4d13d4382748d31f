//! The `fleet-configmaps` example, as it stands: it has to print every ConfigMap as often as it changes.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use mcrt::testing::Setup;
use mcrt_sim::{Fleet, Server};
use mcrt_tests::random::Random;
use serde_json::Value;

use super::{controllers::Subject, world};

// Takes the place of the standard one in the example: what it prints is written down.
macro_rules! println {
    ($($arg:tt)*) => { super::printed(format!($($arg)*)) };
}

#[allow(dead_code, reason = "the example's own start")]
#[path = "../../../examples/fleet-configmaps/src/main.rs"]
mod example;

thread_local! {
    /// When each line was printed last. The tests of one thread run one after the other, each in its runtime.
    static PRINTED: RefCell<BTreeMap<String, u64>> = RefCell::default();
}

/// Counts changes, so that a line can be told to come after one.
static CHANGES: AtomicU64 = AtomicU64::new(1);

fn printed(line: String) {
    let now = CHANGES.load(Relaxed);
    PRINTED.with_borrow_mut(|printed| printed.insert(line, now));
}

/// When each ConfigMap changed last, by the line that is to be printed for it.
#[derive(Default)]
pub(crate) struct ConfigMaps(RefCell<BTreeMap<String, u64>>);

fn line(server: &Server, object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    let (cluster, namespace, name) = (server.name(), text("namespace"), text("name"));
    format!("cluster={cluster} namespace={namespace} name={name}")
}

fn versions(server: &Server) -> BTreeMap<String, Value> {
    let objects = server.list("v1", "ConfigMap", None).unwrap();
    let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
    objects
        .iter()
        .map(|object| (line(server, object), version(object)))
        .collect()
}

impl Subject for ConfigMaps {
    fn fill(&self, _: &Fleet) {
        PRINTED.with_borrow_mut(BTreeMap::clear);
    }

    fn controller(&self, setup: Setup) -> Setup {
        setup.controller(example::FleetConfigMaps)
    }

    fn change(&self, sim: &Fleet, random: &mut Random, step: u64) {
        let server = random.choose(&sim.servers()).clone();
        let before = versions(&server);
        world::change(&server, random, step);
        let now = CHANGES.fetch_add(1, Relaxed) + 1;
        let changed = versions(&server)
            .into_iter()
            .filter(|(line, version)| before.get(line) != Some(version));
        self.0.borrow_mut().extend(changed.map(|(line, _)| (line, now)));
    }

    fn check(&self, _: &Fleet, server: &Server) -> Result<(), String> {
        let changed = self.0.borrow();
        for line in versions(server).into_keys() {
            let wanted = changed.get(&line).copied().unwrap_or_default();
            let last = PRINTED.with_borrow(|printed| printed.get(&line).copied());
            match last {
                Some(last) if last >= wanted => {}
                Some(last) => return Err(format!("{line}: printed at {last}, changed at {wanted}")),
                None => return Err(format!("{line}: never printed")),
            }
        }
        Ok(())
    }
}
