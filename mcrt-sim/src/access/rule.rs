//! One permission, in the words of RBAC, and what it is held against.

use serde_json::Value;

use crate::request::info::{RequestInfo, Verb};

/// What may be done to what. `*` stands for any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) verbs: Vec<String>,
    pub(crate) groups: Vec<String>,
    /// `plural`, `plural/subresource`, `*/subresource`, `*`, which comprises all subresources.
    pub(crate) resources: Vec<String>,
    /// None: objects of every name.
    pub(crate) names: Vec<String>,
    pub(crate) paths: Vec<String>,
    /// None: in every namespace, and outside of them.
    pub(crate) namespace: Option<String>,
}

/// What somebody wants to do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deed {
    pub(crate) verb: String,
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) subresource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Set where it is about no resource.
    pub(crate) path: Option<String>,
}

impl Rule {
    /// Verbs on a resource as users write it: `plural`, `plural.group`, either with `/subresource`.
    pub(crate) fn on(verbs: &[String], resource: &str, namespace: Option<&str>) -> Self {
        let (resource, subresource) = match resource.split_once('/') {
            Some((resource, subresource)) => (resource, format!("/{subresource}")),
            None => (resource, String::new()),
        };
        let (plural, group) = resource.split_once('.').unwrap_or((resource, "*"));
        Self {
            verbs: verbs.to_vec(),
            groups: vec![group.to_owned()],
            resources: vec![format!("{plural}{subresource}")],
            namespace: namespace.map(str::to_owned),
            ..Self::default()
        }
    }

    pub(crate) fn on_paths<'a>(verbs: &[&str], paths: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
            paths: paths.into_iter().map(str::to_owned).collect(),
            ..Self::default()
        }
    }

    /// A rule of a role, as the role says it.
    pub(crate) fn of_role(rule: &Value, namespace: Option<&str>) -> Self {
        let texts = |field: &str| {
            let texts = rule[field].as_array().into_iter().flatten();
            texts.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            verbs: texts("verbs"),
            groups: texts("apiGroups"),
            resources: texts("resources"),
            names: texts("resourceNames"),
            paths: texts("nonResourceURLs"),
            namespace: namespace.map(str::to_owned),
        }
    }

    pub(crate) fn allows(&self, deed: &Deed) -> bool {
        let verb = self.verbs.iter().any(|verb| fits(verb, &deed.verb));
        verb && match &deed.path {
            Some(path) => self.namespace.is_none() && self.paths.iter().any(|known| path_fits(known, path)),
            None => self.is_about(deed),
        }
    }

    fn is_about(&self, deed: &Deed) -> bool {
        let within = self.namespace.as_ref();
        within.is_none_or(|namespace| *namespace == deed.namespace)
            && self.groups.iter().any(|group| fits(group, &deed.group))
            && self
                .resources
                .iter()
                .any(|resource| resource_fits(resource, deed))
            && (self.names.is_empty() || self.names.contains(&deed.name))
    }
}

fn fits(pattern: &str, text: &str) -> bool {
    pattern == "*" || pattern == text
}

fn resource_fits(pattern: &str, deed: &Deed) -> bool {
    match pattern.split_once('/') {
        None => pattern == "*" || pattern == deed.plural && deed.subresource.is_empty(),
        Some((plural, subresource)) => {
            !deed.subresource.is_empty() && subresource == deed.subresource && fits(plural, &deed.plural)
        }
    }
}

fn path_fits(pattern: &str, path: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => path.starts_with(start),
        None => pattern == path,
    }
}

impl Deed {
    /// What a request wants to do.
    pub(crate) fn of(info: &RequestInfo) -> Self {
        let verb = match info.verb() {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Watch => "watch",
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "deletecollection",
            Verb::Raw => {
                return Self {
                    verb: info.method().as_str().to_lowercase(),
                    path: Some(info.path().to_owned()),
                    ..Self::default()
                };
            }
        };
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let mut deed = Self {
            verb: verb.to_owned(),
            group: info.group().to_owned(),
            plural: info.plural().to_owned(),
            subresource: text(info.subresource()),
            namespace: text(info.namespace()),
            name: text(info.name()),
            path: None,
        };
        if deed.group.is_empty() && deed.plural == "namespaces" {
            // A namespace lies within itself, which is how a role in it can allow to read it.
            deed.namespace.clone_from(&deed.name);
        }
        if deed.name.is_empty() && matches!(verb, "list" | "watch" | "deletecollection") {
            // Who may see one object by its name may also follow it.
            let selected = info
                .query("fieldSelector")
                .and_then(|it| it.strip_prefix("metadata.name="));
            deed.name = text(selected.filter(|name| !name.contains([',', '='])));
        }
        deed
    }

    /// What a review asks about.
    pub(crate) fn of_review(spec: &Value) -> Self {
        let attributes = &spec["resourceAttributes"];
        let text = |of: &Value, field: &str| of[field].as_str().unwrap_or_default().to_owned();
        if let Some(path) = spec["nonResourceAttributes"].as_object() {
            let path = Value::from(path.clone());
            return Self {
                verb: text(&path, "verb"),
                path: Some(text(&path, "path")),
                ..Self::default()
            };
        }
        Self {
            verb: text(attributes, "verb"),
            group: text(attributes, "group"),
            plural: text(attributes, "resource"),
            subresource: text(attributes, "subresource"),
            namespace: text(attributes, "namespace"),
            name: text(attributes, "name"),
            path: None,
        }
    }

    /// Why a user may not do it, in the words of a real server.
    pub(crate) fn refusal(&self, user: &str) -> String {
        if let Some(path) = &self.path {
            return format!("User \"{user}\" cannot {} path \"{path}\"", self.verb);
        }
        let resource = match self.subresource.as_str() {
            "" => self.plural.clone(),
            subresource => format!("{}/{subresource}", self.plural),
        };
        let place = match self.namespace.as_str() {
            "" => "at the cluster scope".to_owned(),
            namespace => format!("in the namespace \"{namespace}\""),
        };
        format!(
            "User \"{user}\" cannot {} resource \"{resource}\" in API group \"{}\" {place}",
            self.verb, self.group
        )
    }
}
