//! What kcp writes is read, whatever is missing.
use super::*;
use kube::Resource;
use serde_json::json;

#[test]
fn conditions_need_neither_reason_nor_message() {
    let binding: APIBinding = serde_json::from_value(json!({
        "apiVersion": "apis.kcp.io/v1alpha2", "kind": "APIBinding", "metadata": {"name": "a"},
        "spec": {"reference": {"export": {"name": "e", "path": "root:x"}}, "permissionClaims": null},
        "status": {
            "phase": "Bound", "apiExportClusterName": "abc", "boundResources": null, "unknown": 1,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        },
    }))
    .unwrap();
    assert!(binding.is_ready());
    let bare: APIBinding =
        serde_json::from_value(json!({"metadata": null, "spec": null, "status": {}})).unwrap();
    assert!(!bare.is_ready());
}

#[test]
fn a_logical_cluster_waits_while_its_phase_and_its_initializers_say_so() {
    let read = |status: serde_json::Value| -> LogicalCluster {
        serde_json::from_value(json!({"metadata": {"name": "cluster"}, "status": status})).unwrap()
    };
    let status = json!({"URL": "https://x", "phase": "Initializing", "initializers": ["root:a", "root:b"]});
    let waiting = read(status.clone());
    assert!(waiting.waits_for(&["root:b"]) && !waiting.waits_for(&["root:c"]));
    assert_eq!(serde_json::to_value(waiting.status).unwrap(), status);
    assert!(!read(json!({"phase": "Ready", "initializers": ["root:a"]})).waits_for(&["root:a"]));
    assert!(!read(json!({"phase": "Initializing", "initializers": null})).waits_for(&["root:a"]));
}

#[test]
fn a_slice_is_read_with_nulls_and_without_a_status() {
    let read = |value| serde_json::from_value::<APIExportEndpointSlice>(value).unwrap();
    assert_eq!(read(json!({"metadata": {"name": "a"}})).status, None);
    let slice = read(json!({"status": {"endpoints": [{"url": "https://a"}, {}], "conditions": null}}));
    let urls: Vec<_> = slice
        .status
        .unwrap()
        .endpoints
        .into_iter()
        .map(|one| one.url)
        .collect();
    assert_eq!(urls, ["https://a", ""]);
}

#[test]
fn addresses_of_types_before_and_after_they_had_a_purpose_are_told_apart() {
    let read = |value| {
        serde_json::from_value::<VirtualWorkspace>(value)
            .unwrap()
            .is_initializing()
    };
    assert!(read(
        json!({"url": "https://a/services/initializingworkspaces/root:x"})
    ));
    assert!(!read(
        json!({"url": "https://a/services/terminatingworkspaces/root:x"})
    ));
    assert!(read(json!({"url": "https://a", "type": "initializing"})));
    assert!(!read(
        json!({"url": "https://a/initializingworkspaces/", "type": "terminating"})
    ));
}

#[test]
fn the_definitions_are_of_cluster_scope_and_serve_what_is_read() {
    for (crd, versions) in [
        (
            APIExportEndpointSlice::crd(),
            vec![APIExportEndpointSlice::version(&()).into_owned()],
        ),
        (
            APIBinding::crd(),
            vec![
                APIBinding::version(&()).into_owned(),
                v1alpha1::APIBinding::version(&()).into_owned(),
            ],
        ),
        (
            LogicalCluster::crd(),
            vec![LogicalCluster::version(&()).into_owned()],
        ),
    ] {
        assert_eq!(crd.spec.scope, "Cluster");
        let served: Vec<_> = crd
            .spec
            .versions
            .iter()
            .map(|version| version.name.clone())
            .collect();
        assert_eq!(served, versions);
        assert!(crd.spec.versions[0].storage);
        assert_eq!(
            crd.metadata.name,
            Some(format!("{}.{}", crd.spec.names.plural, crd.spec.group))
        );
        let simulated = mcrt_sim::Server::new("kcp");
        simulated.create(serde_json::to_value(&crd).unwrap()).unwrap();
        assert!(
            simulated
                .kinds()
                .iter()
                .any(|kind| kind.kind == crd.spec.names.kind)
        );
    }
}
