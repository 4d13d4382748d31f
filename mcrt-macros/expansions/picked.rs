//! Clusters that a controller works in.

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
            .clusters(
                ::mcrt::ClusterSelector::new()
                    .labels("env=prod,tier in (gold, silver)")
                    .names(["eu-*", "prod"])
                    .property("region", "eu")
                    .property("example.com/zone", "a=b")
                    .except(["eu-test", "*-old"])
                    .except_labels("canary"),
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
impl ::mcrt::__private::DeclaredBy<TeamTokens, ::mcrt::place::Fleet> for ConfigMap {}
