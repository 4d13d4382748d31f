//! Engagements that are held up at chosen steps.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use mcrt::{ClusterName, FleetSettings, fleet::Step};
use parking_lot::Mutex;

/// Holds every cluster up at some steps, and says which were reached.
#[derive(Clone, Default)]
pub struct Holds {
    reached: Arc<Mutex<Vec<(Step, ClusterName)>>>,
    delays: Arc<HashMap<Step, Duration>>,
}

impl Holds {
    /// Holds every cluster this long at each of these steps.
    pub fn at(delays: impl IntoIterator<Item = (Step, Duration)>) -> Self {
        Self {
            reached: Arc::default(),
            delays: Arc::new(delays.into_iter().collect()),
        }
    }

    /// Puts the holds in place.
    pub fn apply(&self, settings: &mut FleetSettings) {
        let holds = self.clone();
        settings.steps = Some(Arc::new(move |step, cluster| {
            holds.reached.lock().push((step, cluster));
            let delay = holds.delays.get(&step).copied();
            Box::pin(async move {
                if let Some(delay) = delay {
                    tokio::time::sleep(delay).await;
                }
            })
        }));
    }

    /// Whether a cluster has come to a step, held there or past it.
    pub fn reached(&self, step: Step, cluster: &str) -> Result<(), String> {
        let reached = self.reached.lock();
        let found = reached
            .iter()
            .any(|(at, name)| *at == step && name.as_str() == cluster);
        found
            .then_some(())
            .ok_or_else(|| format!("{cluster} is not at {step:?}: {reached:?}"))
    }
}

impl fmt::Debug for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holds")
            .field("delays", &self.delays)
            .finish_non_exhaustive()
    }
}
