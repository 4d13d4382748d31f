//! Every setting of the runtime.

struct TeamTokens;
///Names an object that [`TeamTokens`] reconciles, and its cluster.
#[allow(dead_code)]
type TeamTokensRequest = ::mcrt::Request<ConfigMap>;
#[automatically_derived]
impl ::mcrt::MulticlusterController for TeamTokens {
    type For = ConfigMap;
    const NAME: &'static ::mcrt::__private::str = "tokens";
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
        wiring.concurrency(16u32);
        wiring.per_cluster(4u32);
        wiring.resync(::mcrt::__private::Duration::from_millis(600000u64));
        wiring.timeout(::mcrt::__private::Duration::from_millis(1500u64));
        wiring.field_manager("mcrt.dev/tokens");
        wiring
            .error_policy(::mcrt::Backoff {
                initial: ::mcrt::__private::Duration::from_millis(1000u64),
                max: ::mcrt::__private::Duration::from_millis(3600000u64),
                factor: 2f64,
                jitter: false,
                retries: ::mcrt::__private::Option::Some(5u32),
                ..<::mcrt::Backoff as ::core::default::Default>::default()
            });
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
const _: () = ::core::assert!(
    ! < TeamTokens as ::mcrt::Reconciler > ::ERROR_POLICY,
    "`error_policy(...)` and `#[error_policy]` exclude each other"
);
