//! Clusters that a controller works in.

#[multicluster_controller(
    for = ConfigMap,
    clusters(
        labels = "env=prod,tier in (gold, silver)",
        names("eu-*", "prod"),
        properties("region=eu", "example.com/zone=a=b"),
        except("eu-test", labels = "canary", "*-old"),
    ),
)]
struct TeamTokens;
