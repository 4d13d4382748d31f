//! Each index is a constant with the visibility of its function.

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
    pub(crate) fn by_team(config: &ConfigMap) -> Option<String> {
        todo!()
    }
    #[allow(clippy::needless_pass_by_value, clippy::unused_async, clippy::unused_self)]
    fn r#type(secret: &Secret) -> Vec<Self::Kind> {
        todo!()
    }
    #[allow(clippy::needless_pass_by_value, clippy::unused_async, clippy::unused_self)]
    fn by_owner(secret: &Secret) -> Owners {
        todo!()
    }
}
impl TeamTokens {
    ///The index that [`by_team`](Self::by_team) computes.
    #[allow(dead_code)]
    pub(crate) const BY_TEAM: ::mcrt::Index<Self, ConfigMap, String> = ::mcrt::Index::declared(
        0u16,
    );
    ///The index that [`r#type`](Self::r#type) computes.
    #[allow(dead_code)]
    const TYPE: ::mcrt::Index<Self, Secret, Self::Kind> = ::mcrt::Index::declared(1u16);
    ///The index that [`by_owner`](Self::by_owner) computes.
    #[allow(dead_code)]
    const BY_OWNER: ::mcrt::Index<
        Self,
        Secret,
        <Owners as ::mcrt::__private::IndexKeys>::Key,
    > = ::mcrt::Index::declared(2u16);
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
    fn indexes(wiring: &mut ::mcrt::ControllerBuilder<Self>) {
        wiring.index::<ConfigMap, Option<String>>("by_team", <TeamTokens>::by_team);
        wiring.index::<Secret, Vec<Self::Kind>>("type", <TeamTokens>::r#type);
        wiring.index::<Secret, Owners>("by_owner", <TeamTokens>::by_owner);
    }
}
const _: fn() = || {
    fn controller<
        C: ::mcrt::MulticlusterController,
        K: ::mcrt::__private::SameKind<C::For>,
    >() {}
    controller::<TeamTokens, ConfigMap>();
};
const _: fn() = || {
    fn indexable<K: ::mcrt::__private::IndexableBy<TeamTokens>>() {}
    indexable::<ConfigMap>();
};
const _: fn() = || {
    fn indexable<K: ::mcrt::__private::IndexableBy<TeamTokens>>() {}
    indexable::<Secret>();
};
const _: fn() = || {
    fn indexable<K: ::mcrt::__private::IndexableBy<TeamTokens>>() {}
    indexable::<Secret>();
};
