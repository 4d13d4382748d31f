//! `crate` replaces the path of mcrt in both halves.

struct TeamTokens;
///Names an object that [`TeamTokens`] reconciles, and its cluster.
#[allow(dead_code)]
type TeamTokensRequest = ::facade::runtime::Request<ConfigMap>;
#[automatically_derived]
impl ::facade::runtime::MulticlusterController for TeamTokens {
    type For = ConfigMap;
    const NAME: &'static ::facade::runtime::__private::str = "team-tokens";
    #[allow(unexpected_cfgs)]
    const FEATURES: &'static [&'static ::facade::runtime::__private::str] = &[
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
    fn wire(wiring: &mut ::facade::runtime::ControllerBuilder<Self>) {
        trait Owned<O> {
            type Kind;
        }
        impl<K: ::facade::runtime::__private::OwnedBy<O>, O> Owned<O> for K {
            type Kind = K;
        }
        wiring
            .for_kind(
                ::facade::runtime::Watch::<
                    <Self as ::facade::runtime::Reconciler>::Object,
                >::new()
                    .on(::facade::runtime::Place::Fleet),
            );
        wiring
            .owns::<
                <Secret as Owned<ConfigMap>>::Kind,
            >(
                ::facade::runtime::Watch::<
                    ::facade::runtime::__private::PartialObjectMeta<_>,
                >::new()
                    .on(::facade::runtime::Place::Fleet),
            );
        wiring
            .watches::<
                Node,
                ::facade::runtime::Requests<Self>,
            >(
                ::facade::runtime::Watch::<Node>::new()
                    .on(::facade::runtime::Place::Host),
                |controller, object, cx| <Node as ::facade::runtime::__private::MappedBy<
                    Self,
                >>::map(controller, object, cx),
            );
    }
}
impl ::facade::runtime::__private::Homed for TeamTokens {
    type Place = ::facade::runtime::place::Fleet;
}
impl ::facade::runtime::__private::HasHost for TeamTokens {}
impl ::facade::runtime::__private::CachedBy<TeamTokens, ::facade::runtime::place::Fleet>
for ConfigMap {
    type Stored = ConfigMap;
}
impl ::facade::runtime::__private::IndexableBy<TeamTokens> for ConfigMap {}
impl ::facade::runtime::__private::CachedBy<TeamTokens, ::facade::runtime::place::Fleet>
for Secret {
    type Stored = ::facade::runtime::__private::PartialObjectMeta<Secret>;
}
impl ::facade::runtime::__private::IndexableBy<TeamTokens>
for ::facade::runtime::__private::PartialObjectMeta<Secret> {}
impl ::facade::runtime::__private::CachedBy<TeamTokens, ::facade::runtime::place::Host>
for Node {
    type Stored = Node;
}
impl ::facade::runtime::__private::IndexableBy<TeamTokens> for Node {}
impl ::facade::runtime::__private::WatchedBy<TeamTokens> for Node {
    type Place = ::facade::runtime::place::Host;
}
impl ::facade::runtime::__private::DeclaredBy<
    TeamTokens,
    ::facade::runtime::place::Fleet,
> for ConfigMap {}
impl ::facade::runtime::__private::DeclaredBy<
    TeamTokens,
    ::facade::runtime::place::Fleet,
> for Secret {}
impl ::facade::runtime::__private::DeclaredBy<TeamTokens, ::facade::runtime::place::Host>
for Node {}
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
    fn by_team(config: &ConfigMap) -> Option<String> {
        todo!()
    }
    #[allow(clippy::needless_pass_by_value, clippy::unused_async, clippy::unused_self)]
    fn moved(&self, node: &Node, cx: MapContext<Self>) -> Vec<Request<ConfigMap>> {
        todo!()
    }
}
impl TeamTokens {
    ///The index that [`by_team`](Self::by_team) computes.
    #[allow(dead_code)]
    const BY_TEAM: ::facade::runtime::Index<Self, ConfigMap, String> = ::facade::runtime::Index::declared(
        0u16,
    );
}
#[automatically_derived]
impl ::facade::runtime::Reconciler for TeamTokens {
    type Object = ConfigMap;
    fn reconcile(
        &self,
        object: ::facade::runtime::__private::Arc<Self::Object>,
        cx: ::facade::runtime::Context<Self>,
    ) -> impl ::facade::runtime::__private::Future<
        Output = ::facade::runtime::Result<::facade::runtime::Action>,
    > + ::facade::runtime::__private::Send {
        async move {
            <Result<
                Action,
            > as ::facade::runtime::__private::Outcome>::outcome(
                ::facade::runtime::__private::send(
                        <TeamTokens>::reconcile(self, object, cx),
                    )
                    .await,
            )
        }
    }
    fn indexes(wiring: &mut ::facade::runtime::ControllerBuilder<Self>) {
        wiring.index::<ConfigMap, Option<String>>("by_team", <TeamTokens>::by_team);
    }
}
#[automatically_derived]
impl ::facade::runtime::__private::MappedBy<TeamTokens> for Node {
    fn map(
        controller: &TeamTokens,
        object: &Self,
        cx: ::facade::runtime::MapContext<TeamTokens>,
    ) -> ::facade::runtime::Requests<TeamTokens> {
        <Vec<
            Request<ConfigMap>,
        > as ::facade::runtime::__private::IntoRequests<
            TeamTokens,
        >>::into_requests(<TeamTokens>::moved(controller, object, cx))
    }
}
const _: fn() = || {
    fn map<K, O>()
    where
        K: ::facade::runtime::__private::WatchedBy<TeamTokens>,
        O: ::facade::runtime::__private::MapOutput<K::Place, ConfigMap>,
    {}
    map::<Node, Vec<Request<ConfigMap>>>();
};
const _: fn() = || {
    fn controller<
        C: ::facade::runtime::MulticlusterController,
        K: ::facade::runtime::__private::SameKind<C::For>,
    >() {}
    controller::<TeamTokens, ConfigMap>();
};
const _: fn() = || {
    fn indexable<K: ::facade::runtime::__private::IndexableBy<TeamTokens>>() {}
    indexable::<ConfigMap>();
};
