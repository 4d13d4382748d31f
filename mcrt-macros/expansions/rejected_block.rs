//! A block with a mistake: the block, the error, a stand-in that keeps the index.

impl TeamTokens {
    #[allow(clippy::needless_pass_by_value, clippy::unused_async, clippy::unused_self)]
    fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> Result<Action> {
        todo!()
    }
    #[allow(clippy::needless_pass_by_value, clippy::unused_async, clippy::unused_self)]
    pub fn by_team(config: &ConfigMap) -> Option<String> {
        todo!()
    }
}
::core::compile_error! {
    "`#[reconcile]` goes on an `async fn`"
}
impl TeamTokens {
    ///The index that [`by_team`](Self::by_team) computes.
    #[allow(dead_code)]
    pub const BY_TEAM: ::mcrt::Index<Self, ConfigMap, String> = ::mcrt::Index::declared(
        0u16,
    );
}
impl ::mcrt::Reconciler for TeamTokens {
    type Object = <Self as ::mcrt::MulticlusterController>::For;
    fn reconcile(
        &self,
        _: ::mcrt::__private::Arc<Self::Object>,
        _: ::mcrt::Context<Self>,
    ) -> impl ::mcrt::__private::Future<
        Output = ::mcrt::Result<::mcrt::Action>,
    > + ::mcrt::__private::Send {
        async { ::core::unreachable!() }
    }
}
impl ::mcrt::__private::BrokenHandlers for TeamTokens {}
