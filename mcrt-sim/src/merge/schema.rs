//! How lists merge: which are sets, which are maps by key, which are replaced as a whole.

use crate::merge::fields::Elem;

/// How a list merges under apply and strategic merge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ListType {
    Atomic,
    Set,
    /// Items are told apart by these fields; the first alone is the strategic merge key.
    Map(&'static [&'static str]),
}

/// The type of the list at a path. Custom resources declare theirs in a schema that is not read here, so
/// all of theirs but those in the metadata are atomic, as they are without a declaration.
pub(crate) fn list_type(builtin: bool, path: &[Elem]) -> ListType {
    let mut fields = path.iter().rev().filter_map(|elem| match elem {
        Elem::Field(name) => Some(name.as_str()),
        _ => None,
    });
    let (name, parent) = (
        fields.next().unwrap_or_default(),
        fields.next().unwrap_or_default(),
    );
    match (parent, name) {
        ("metadata", "finalizers") => return ListType::Set,
        ("metadata", "ownerReferences") => return ListType::Map(&["uid"]),
        _ if !builtin => return ListType::Atomic,
        _ => {}
    }
    match name {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "env"
        | "imagePullSecrets"
        | "secrets"
        | "resourceClaims" => ListType::Map(&["name"]),
        "conditions" | "addresses" => ListType::Map(&["type"]),
        "volumeMounts" => ListType::Map(&["mountPath"]),
        "volumeDevices" => ListType::Map(&["devicePath"]),
        "hostAliases" | "podIPs" | "hostIPs" => ListType::Map(&["ip"]),
        "topologySpreadConstraints" => ListType::Map(&["topologyKey", "whenUnsatisfiable"]),
        "ports" if parent.ends_with("ontainers") => ListType::Map(&["containerPort", "protocol"]),
        "ports" if parent == "spec" => ListType::Map(&["port", "protocol"]),
        _ => ListType::Atomic,
    }
}

/// Whether a map is owned and replaced as a whole: selectors and references inside built-in kinds.
pub(crate) fn is_atomic_map(builtin: bool, path: &[Elem]) -> bool {
    let Some(Elem::Field(name)) = path.last() else {
        return false;
    };
    let selector = name == "selector" || name.ends_with("Selector");
    let reference = matches!(
        name.as_str(),
        "fieldRef" | "secretKeyRef" | "configMapKeyRef" | "resourceFieldRef"
    );
    builtin && (selector || reference || matches!(name.as_str(), "roleRef" | "involvedObject" | "targetRef"))
}
