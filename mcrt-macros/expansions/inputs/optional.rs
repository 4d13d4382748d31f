//! A kind that a cluster may lack does not keep the controller from working there.

#[multicluster_controller(for = ConfigMap, owns(Secret, optional), owns(Service, full, optional, predicate = generation))]
struct TeamTokens;
