//! A used kind is declared and not watched; it may widen what a watch declares.

#[multicluster_controller(for = ConfigMap, uses(Secret, on = all, verbs(get, create)), uses = Namespace, uses(ConfigMap, verbs(delete)))]
struct TeamTokens;
