//! What a controller declares, recorded once and replayed for every cluster that engages.
use super::{
    MapContext, Place, Reconciler, Requests,
    build::FOR,
    engagement::Engagement,
    gate::{Need, Part},
    runtime::Shared,
    tombstones::Tombstones,
    trigger::Trigger,
    watch::Predicate,
};
use crate::{
    cache::{Cache, Cacheable, Subscription, WatchScope},
    fleet::Cluster,
};
use futures::future::BoxFuture;
use std::{any::TypeId, fmt, sync::Arc};

/// A watch of a controller, in words.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    pub(crate) role: &'static str,
    pub(crate) place: Place,
    pub(crate) scope: WatchScope,
    /// The type of what is kept.
    pub(crate) stored: TypeId,
    /// Whether reconciles go without it.
    pub(crate) optional: bool,
}

impl Summary {
    /// What the kind is to the controller.
    pub(crate) fn need(&self) -> Need {
        match self.role {
            FOR => Need::Primary,
            _ if self.optional => Need::Optional,
            _ => Need::Required,
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = &self.scope.resource.kind;
        write!(f, "{} {kind} on {}", self.role, self.place)?;
        if self.scope.metadata_only {
            f.write_str(" (metadata)")?;
        }
        if !self.scope.namespaces.is_empty() {
            write!(f, " in {}", self.scope.namespaces.join(", "))?;
        }
        if let Some(labels) = &self.scope.labels {
            write!(f, " with labels {labels}")?;
        }
        if let Some(fields) = &self.scope.fields {
            write!(f, " with fields {fields}")?;
        }
        if self.optional {
            f.write_str(", optional")?;
        }
        Ok(())
    }
}

pub(crate) type Map<R, T> = Arc<dyn Fn(&R, &T, MapContext<R>) -> Requests<R> + Send + Sync>;

/// What a watched object means for the reconciled kind.
pub(crate) enum Role<R, T> {
    /// It is the reconciled object.
    For(Option<Arc<Tombstones<T>>>),
    /// Its owners of the reconciled kind.
    Owns,
    /// What a function of the author says.
    Watches(Map<R, T>),
}

impl<R, T> Clone for Role<R, T> {
    fn clone(&self) -> Self {
        match self {
            Self::For(tombstones) => Self::For(tombstones.clone()),
            Self::Owns => Self::Owns,
            Self::Watches(map) => Self::Watches(map.clone()),
        }
    }
}

/// One declared watch, whatever its kind.
pub(crate) trait Declaration<R>: Send + Sync + 'static {
    fn summary(&self) -> &Summary;

    /// Opens the cluster's cache of the declared scope, idle.
    fn open(&self, cluster: &Cluster) -> Part;

    /// Attaches the trigger to the opened cache number `at` of the engagement.
    fn subscribe<'a>(
        &'a self,
        at: usize,
        reconciler: &'a Arc<R>,
        shared: &'a Arc<Shared>,
        engagement: &'a Arc<Engagement>,
    ) -> BoxFuture<'a, Option<Subscription>>;
}

pub(crate) struct Declared<R, T: Cacheable> {
    pub(crate) summary: Summary,
    pub(crate) dyntype: T::DynamicType,
    pub(crate) role: Role<R, T>,
    pub(crate) predicate: Option<Predicate<T>>,
}

impl<R: Reconciler, T: Cacheable> Declaration<R> for Declared<R, T> {
    fn summary(&self) -> &Summary {
        &self.summary
    }

    fn open(&self, cluster: &Cluster) -> Part {
        let (scope, kind) = (self.summary.scope.clone(), self.dyntype.clone());
        let (cache, lease) = cluster.caches().lease::<T>(scope, kind);
        Part::new(Box::new(cache), lease, self.summary.need())
    }

    fn subscribe<'a>(
        &'a self,
        at: usize,
        reconciler: &'a Arc<R>,
        shared: &'a Arc<Shared>,
        engagement: &'a Arc<Engagement>,
    ) -> BoxFuture<'a, Option<Subscription>> {
        Box::pin(async move {
            let cache: &Cache<T> = engagement.cache(at)?;
            let trigger = Trigger {
                role: self.role.clone(),
                predicate: self.predicate.clone(),
                reconciler: reconciler.clone(),
                shared: shared.clone(),
                engagement: engagement.clone(),
            };
            Some(cache.subscribe(Arc::new(trigger)).await)
        })
    }
}
