//! A watched kind is mapped; on `metadata_only` the function takes the metadata.

struct TeamTokens;
///Names an object that [`TeamTokens`] reconciles, and its cluster.
#[allow(dead_code)]
type TeamTokensRequest = ::mcrt::Request<ConfigMap>;
#[automatically_derived]
impl ::mcrt::MulticlusterController for TeamTokens {
    type For = ConfigMap;
    const NAME: &'static ::mcrt::__private::str = "team-tokens";
    #[allow(unexpected_cfgs)]
    const FEATURES: &'static [&'static ::mcrt::__private::str] = &[
        #[cfg(feature = "sim")]
        "sim",
        #[cfg(feature = "file")]
        "file",
        #[cfg(feature = "kind")]
        "kind",
        #[cfg(feature = "kubeconfig")]
        "kubeconfig",
        #[cfg(feature = "cluster-api")]
        "cluster-api",
        #[cfg(feature = "cluster-profile")]
        "cluster-profile",
        #[cfg(feature = "namespace")]
        "namespace",
        #[cfg(feature = "kcp")]
        "kcp",
        #[cfg(feature = "command")]
        "command",
    ];
    #[allow(clippy::needless_update, clippy::redundant_closure)]
    fn wire(wiring: &mut ::mcrt::ControllerBuilder<Self>) {
        wiring
            .for_kind(
                ::mcrt::Watch::<<Self as ::mcrt::Reconciler>::Object>::new()
                    .on(::mcrt::Place::Fleet),
            );
        wiring
            .watches::<
                Secret,
                ::mcrt::Requests<Self>,
            >(
                ::mcrt::Watch::<Secret>::new().on(::mcrt::Place::Host),
                |controller, object, cx| <Secret as ::mcrt::__private::MappedBy<
                    Self,
                >>::map(controller, object, cx),
            );
        wiring
            .watches::<
                ::mcrt::__private::PartialObjectMeta<v1::Node>,
                ::mcrt::Requests<Self>,
            >(
                ::mcrt::Watch::<::mcrt::__private::PartialObjectMeta<v1::Node>>::new()
                    .on(::mcrt::Place::All),
                |controller, object, cx| <::mcrt::__private::PartialObjectMeta<
                    v1::Node,
                > as ::mcrt::__private::MappedBy<Self>>::map(controller, object, cx),
            );
    }
}
impl ::mcrt::__private::Homed for TeamTokens {
    type Place = ::mcrt::place::Fleet;
}
impl ::mcrt::__private::HasHost for TeamTokens {}
impl ::mcrt::__private::CachedBy<TeamTokens, ::mcrt::place::Fleet> for ConfigMap {
    type Stored = ConfigMap;
}
impl ::mcrt::__private::IndexableBy<TeamTokens> for ConfigMap {}
impl ::mcrt::__private::CachedBy<TeamTokens, ::mcrt::place::Host> for Secret {
    type Stored = Secret;
}
impl ::mcrt::__private::IndexableBy<TeamTokens> for Secret {}
impl ::mcrt::__private::WatchedBy<TeamTokens> for Secret {
    type Place = ::mcrt::place::Host;
}
impl ::mcrt::__private::CachedBy<TeamTokens, ::mcrt::place::Fleet> for v1::Node {
    type Stored = ::mcrt::__private::PartialObjectMeta<v1::Node>;
}
impl ::mcrt::__private::CachedBy<TeamTokens, ::mcrt::place::Host> for v1::Node {
    type Stored = ::mcrt::__private::PartialObjectMeta<v1::Node>;
}
impl ::mcrt::__private::IndexableBy<TeamTokens>
for ::mcrt::__private::PartialObjectMeta<v1::Node> {}
impl ::mcrt::__private::WatchedBy<TeamTokens>
for ::mcrt::__private::PartialObjectMeta<v1::Node> {
    type Place = ::mcrt::place::All;
}
impl ::mcrt::__private::DeclaredBy<TeamTokens, ::mcrt::place::Fleet> for ConfigMap {}
impl ::mcrt::__private::DeclaredBy<TeamTokens, ::mcrt::place::Host> for Secret {}
impl ::mcrt::__private::DeclaredBy<TeamTokens, ::mcrt::place::Fleet> for v1::Node {}
impl ::mcrt::__private::DeclaredBy<TeamTokens, ::mcrt::place::Host> for v1::Node {}
impl TeamTokens {
    #[allow(clippy::needless_pass_by_value, clippy::unused_async, clippy::unused_self)]
    async fn reconcile(
        &self,
        config: Arc<ConfigMap>,
        cx: Context<Self>,
    ) -> Result<Action> {
        todo!()
    }
    #[allow(clippy::needless_pass_by_value, clippy::unused_async, clippy::unused_self)]
    fn rotated(&self, key: &Secret, cx: MapContext<Self>) -> Vec<Request<ConfigMap>> {
        todo!()
    }
    #[allow(clippy::needless_pass_by_value, clippy::unused_async, clippy::unused_self)]
    fn moved(
        &self,
        node: &PartialObjectMeta<v1::Node>,
        cx: MapContext<Self>,
    ) -> Option<Request<ConfigMap>> {
        todo!()
    }
}
#[automatically_derived]
impl ::mcrt::Reconciler for TeamTokens {
    type Object = ConfigMap;
    fn reconcile(
        &self,
        object: ::mcrt::__private::Arc<Self::Object>,
        cx: ::mcrt::Context<Self>,
    ) -> impl ::mcrt::__private::Future<
        Output = ::mcrt::Result<::mcrt::Action>,
    > + ::mcrt::__private::Send {
        async move {
            <Result<
                Action,
            > as ::mcrt::__private::Outcome>::outcome(
                ::mcrt::__private::send(<TeamTokens>::reconcile(self, object, cx)).await,
            )
        }
    }
}
#[automatically_derived]
impl ::mcrt::__private::MappedBy<TeamTokens> for Secret {
    fn map(
        controller: &TeamTokens,
        object: &Self,
        cx: ::mcrt::MapContext<TeamTokens>,
    ) -> ::mcrt::Requests<TeamTokens> {
        <Vec<
            Request<ConfigMap>,
        > as ::mcrt::__private::IntoRequests<
            TeamTokens,
        >>::into_requests(<TeamTokens>::rotated(controller, object, cx))
    }
}
const _: fn() = || {
    fn map<K, O>()
    where
        K: ::mcrt::__private::WatchedBy<TeamTokens>,
        O: ::mcrt::__private::MapOutput<K::Place, ConfigMap>,
    {}
    map::<Secret, Vec<Request<ConfigMap>>>();
};
#[automatically_derived]
impl ::mcrt::__private::MappedBy<TeamTokens> for PartialObjectMeta<v1::Node> {
    fn map(
        controller: &TeamTokens,
        object: &Self,
        cx: ::mcrt::MapContext<TeamTokens>,
    ) -> ::mcrt::Requests<TeamTokens> {
        <Option<
            Request<ConfigMap>,
        > as ::mcrt::__private::IntoRequests<
            TeamTokens,
        >>::into_requests(<TeamTokens>::moved(controller, object, cx))
    }
}
const _: fn() = || {
    fn map<K, O>()
    where
        K: ::mcrt::__private::WatchedBy<TeamTokens>,
        O: ::mcrt::__private::MapOutput<K::Place, ConfigMap>,
    {}
    map::<PartialObjectMeta<v1::Node>, Option<Request<ConfigMap>>>();
};
const _: fn() = || {
    fn controller<
        C: ::mcrt::MulticlusterController,
        K: ::mcrt::__private::SameKind<C::For>,
    >() {}
    controller::<TeamTokens, ConfigMap>();
};
