//! Arguments with mistakes: the struct, the errors, a stand-in.

pub(crate) struct TeamTokens;
::core::compile_error! {
    "expected `fleet`, `host` or `all`"
}
::core::compile_error! {
    "`concurrency` is at least 1; leave it out for 256"
}
///Names an object that [`TeamTokens`] reconciles, and its cluster.
#[allow(dead_code)]
pub(crate) type TeamTokensRequest = ::mcrt::Request<ConfigMap>;
const _: fn() = || {
    {
        #[allow(dead_code)]
        type Mentioned = ConfigMap;
    }
    {
        #[allow(dead_code)]
        type Mentioned = Secret;
    }
};
impl ::mcrt::MulticlusterController for TeamTokens {
    type For = ::mcrt::__private::Unresolved;
    const NAME: &'static ::mcrt::__private::str = "";
    const FEATURES: &'static [&'static ::mcrt::__private::str] = &[];
    fn wire(_: &mut ::mcrt::ControllerBuilder<Self>) {}
}
impl ::mcrt::__private::BrokenController for TeamTokens {}
impl ::mcrt::__private::HandWired for TeamTokens {}
