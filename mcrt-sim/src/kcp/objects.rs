//! The objects of kcp's own kinds, as it writes them.

use serde_json::{Value, json};

use crate::state::kind::ServedKind;
use crate::state::object::now;

pub(crate) const BINDINGS: &str = "apibindings.apis.kcp.io";
pub(crate) const LOGICAL_CLUSTERS: &str = "logicalclusters.core.kcp.io";
pub(crate) const APIS: &str = "apis.kcp.io/v1alpha1";
/// The version in which bindings and exports are stored.
pub(crate) const APIS_STORED: &str = "apis.kcp.io/v1alpha2";
pub(crate) const CORE: &str = "core.kcp.io/v1alpha1";
pub(crate) const TENANCY: &str = "tenancy.kcp.io/v1alpha1";
/// The annotation that names the path of a workspace.
const PATH: &str = "kcp.io/path";

/// The kinds that every workspace serves beside the built-in ones.
pub(crate) fn kinds() -> Vec<ServedKind> {
    let kind = |group: &str, version: &str, kind: &str, plural: &str| ServedKind {
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        plural: plural.into(),
        namespaced: false,
        status_subresource: true,
    };
    vec![
        kind("apis.kcp.io", "v1alpha1", "APIBinding", "apibindings"),
        kind("apis.kcp.io", "v1alpha2", "APIBinding", "apibindings"),
        kind("apis.kcp.io", "v1alpha1", "APIExport", "apiexports"),
        kind("apis.kcp.io", "v1alpha2", "APIExport", "apiexports"),
        kind(
            "apis.kcp.io",
            "v1alpha1",
            "APIExportEndpointSlice",
            "apiexportendpointslices",
        ),
        kind("core.kcp.io", "v1alpha1", "LogicalCluster", "logicalclusters"),
        kind("tenancy.kcp.io", "v1alpha1", "WorkspaceType", "workspacetypes"),
    ]
}

/// A condition as kcp writes it: without reason and message where all is well.
pub(crate) fn condition(kind: &str, status: bool) -> Value {
    let status = if status { "True" } else { "False" };
    json!({"type": kind, "status": status, "lastTransitionTime": now()})
}

pub(crate) fn export(name: &str, path: &str) -> Value {
    json!({
        "apiVersion": APIS_STORED, "kind": "APIExport",
        "metadata": {"name": name, "annotations": {PATH: path}},
        "spec": {},
    })
}

pub(crate) fn slice(name: &str, path: &str) -> Value {
    json!({
        "apiVersion": APIS, "kind": "APIExportEndpointSlice",
        "metadata": {"name": name},
        "spec": {"export": {"name": name, "path": path}},
    })
}

pub(crate) fn slice_status(urls: &[String]) -> Value {
    let endpoints: Vec<_> = urls.iter().map(|url| json!({"url": url})).collect();
    let conditions = [
        condition("APIExportValid", true),
        condition("PartitionValid", true),
    ];
    json!({"conditions": conditions, "endpoints": endpoints})
}

pub(crate) fn workspace_type(name: &str) -> Value {
    json!({
        "apiVersion": TENANCY, "kind": "WorkspaceType",
        "metadata": {"name": name},
        "spec": {"initializer": true},
    })
}

pub(crate) fn workspace_type_status(urls: &[String]) -> Value {
    let urls: Vec<_> = urls
        .iter()
        .map(|url| json!({"url": url, "type": "initializing"}))
        .collect();
    json!({"virtualWorkspaces": urls})
}

pub(crate) fn binding(name: &str, export: &str, path: &str) -> Value {
    json!({
        "apiVersion": APIS_STORED, "kind": "APIBinding",
        "metadata": {"name": name},
        "spec": {"reference": {"export": {"name": export, "path": path}}},
    })
}

pub(crate) fn binding_status(export_cluster: &str, ready: bool) -> Value {
    let phase = if ready { "Bound" } else { "Binding" };
    let conditions = [
        condition("APIExportValid", true),
        condition("InitialBindingCompleted", ready),
        condition("Ready", ready),
    ];
    json!({"apiExportClusterName": export_cluster, "phase": phase, "conditions": conditions})
}

pub(crate) fn logical_cluster(path: &str) -> Value {
    json!({
        "apiVersion": CORE, "kind": "LogicalCluster",
        "metadata": {"name": "cluster", "annotations": {PATH: path}},
        "spec": {"directlyDeletable": true},
    })
}

pub(crate) fn logical_cluster_status(url: &str, initializers: &[&str]) -> Value {
    let phase = if initializers.is_empty() {
        "Ready"
    } else {
        "Initializing"
    };
    json!({"URL": url, "phase": phase, "initializers": initializers})
}

/// Whether a binding binds this export.
pub(crate) fn binds(binding: &Value, export: &str, cluster: &str, path: &str) -> bool {
    let reference = &binding["spec"]["reference"]["export"];
    let of = reference["path"].as_str().unwrap_or_default();
    reference["name"] == export && (of == cluster || of == path)
}

/// Whether a logical cluster waits for this initializer.
pub(crate) fn waits_for(logical_cluster: &Value, initializer: &str) -> bool {
    let status = &logical_cluster["status"];
    let initializers = status["initializers"].as_array();
    status["phase"] == "Initializing"
        && initializers.is_some_and(|all| all.iter().any(|one| one == initializer))
}
