//! Providers, by the conformance kit.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the helpers of tests fail as tests do"
)]

mod cluster_profile;
mod described;

mod served {
    //! On simulated servers behind TLS.
    mod cluster_profile {
        use mcrt::testing::conformance::Site;
        mcrt::conformance!(crate::cluster_profile::Profiles, Site::served().await);
    }
}
