//! Every setting of the runtime.

#[multicluster_controller(
    for = ConfigMap,
    name = "tokens",
    concurrency = 16,
    per_cluster = 4,
    resync = "10m",
    timeout = "1500ms",
    field_manager = "mcrt.dev/tokens",
    error_policy(initial = "1s", max = "1h", factor = 2, jitter = false, retries = 5),
)]
struct TeamTokens;
