//! One kind that a server serves, with its versions and their schemas.

use std::sync::Arc;

use crate::crd::Compiled;
use crate::crd::node::Node;
use crate::schema::builtin;
use crate::schema::types::{Cursor, TypeId};

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
    pub(super) fn new(group: &str, kind: &str, plural: &str, namespaced: bool) -> Self {
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

    pub(super) fn with_version(mut self, version: &str, status: bool, schema: Schema) -> Self {
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
