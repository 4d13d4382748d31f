//! Type parameters are not available yet: both stand-ins are generic.

struct TeamTokens<T: Sign>
where
    T: Clone,
{
    signer: T,
}
::core::compile_error! {
    "a controller with type parameters is not available yet: give it concrete fields, or one of `Arc<dyn Trait>`"
}
///Names an object that [`TeamTokens`] reconciles, and its cluster.
#[allow(dead_code)]
type TeamTokensRequest = ::mcrt::Request<ConfigMap>;
const _: fn() = || {
    {
        #[allow(dead_code)]
        type Mentioned = ConfigMap;
    }
};
impl<T: Sign> ::mcrt::MulticlusterController for TeamTokens<T>
where
    Self: ::mcrt::Reconciler,
    T: Clone,
{
    type For = ::mcrt::__private::Unresolved;
    const NAME: &'static ::mcrt::__private::str = "";
    const FEATURES: &'static [&'static ::mcrt::__private::str] = &[];
    fn wire(_: &mut ::mcrt::ControllerBuilder<Self>) {}
}
impl<T: Sign> ::mcrt::__private::BrokenController for TeamTokens<T>
where
    T: Clone,
{}
impl<T: Sign> ::mcrt::__private::HandWired for TeamTokens<T>
where
    T: Clone,
{}
impl<T: Sign> TeamTokens<T>
where
    T: Clone,
{
    #[allow(clippy::needless_pass_by_value, clippy::unused_async, clippy::unused_self)]
    async fn reconcile(
        &self,
        config: Arc<ConfigMap>,
        cx: Context<Self>,
    ) -> Result<Action> {
        todo!()
    }
}
impl<T: Sign> ::mcrt::Reconciler for TeamTokens<T>
where
    Self: ::mcrt::__private::BrokenController + ::mcrt::__private::Send
        + ::mcrt::__private::Sync + 'static,
    T: Clone,
{
    type Object = ::mcrt::__private::Unresolved;
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
impl<T: Sign> ::mcrt::__private::BrokenHandlers for TeamTokens<T>
where
    T: Clone,
{}
