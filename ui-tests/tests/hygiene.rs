//! Generated code survives a module without a prelude, in which every name it might use means something else.
#![no_implicit_prelude]
#![allow(non_camel_case_types, dead_code)]

/// Names that generated code would find here if it did not spell out where its own come from.
mod shadows {
    pub(crate) type bool = ();
    pub(crate) type str = ();
    pub(crate) type u16 = ();
    pub(crate) type u32 = ();
    pub(crate) type u64 = ();
    pub(crate) type f64 = ();
    pub(crate) struct Option;
    pub(crate) struct Result;
    pub(crate) struct Vec;
    pub(crate) struct Default;
    pub(crate) struct Future;
    pub(crate) struct Send;
    pub(crate) struct Some;
    pub(crate) mod std {}
    pub(crate) mod core {}
    pub(crate) mod mcrt {}
}

mod controller {
    #[allow(unused_imports)] // Nothing may use them.
    use super::shadows::*;
    use ::k8s_openapi::api::core::v1 as r#type;

    #[::mcrt::multicluster_controller(
        for(r#type::ConfigMap, labels = "app", fields = "metadata.name=web", namespaces("a", "b"), predicate = generation),
        owns = r#type::Secret,
        watches(r#type::Service, on = host, metadata_only),
        uses(r#type::Node, on = all, verbs(get)),
        provider = ::mcrt::providers::None,
        concurrency = 4,
        per_cluster = 2,
        resync = "1h",
        timeout = "1m",
        field_manager = "hygiene",
        error_policy(initial = "1s", max = "1m", factor = 1.5, jitter = false, retries = 3),
    )]
    pub(crate) struct r#Loop;

    #[::mcrt::reconciler]
    impl r#Loop {
        #[reconcile]
        async fn r#loop(
            &self,
            _: ::std::sync::Arc<r#type::ConfigMap>,
            _: ::mcrt::Context<Self>,
        ) -> ::mcrt::Result<::mcrt::Action> {
            ::std::result::Result::Ok(::mcrt::Action::await_change())
        }

        #[gone]
        async fn r#move(
            &self,
            _: ::std::sync::Arc<r#type::ConfigMap>,
            _: ::mcrt::Context<Self>,
        ) -> ::mcrt::Result<()> {
            ::std::result::Result::Ok(())
        }

        #[index]
        pub(crate) fn r#type(_: &r#type::ConfigMap) -> ::std::option::Option<::std::string::String> {
            ::std::option::Option::None
        }

        #[map]
        fn r#match(
            &self,
            _: &::mcrt::kube::core::PartialObjectMeta<r#type::Service>,
            _: ::mcrt::MapContext<Self>,
        ) -> ::std::vec::Vec<::mcrt::Request<r#type::ConfigMap>> {
            ::std::vec::Vec::new()
        }
    }
}

#[test]
fn raw_names_and_shadowed_ones_do_no_harm() {
    let _: ::mcrt::Index<controller::Loop, ::k8s_openapi::api::core::v1::ConfigMap, ::std::string::String> =
        controller::Loop::TYPE;
    let _: ::std::option::Option<controller::LoopRequest> = ::std::option::Option::None;
    ::std::assert_eq!(<controller::Loop as ::mcrt::MulticlusterController>::NAME, "loop");
}
