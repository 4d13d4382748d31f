//! The status of a definition: whether its names are free and its kind is served.

use serde_json::{Value, json};

use crate::state::object::{field_mut, now, object_mut};
use crate::state::registry::Registry;

/// Writes the status that the server's own controllers give a definition.
pub(crate) fn settle(registry: &Registry, crd: &mut Value) {
    let conflict = conflict(registry, crd);
    let before = crd["status"].clone();
    let names = crd["spec"]["names"].clone();
    let taken = conflict
        .as_ref()
        .map(|(reason, message)| (*reason, message.as_str()));
    let established = before["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|one| one["type"] == "Established" && one["status"] == "True");
    let (accepted, reason, message) = match taken {
        None => ("True", "NoConflicts", "no conflicts found"),
        Some((reason, message)) => ("False", reason, message),
    };
    let serving = taken.is_none() || established;
    let (served, why, text) = if serving {
        (
            "True",
            "InitialNamesAccepted",
            "the initial names have been accepted",
        )
    } else {
        ("False", "NotAccepted", "not all names are accepted")
    };
    let conditions = [
        condition(&before, "NamesAccepted", accepted, reason, message),
        condition(&before, "Established", served, why, text),
    ];
    let mut kept: Vec<_> = before["conditions"].as_array().cloned().unwrap_or_default();
    kept.retain(|one| !matches!(one["type"].as_str(), Some("NamesAccepted" | "Established")));
    let names = match taken {
        None => names,
        Some(_) if !before["acceptedNames"].is_null() => before["acceptedNames"].clone(),
        Some(_) => json!({"plural": names["plural"], "kind": ""}),
    };
    let mut stored = before["storedVersions"].as_array().cloned().unwrap_or_default();
    let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
    for version in versions.filter(|version| version["storage"] == true) {
        if !stored.contains(&version["name"]) {
            stored.push(version["name"].clone());
        }
    }
    let status = object_mut(field_mut(crd, "status"));
    status.insert("acceptedNames".into(), names);
    status.insert("storedVersions".into(), stored.into());
    status.insert("conditions".into(), conditions.into_iter().chain(kept).collect());
}

fn condition(before: &Value, kind: &str, status: &str, reason: &str, message: &str) -> Value {
    let mut known = before["conditions"].as_array().into_iter().flatten();
    let same = known.find(|one| one["type"] == kind && one["status"] == status);
    let time = same.map_or_else(|| now().into(), |one| one["lastTransitionTime"].clone());
    json!({"type": kind, "status": status, "lastTransitionTime": time, "reason": reason, "message": message})
}

/// The name that another kind of the group has already.
fn conflict(registry: &Registry, crd: &Value) -> Option<(&'static str, String)> {
    let spec = &crd["spec"];
    let names = &spec["names"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let others: Vec<_> = registry
        .iter()
        .filter(|kind| spec["group"] == *kind.group && names["plural"] != *kind.plural)
        .collect();
    let resource_taken = |name: &str| {
        others.iter().any(|kind| {
            kind.plural == name || kind.singular == name || kind.short_names.iter().any(|short| short == name)
        })
    };
    let mut found = None;
    let mut take = |reason: &'static str, name: String, taken: bool| {
        if taken {
            found = Some((reason, format!("\"{name}\" is already in use")));
        }
    };
    // The last one that is found is the one that is told.
    for name in names["shortNames"].as_array().into_iter().flatten().map(text) {
        let taken = resource_taken(&name);
        take("ShortNamesConflict", name, taken);
    }
    let singular = text(&names["singular"]);
    let taken = resource_taken(&singular);
    take("SingularConflict", singular, taken);
    let kind = text(&names["kind"]);
    let taken = others.iter().any(|other| other.kind == kind);
    take("KindConflict", kind, taken);
    let list = text(&names["listKind"]);
    let taken = others.iter().any(|other| format!("{}List", other.kind) == list);
    take("ListKindConflict", list, taken);
    found
}
