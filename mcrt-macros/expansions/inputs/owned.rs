//! An owned kind follows the place of `for` and is kept as metadata, unless `full` is said.

#[multicluster_controller(for(ConfigMap, on = host), owns = Secret, owns(Service, full, predicate = generation))]
struct TeamTokens;
