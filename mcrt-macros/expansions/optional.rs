//! A kind that a cluster may lack does not keep the controller from working there.

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
        trait Owned<O> {
            type Kind;
        }
        impl<K: ::mcrt::__private::OwnedBy<O>, O> Owned<O> for K {
            type Kind = K;
        }
        wiring
            .for_kind(
                ::mcrt::Watch::<<Self as ::mcrt::Reconciler>::Object>::new()
                    .on(::mcrt::Place::Fleet),
            );
        wiring
            .owns::<
                <Secret as Owned<ConfigMap>>::Kind,
            >(
                ::mcrt::Watch::<::mcrt::__private::PartialObjectMeta<_>>::new()
                    .on(::mcrt::Place::Fleet)
                    .optional(),
            );
        wiring
            .owns_full::<
                <Service as Owned<ConfigMap>>::Kind,
            >(
                ::mcrt::Watch::<_>::new()
                    .on(::mcrt::Place::Fleet)
                    .predicate(::mcrt::predicate::generation)
                    .optional(),
            );
    }
}
impl ::mcrt::__private::Homed for TeamTokens {
    type Place = ::mcrt::place::Fleet;
}
impl ::mcrt::__private::CachedBy<TeamTokens, ::mcrt::place::Fleet> for ConfigMap {
    type Stored = ConfigMap;
}
impl ::mcrt::__private::IndexableBy<TeamTokens> for ConfigMap {}
impl ::mcrt::__private::CachedBy<TeamTokens, ::mcrt::place::Fleet> for Secret {
    type Stored = ::mcrt::__private::PartialObjectMeta<Secret>;
}
impl ::mcrt::__private::IndexableBy<TeamTokens>
for ::mcrt::__private::PartialObjectMeta<Secret> {}
impl ::mcrt::__private::CachedBy<TeamTokens, ::mcrt::place::Fleet> for Service {
    type Stored = Service;
}
impl ::mcrt::__private::IndexableBy<TeamTokens> for Service {}
impl ::mcrt::__private::DeclaredBy<TeamTokens, ::mcrt::place::Fleet> for ConfigMap {}
impl ::mcrt::__private::DeclaredBy<TeamTokens, ::mcrt::place::Fleet> for Secret {}
impl ::mcrt::__private::DeclaredBy<TeamTokens, ::mcrt::place::Fleet> for Service {}
