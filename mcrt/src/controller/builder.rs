//! Collects the declarations of a controller: what the macros write, and what can be written by hand.
use super::{
    ApiKind, ApiScope, Index, MapContext, Reconciler, Uses, Watch,
    build::{FOR, OWNS, Pending},
    declaration::{Declared, Map, Role, Summary},
    index::{AnyIndex, IndexKey, Indexed},
    outputs::{IndexKeys, IntoRequests},
    settings::Settings,
    tombstones::Tombstones,
    watch::Map as FleetMap,
};
use crate::{
    cache::{Cacheable, WatchScope},
    cluster::ClusterSelector,
    fleet::FleetEvent,
    jitter::NEVER,
    queue::Backoff,
};
use kube::{
    Resource,
    core::{ApiResource, PartialObjectMeta},
};
use std::{any::TypeId, fmt, sync::Arc, time::Duration};

/// Collects the declarations of a controller; equal in power to the attributes.
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use mcrt::{Action, Context, ControllerBuilder, HandWired, Reconciler, Watch};
/// use std::sync::Arc;
///
/// struct Copier;
/// impl HandWired for Copier {}
/// impl Reconciler for Copier {
///     type Object = ConfigMap;
///     async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
///         println!("{} {:?}", cx.cluster(), config.metadata.name);
///         Ok(Action::await_change())
///     }
/// }
///
/// let mut wiring = ControllerBuilder::new("copier");
/// wiring.for_kind(Watch::new().labels("app=copier"));
/// wiring.owns::<Secret>(Watch::new());
/// let by_app = wiring.index("by_app", |config: &ConfigMap| config.metadata.labels.as_ref()?.get("app").cloned());
/// let controller = wiring.build(Copier)?;
/// # let _ = by_app;
/// # Ok::<(), mcrt::BuildError>(())
/// ```
pub struct ControllerBuilder<R: Reconciler> {
    pub(super) name: String,
    pub(super) settings: Settings,
    pub(super) declarations: Vec<Pending<R>>,
    pub(super) indexes: Vec<Box<dyn AnyIndex>>,
    pub(super) on_fleet: Option<FleetMap<R>>,
    pub(super) uses: Vec<(String, Uses)>,
    pub(super) tombstones: Arc<Tombstones<R::Object>>,
    pub(super) kind: Option<(ApiResource, Option<bool>)>,
}

