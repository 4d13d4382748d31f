//! A kind, and a function that reconciles it.

pub struct TeamTokens {
    issuer: String,
}
///Names an object that [`TeamTokens`] reconciles, and its cluster.
#[allow(dead_code)]
pub type TeamTokensRequest = ::mcrt::Request<ConfigMap>;
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
impl TeamTokens {
    #[allow(clippy::needless_pass_by_value, clippy::unused_async, clippy::unused_self)]
    async fn reconcile(
        &self,
        config: Arc<ConfigMap>,
        cx: Context<Self>,
    ) -> Result<Action> {
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
const _: fn() = || {
    fn controller<
        C: ::mcrt::MulticlusterController,
        K: ::mcrt::__private::SameKind<C::For>,
    >() {}
    controller::<TeamTokens, ConfigMap>();
};
