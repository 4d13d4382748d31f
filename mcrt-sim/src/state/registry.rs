//! Which kinds a server serves: the built-in ones, those registered by hand, and those of CRDs.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use crate::crd::Compiled;
use crate::schema::builtin;
use crate::state::kind::{Kind, Schema, ServedKind, Version, id};

/// The kinds of one server: shared with all others until it is changed.
#[derive(Clone, Debug)]
pub(crate) struct Registry(Arc<BTreeMap<Arc<str>, Arc<Kind>>>);

impl Registry {
    pub(crate) fn builtin() -> Self {
        static BUILTIN: LazyLock<Registry> =
            LazyLock::new(|| {
                let kinds =
                    builtin::rows().iter().filter(|row| is_served(row)).map(|row| {
                        let status = row.subresources.contains(&"status");
                        let schema = Schema::Builtin(row.ty);
                        let mut kind = Kind::new(row.group, row.kind, row.plural, row.namespaced)
                            .with_version(row.version, status, schema, Vec::new());
                        kind.builtin = true;
                        kind.generation = GENERATION.contains(&row.plural);
                        row.singular.clone_into(&mut kind.singular);
                        kind.short_names = row.short_names.iter().map(ToString::to_string).collect();
                        kind.categories = row.categories.iter().map(ToString::to_string).collect();
                        (Arc::clone(&kind.id), Arc::new(kind))
                    });
                Registry(Arc::new(kinds.collect()))
            });
        BUILTIN.clone()
    }

    pub(crate) fn by_plural(&self, group: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.0.get(id(group, plural).as_str())
    }

    pub(crate) fn by_id(&self, id: &str) -> Option<&Arc<Kind>> {
        self.0.get(id)
    }

    /// The kind and its version for the type an object names.
    pub(crate) fn by_type(&self, api_version: &str, kind: &str) -> Option<(&Arc<Kind>, &Arc<Version>)> {
        self.0
            .values()
            .filter(|known| known.kind == kind)
            .find_map(|known| {
                let version = known
                    .versions
                    .iter()
                    .find(|version| version.api_version == api_version)?;
                Some((known, version))
            })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.0.values()
    }

    /// Whether the group's version is one of the built-in ones, which answer for unknown resources themselves.
    pub(crate) fn has_builtin(&self, group: &str, version: &str) -> bool {
        self.0
            .values()
            .any(|kind| kind.builtin && kind.group == group && kind.version(version).is_some())
    }

    /// Adds a version to a kind, or the kind itself.
    pub(crate) fn serve(&mut self, served: &ServedKind) {
        let known = self
            .by_plural(&served.group, &served.plural)
            .filter(|known| known.kind == served.kind);
        let mut kind = known.map_or_else(
            || Kind::new(&served.group, &served.kind, &served.plural, served.namespaced),
            |known| (**known).clone(),
        );
        kind.namespaced = served.namespaced;
        self.put(kind.with_version(
            &served.version,
            served.status_subresource,
            Schema::Custom(Compiled::anything()),
            Vec::new(),
        ));
    }

    /// Serves what a `CustomResourceDefinition` describes; a later description replaces an earlier one.
    pub(crate) fn serve_crd(&mut self, crd: &Value) -> Option<Arc<Kind>> {
        if !is_established(crd) {
            return None;
        }
        let spec = &crd["spec"];
        let names = &spec["names"];
        let namespaced = spec["scope"] != "Cluster";
        let mut kind = Kind::new(
            spec["group"].as_str()?,
            names["kind"].as_str()?,
            names["plural"].as_str()?,
            namespaced,
        );
        if let Some(singular) = names["singular"].as_str().filter(|name| !name.is_empty()) {
            singular.clone_into(&mut kind.singular);
        }
        kind.short_names = texts(&names["shortNames"]);
        kind.categories = texts(&names["categories"]);
        for version in spec["versions"].as_array()? {
            if version["served"] == true {
                let status = version["subresources"]["status"].is_object();
                let schema = Schema::Custom(Compiled::of(version));
                let selectable = selectable_fields(version);
                kind = kind.with_version(version["name"].as_str()?, status, schema, selectable);
            }
        }
        // A real server keeps the built-in groups to itself.
        let builtin = self.by_id(&kind.id).is_some_and(|known| known.builtin);
        (!builtin).then(|| self.put(kind))
    }

    /// Serves a kind of another server, unless it is known.
    pub(crate) fn adopt(&mut self, kind: &Kind) {
        if self.by_id(&kind.id).is_none() {
            self.put(kind.clone());
        }
    }

    pub(crate) fn unserve(&mut self, id: &str) {
        if self.0.contains_key(id) {
            Arc::make_mut(&mut self.0).remove(id);
        }
    }

    fn put(&mut self, kind: Kind) -> Arc<Kind> {
        let kind = Arc::new(kind);
        Arc::make_mut(&mut self.0).insert(Arc::clone(&kind.id), Arc::clone(&kind));
        kind
    }
}

/// Whether a definition's kind is to be served.
fn is_established(crd: &Value) -> bool {
    let mut conditions = crd["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|one| one["type"] == "Established" && one["status"] == "True")
}

fn texts(list: &Value) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten();
    texts.filter_map(|text| Some(text.as_str()?.to_owned())).collect()
}

fn selectable_fields(version: &Value) -> Vec<String> {
    let fields = version["selectableFields"].as_array().into_iter().flatten();
    let paths = fields.filter_map(|field| field["jsonPath"].as_str());
    paths.map(str::to_owned).collect()
}

/// Another version of a built-in kind would need a conversion.
fn is_served(row: &builtin::Row) -> bool {
    (row.group, row.version) != ("autoscaling", "v1")
}

/// The built-in kinds whose `metadata.generation` counts changes, as their strategies in Kubernetes say.
const GENERATION: [&str; 28] = [
    "cronjobs",
    "customresourcedefinitions",
    "daemonsets",
    "deployments",
    "deviceclasses",
    "devicetaintrules",
    "endpointslices",
    "flowschemas",
    "horizontalpodautoscalers",
    "ingressclasses",
    "ingresses",
    "jobs",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "mutatingwebhookconfigurations",
    "networkpolicies",
    "poddisruptionbudgets",
    "pods",
    "podtemplates",
    "priorityclasses",
    "prioritylevelconfigurations",
    "replicasets",
    "replicationcontrollers",
    "resourceslices",
    "statefulsets",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "validatingwebhookconfigurations",
];
