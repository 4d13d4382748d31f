//! What kinds are called beside their plural: singulars, short names, categories.

use serde_json::Value;

use crate::state::kinds::Kind;

/// The names of a kind that `kubectl` knows it by.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Names {
    pub(crate) singular: String,
    pub(crate) short: Vec<String>,
    pub(crate) categories: Vec<String>,
}

impl Names {
    /// The names of a kind, with its definition if it was defined through the API.
    pub(crate) fn of(kind: &Kind, definition: Option<&Value>) -> Self {
        if let Some(definition) = definition {
            return Self::defined(kind, &definition["spec"]["names"]);
        }
        let known = BUILTIN.iter().find(|(id, ..)| **id == *kind.id);
        let list = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        Self {
            // The one kind whose singular is not its lower-case name.
            singular: match &*kind.id {
                "endpoints" => "endpoints".to_owned(),
                _ => kind.singular(),
            },
            short: known.map(|(_, short, _)| list(short)).unwrap_or_default(),
            categories: known.map(|(.., categories)| list(categories)).unwrap_or_default(),
        }
    }

    fn defined(kind: &Kind, names: &Value) -> Self {
        let list = |field: &str| {
            let names = names[field].as_array().into_iter().flatten();
            names.filter_map(|name| Some(name.as_str()?.to_owned())).collect()
        };
        let singular = names["singular"].as_str().filter(|name| !name.is_empty());
        Self {
            singular: singular.map_or_else(|| kind.singular(), str::to_owned),
            short: list("shortNames"),
            categories: list("categories"),
        }
    }
}

/// Kind, short names, categories.
#[rustfmt::skip]
const BUILTIN: &[(&str, &str, &str)] = &[
    ("configmaps", "cm", ""),
    ("endpoints", "ep", ""),
    ("events", "ev", ""),
    ("limitranges", "limits", ""),
    ("namespaces", "ns", ""),
    ("nodes", "no", ""),
    ("persistentvolumes", "pv", ""),
    ("persistentvolumeclaims", "pvc", ""),
    ("pods", "po", "all"),
    ("resourcequotas", "quota", ""),
    ("services", "svc", "all"),
    ("serviceaccounts", "sa", ""),
    ("customresourcedefinitions.apiextensions.k8s.io", "crd crds", "api-extensions"),
    ("daemonsets.apps", "ds", "all"),
    ("deployments.apps", "deploy", "all"),
    ("replicasets.apps", "rs", "all"),
    ("statefulsets.apps", "sts", "all"),
    ("horizontalpodautoscalers.autoscaling", "hpa", "all"),
    ("cronjobs.batch", "cj", "all"),
    ("jobs.batch", "", "all"),
    ("events.events.k8s.io", "ev", ""),
    ("ingresses.networking.k8s.io", "ing", ""),
    ("networkpolicies.networking.k8s.io", "netpol", ""),
    ("poddisruptionbudgets.policy", "pdb", ""),
    ("storageclasses.storage.k8s.io", "sc", ""),
];
