//! Arguments with mistakes: the struct, the errors, a stand-in.

#[multicluster_controller(for(ConfigMap, on = hub), owns = Secret, concurrency = 0)]
pub(crate) struct TeamTokens;
