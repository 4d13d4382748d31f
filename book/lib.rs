//! Compiles the snippets of the book, and that of the README, as doc tests.

/// A module for each page: the name of a failing snippet then says where it stands.
macro_rules! pages {
    ($($name:ident: $page:literal)*) => { $(
        #[cfg(doctest)]
        #[doc = include_str!($page)]
        pub mod $name {}
    )* };
}

pages! {
    readme: "../README.md"
    introduction: "src/introduction.md"
    tutorial: "src/tutorial.md"
    reference: "src/reference.md"
    builder: "src/builder.md"
    providers: "src/providers.md"
    provider_kind: "src/provider-kind.md"
    provider_command: "src/provider-command.md"
    provider_kubeconfig: "src/provider-kubeconfig.md"
    provider_namespace: "src/provider-namespace.md"
    provider_cluster_api: "src/provider-cluster-api.md"
    provider_vcluster: "src/provider-vcluster.md"
    write_a_provider: "src/write-a-provider.md"
    provider_cluster_profile: "src/provider-cluster-profile.md"
    inventories: "src/inventories.md"
    provider_kcp: "src/provider-kcp.md"
    provider_conformance: "src/provider-conformance.md"
    credentials: "src/credentials.md"
    trusting_kubeconfigs: "src/trusting-kubeconfigs.md"
    selecting_clusters: "src/selecting-clusters.md"
    when_a_cluster_is_down: "src/when-a-cluster-is-down.md"
    asymmetric_fleets: "src/asymmetric-fleets.md"
    replicas: "src/replicas.md"
    metrics: "src/metrics.md"
    testing: "src/testing.md"
    simulator: "src/simulator.md"
    connections: "src/connections.md"
    architecture: "src/architecture.md"
    wire_format: "src/wire-format.md"
    benchmarks: "src/benchmarks.md"
    decisions: "src/decisions.md"
}