impl<R: Reconciler> ControllerBuilder<R> {
    /// A controller of that name, with nothing declared.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            settings: Settings::default(),
            declarations: Vec::new(),
            indexes: Vec::new(),
            on_fleet: None,
            uses: Vec::new(),
            tombstones: Arc::new(Tombstones::new()),
            kind: None,
        }
    }

    /// The kind to reconcile.
    pub fn for_kind(&mut self, watch: Watch<R::Object>) -> &mut Self
    where
        R::Object: ApiKind,
    {
        let namespaced = <R::Object as Resource>::Scope::NAMESPACED;
        self.reconciles((), namespaced, watch)
    }

    /// The kind to reconcile, where only a value knows which one it is.
    pub fn for_kind_with(
        &mut self,
        kind: <R::Object as Resource>::DynamicType,
        watch: Watch<R::Object>,
    ) -> &mut Self
    where
        R::Object: Cacheable + Resource,
    {
        self.reconciles(kind, None, watch)
    }

    fn reconciles(
        &mut self,
        kind: <R::Object as Resource>::DynamicType,
        namespaced: Option<bool>,
        watch: Watch<R::Object>,
    ) -> &mut Self
    where
        R::Object: Cacheable,
    {
        self.kind = Some((ApiResource::erase::<R::Object>(&kind), namespaced));
        let tombstones = R::GONE.then(|| self.tombstones.clone());
        self.declare(FOR, kind, Role::For(tombstones), watch)
    }

    /// A kind whose objects are owned, by owner reference, by the reconciled kind; only their metadata is watched
    /// and kept.
    pub fn owns<K: ApiKind>(&mut self, watch: Watch<PartialObjectMeta<K>>) -> &mut Self {
        self.declare(OWNS, (), Role::Owns, watch)
    }

    /// As [`owns`](Self::owns), with the objects kept whole.
    pub fn owns_full<K: ApiKind>(&mut self, watch: Watch<K>) -> &mut Self {
        self.declare(OWNS, (), Role::Owns, watch)
    }

    /// As [`owns`](Self::owns), of a kind that only a value knows; `T` says what is kept.
    pub fn owns_with<T: Cacheable>(&mut self, kind: T::DynamicType, watch: Watch<T>) -> &mut Self {
        self.declare(OWNS, kind, Role::Owns, watch)
    }

    /// A kind whose changes are mapped to requests. `T` is the kind, or its metadata alone.
    pub fn watches<T, O>(
        &mut self,
        watch: Watch<T>,
        map: impl Fn(&R, &T, MapContext<R>) -> O + Send + Sync + 'static,
    ) -> &mut Self
    where
        T: Cacheable + Resource<DynamicType = ()>,
        O: IntoRequests<R>,
    {
        self.watches_with((), watch, map)
    }

    /// As [`watches`](Self::watches), of a kind that only a value knows.
    pub fn watches_with<T, O>(
        &mut self,
        kind: T::DynamicType,
        watch: Watch<T>,
        map: impl Fn(&R, &T, MapContext<R>) -> O + Send + Sync + 'static,
    ) -> &mut Self
    where
        T: Cacheable,
        O: IntoRequests<R>,
    {
        let map: Map<R, T> =
            Arc::new(move |reconciler, object, cx| map(reconciler, object, cx).into_requests());
        self.declare("watches", kind, Role::Watches(map), watch)
    }

    /// A kind that is used without being watched.
    pub fn uses<K: ApiKind>(&mut self, uses: Uses) -> &mut Self {
        self.uses.push((K::kind(&()).into_owned(), uses));
        self
    }

    /// Maps changes of the fleet to requests: every change of the clusters that the controller selects, those of one
    /// cluster in their order, each once the cluster can take requests. A cluster that comes to be selected is told as
    /// `Engaged`, one that no longer is as `Disengaged`. An `ObjectRef` names an object of the host if that is where objects are
    /// reconciled, else of the cluster that changed.
    pub fn on_fleet<O: IntoRequests<R>>(
        &mut self,
        map: impl Fn(&R, &FleetEvent, MapContext<R>) -> O + Send + Sync + 'static,
    ) -> &mut Self {
        self.on_fleet = Some(Arc::new(move |reconciler, event, cx| {
            map(reconciler, event, cx).into_requests()
        }));
        self
    }

    /// Indexes a watched kind. The function sees the object alone, so that its keys cannot go stale; a panic in it
    /// leaves that object out.
    pub fn index<T, O>(&mut self, name: &'static str, keys: fn(&T) -> O) -> Index<R, T, O::Key>
    where
        T: Cacheable,
        O: IndexKeys<Key: IndexKey> + 'static,
    {
        self.add_index(name, None, move |object| keys(object).into_keys())
    }

    /// As [`index`](Self::index), of one kind among several that are kept as the same type.
    pub fn index_with<T, O>(
        &mut self,
        kind: &T::DynamicType,
        name: &'static str,
        keys: impl Fn(&T) -> O + Send + Sync + 'static,
    ) -> Index<R, T, O::Key>
    where
        T: Cacheable,
        O: IndexKeys<Key: IndexKey> + 'static,
    {
        let resource = ApiResource::erase::<T>(kind);
        self.add_index(name, Some(resource), move |object| keys(object).into_keys())
    }

    fn add_index<T: Cacheable, V: IndexKey>(
        &mut self,
        name: &'static str,
        resource: Option<ApiResource>,
        keys: impl Fn(&T) -> Vec<V> + Send + Sync + 'static,
    ) -> Index<R, T, V> {
        let slot = u16::try_from(self.indexes.len()).unwrap_or(u16::MAX);
        self.indexes.push(Box::new(Indexed {
            name,
            resource,
            keys: Arc::new(keys),
        }));
        Index::declared(slot)
    }

    /// In which clusters of the fleet it works (in all of them). A cluster that comes to be selected, or no longer is,
    /// joins or leaves this controller alone: it begins with everything that exists there, or ends with what runs
    /// there. The host is a place, and not selected.
    ///
    /// A request for a cluster that is not selected is dropped, which is reported once for each cluster.
    pub fn clusters(&mut self, selector: ClusterSelector) -> &mut Self {
        self.settings.clusters = selector;
        self
    }

    /// How many reconciles may run at once (256).
    pub fn concurrency(&mut self, permits: u32) -> &mut Self {
        self.settings.concurrency = permits;
        self
    }

    /// How many reconciles of one cluster may run at once (a quarter of `concurrency`; all of it while the cluster
    /// is the only one).
    pub fn per_cluster(&mut self, permits: u32) -> &mut Self {
        self.settings.per_cluster = Some(permits);
        self
    }

    /// Reconciles everything again this often, at low priority (never).
    pub fn resync(&mut self, period: Duration) -> &mut Self {
        self.settings.resync = Some(period.min(NEVER));
        self
    }

    /// How long one reconcile may take before it is dropped and tried again (5 min).
    pub fn timeout(&mut self, timeout: Duration) -> &mut Self {
        self.settings.timeout = timeout;
        self
    }

    /// The field manager of what is applied (the controller's name).
    pub fn field_manager(&mut self, name: impl Into<String>) -> &mut Self {
        self.settings.field_manager = Some(name.into());
        self
    }

    /// How the delay grows while one object keeps failing.
    pub fn error_policy(&mut self, backoff: Backoff) -> &mut Self {
        self.settings.backoff = backoff;
        self
    }

    fn declare<T: Cacheable>(
        &mut self,
        role: &'static str,
        kind: T::DynamicType,
        means: Role<R, T>,
        watch: Watch<T>,
    ) -> &mut Self {
        let scope = WatchScope {
            resource: ApiResource::erase::<T>(&kind),
            namespaces: watch.namespaces,
            labels: watch.labels,
            fields: watch.fields,
            metadata_only: T::metadata_api(),
        };
        self.declarations.push(Pending {
            place: watch.place,
            role,
            kind: scope.resource.kind.clone(),
            optional: watch.optional,
            resolve: Box::new(move |place| {
                let summary = Summary {
                    role,
                    place,
                    scope,
                    stored: TypeId::of::<T>(),
                    optional: watch.optional,
                };
                Box::new(Declared {
                    summary,
                    dyntype: kind,
                    role: means,
                    predicate: watch.predicate,
                })
            }),
        });
        self
    }
}

impl<R: Reconciler> fmt::Debug for ControllerBuilder<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<_> = self
            .declarations
            .iter()
            .map(|pending| format!("{} {}", pending.role, pending.kind))
            .collect();
        f.debug_struct("ControllerBuilder")
            .field("name", &self.name)
            .field("declarations", &kinds)
            .finish_non_exhaustive()
    }
}
