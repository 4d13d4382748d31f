//! Every function that takes an object and a context.

impl TeamTokens {
    const ISSUER: &str = "mcrt";
    #[allow(clippy::needless_pass_by_value, clippy::unused_async, clippy::unused_self)]
    async fn reconcile(
        &self,
        config: Arc<ConfigMap>,
        cx: Context<Self>,
    ) -> Result<Action> {
        todo!()
    }
    #[allow(clippy::needless_pass_by_value, clippy::unused_async, clippy::unused_self)]
    async fn forget(
        &self,
        config: Arc<ConfigMap>,
        cx: Context<Self>,
    ) -> std::io::Result<()> {
        todo!()
    }
    #[allow(clippy::needless_pass_by_value, clippy::unused_async, clippy::unused_self)]
    fn later(&self, config: Arc<ConfigMap>, error: &Error, cx: Context<Self>) -> Action {
        todo!()
    }
    /// Not marked, not touched.
    #[must_use]
    fn token(&self) -> String {
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
    const GONE: ::mcrt::__private::bool = true;
    fn gone(
        &self,
        object: ::mcrt::__private::Arc<Self::Object>,
        cx: ::mcrt::Context<Self>,
    ) -> impl ::mcrt::__private::Future<
        Output = ::mcrt::Result<()>,
    > + ::mcrt::__private::Send {
        async move {
            <std::io::Result<
                (),
            > as ::mcrt::__private::GoneOutcome>::outcome(
                ::mcrt::__private::send(<TeamTokens>::forget(self, object, cx)).await,
            )
        }
    }
    const ERROR_POLICY: ::mcrt::__private::bool = true;
    fn error_policy(
        &self,
        object: ::mcrt::__private::Arc<Self::Object>,
        error: &::mcrt::Error,
        cx: ::mcrt::Context<Self>,
    ) -> ::mcrt::Action {
        <Action as ::mcrt::__private::Into<
            ::mcrt::Action,
        >>::into(<TeamTokens>::later(self, object, error, cx))
    }
}
const _: fn() = || {
    fn controller<
        C: ::mcrt::MulticlusterController,
        K: ::mcrt::__private::SameKind<C::For>,
    >() {}
    controller::<TeamTokens, ConfigMap>();
};
