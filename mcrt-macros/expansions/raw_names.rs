//! Raw identifiers lose their prefix where they become names.

struct r#Type;
///Names an object that [`r#Type`] reconciles, and its cluster.
#[allow(dead_code)]
type TypeRequest = ::mcrt::Request<r#struct::Kind>;
#[automatically_derived]
impl ::mcrt::MulticlusterController for r#Type {
    type For = r#struct::Kind;
    const NAME: &'static ::mcrt::__private::str = "type";
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
impl ::mcrt::__private::Homed for r#Type {
    type Place = ::mcrt::place::Fleet;
}
impl ::mcrt::__private::CachedBy<r#Type, ::mcrt::place::Fleet> for r#struct::Kind {
    type Stored = r#struct::Kind;
}
impl ::mcrt::__private::IndexableBy<r#Type> for r#struct::Kind {}
impl ::mcrt::__private::DeclaredBy<r#Type, ::mcrt::place::Fleet> for r#struct::Kind {}
impl r#Type {
    #[allow(clippy::needless_pass_by_value, clippy::unused_async, clippy::unused_self)]
    async fn r#loop(
        &self,
        object: Arc<r#struct::Kind>,
        cx: Context<Self>,
    ) -> Result<Action> {
        todo!()
    }
}
#[automatically_derived]
impl ::mcrt::Reconciler for r#Type {
    type Object = r#struct::Kind;
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
                ::mcrt::__private::send(<r#Type>::r#loop(self, object, cx)).await,
            )
        }
    }
}
const _: fn() = || {
    fn controller<
        C: ::mcrt::MulticlusterController,
        K: ::mcrt::__private::SameKind<C::For>,
    >() {}
    controller::<r#Type, r#struct::Kind>();
};
