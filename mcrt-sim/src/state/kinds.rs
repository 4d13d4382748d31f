//! Which kinds a server serves: the built-in ones, those registered by hand, and those of CRDs.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use ahash::AHashMap;
use serde_json::Value;

use crate::crd::node::Node;
use crate::crd::{Compiled, names};
use crate::merge::types::{Cursor, Field, Map, Scalar, Type, TypeId, Types};
use crate::state::builtin;

/// A kind to be served beside the built-in ones, as a custom resource without a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedKind {
    /// API group; empty for the core group.
    pub group: String,
    /// Version inside the group, for example `v1`.
    pub version: String,
    /// Kind, for example `FleetApp`.
    pub kind: String,
    /// Plural as used in paths, for example `fleetapps`.
    pub plural: String,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Whether `status` is a subresource of its own.
    pub status_subresource: bool,
}

/// One version of a kind.
#[derive(Clone, Debug)]
#[expect(clippy::struct_field_names, reason = "the API's own name for it")]
pub(crate) struct Version {
    pub(crate) name: String,
    pub(crate) status: bool,
    /// `group/version`, or the version alone in the core group.
    pub(crate) api_version: String,
    /// The start of every serialised object: stored bodies carry no type, so one body serves all versions.
    pub(crate) prefix: String,
    /// How its objects merge.
    pub(crate) schema: Schema,
    /// Paths of the fields that selectors may name beside name and namespace, as in `.spec.color`.
    pub(crate) selectable: Vec<String>,
}

/// The type of a version's objects.
#[derive(Clone, Debug)]
pub(crate) enum Schema {
    Builtin(TypeId),
    Custom(Arc<Compiled>),
}

impl Schema {
    /// What a defined kind says about its objects.
    pub(crate) fn node(&self) -> Option<&Node> {
        match self {
            Self::Builtin(_) => None,
            Self::Custom(compiled) => compiled.node.as_ref(),
        }
    }

    pub(crate) fn cursor(&self) -> Cursor<'_> {
        match self {
            Self::Builtin(id) => builtin::cursor(*id),
            Self::Custom(compiled) => compiled.cursor(),
        }
    }
}

/// The type of a custom resource: what all objects have, and these fields.
pub(crate) fn envelope(
    types: &mut Types,
    mut fields: AHashMap<Box<str>, Field>,
    rest: Option<TypeId>,
) -> Type {
    let text = types.push(Type::Scalar(Scalar::Text));
    let metadata = types.push(Type::Builtin(builtin::metadata()));
    for (name, ty) in [("apiVersion", text), ("kind", text), ("metadata", metadata)] {
        fields.insert(name.into(), Field::of(ty));
    }
    Type::Map(Map {
        atomic: false,
        fields,
        rest,
        ..Map::default()
    })
}

/// One resource of the server with all its versions.
#[derive(Clone, Debug)]
#[expect(clippy::struct_field_names, reason = "the API's own name for it")]
pub(crate) struct Kind {
    /// `plural` or `plural.group`: the key of the resource in the store.
    pub(crate) id: Arc<str>,
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) kind: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    pub(crate) builtin: bool,
    /// Whether `metadata.generation` counts changes of the desired state.
    pub(crate) generation: bool,
    pub(crate) versions: Vec<Version>,
}

impl Kind {
    fn new(group: &str, kind: &str, plural: &str, namespaced: bool) -> Self {
        Self {
            id: id(group, plural).into(),
            group: group.to_owned(),
            plural: plural.to_owned(),
            kind: kind.to_owned(),
            singular: kind.to_lowercase(),
            short_names: Vec::new(),
            categories: Vec::new(),
            namespaced,
            builtin: false,
            generation: true,
            versions: Vec::new(),
        }
    }

    fn with_version(mut self, version: &str, status: bool, schema: Schema) -> Self {
        let api_version = if self.group.is_empty() {
            version.to_owned()
        } else {
            format!("{}/{version}", self.group)
        };
        let prefix = format!("{{\"kind\":\"{}\",\"apiVersion\":\"{api_version}\",", self.kind);
        self.versions.retain(|known| known.name != version);
        self.versions.push(Version {
            name: version.to_owned(),
            status,
            api_version,
            prefix,
            schema,
            selectable: Vec::new(),
        });
        self
    }

    pub(crate) fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// The version in which managed fields name it.
    pub(crate) fn by_api_version(&self, api_version: &str) -> Option<&Version> {
        self.versions
            .iter()
            .find(|version| version.api_version == api_version)
    }

    pub(crate) fn is_namespace(&self) -> bool {
        &*self.id == "namespaces"
    }

    /// Whether an update of an object that does not exist creates it.
    pub(crate) fn is_made_by_update(&self) -> bool {
        let group = self.group.as_str();
        let core = matches!(&*self.plural, "endpoints" | "events" | "limitranges" | "services");
        self.builtin
            && (group.is_empty() && core
                || matches!(
                    group,
                    "coordination.k8s.io" | "events.k8s.io" | "rbac.authorization.k8s.io"
                ))
    }

    pub(crate) fn is_crd(&self) -> bool {
        &*self.id == CRDS
    }
}

pub(crate) const CRDS: &str = "customresourcedefinitions.apiextensions.k8s.io";

pub(crate) fn id(group: &str, plural: &str) -> String {
    if group.is_empty() {
        plural.to_owned()
    } else {
        format!("{plural}.{group}")
    }
}

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
                            .with_version(row.version, status, schema);
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
    pub(crate) fn by_type(&self, api_version: &str, kind: &str) -> Option<(&Arc<Kind>, &Version)> {
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
        ));
    }

    /// Serves what a `CustomResourceDefinition` describes; a later description replaces an earlier one.
    pub(crate) fn serve_crd(&mut self, crd: &Value) -> Option<Arc<Kind>> {
        if !names::is_established(crd) {
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
                kind = kind.with_version(version["name"].as_str()?, status, schema);
                if let Some(added) = kind.versions.last_mut() {
                    added.selectable = selectable_fields(version);
                }
            }
        }
        // A real server keeps the built-in groups to itself.
        let builtin = self.by_id(&kind.id).is_some_and(|known| known.builtin);
        (!builtin).then(|| self.put(kind))
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
