//! Selectors, namespaces and predicates of a kind.

#[multicluster_controller(
    for(
        ConfigMap,
        labels = "app in (web, api),!canary",
        fields = "metadata.name!=kube-root-ca.crt",
        namespaces("team-a", "team-b"),
        predicate = generation_or_finalizers,
    ),
    owns(Secret, predicate = self::secrets::rotated),
)]
struct TeamTokens;
