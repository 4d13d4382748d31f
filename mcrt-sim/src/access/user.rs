//! A user of a server and what it may do, in the words of RBAC.

use std::fmt;
use std::sync::Arc;

use crate::api::request::{RequestInfo, Verb};

/// Paths that every user may read, by what a real server grants to all.
const OPEN_PATHS: &[&str] = &["/healthz", "/livez", "/readyz", "/version", "/version/"];
const DISCOVERY_PATHS: &[&str] = &["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*"];
/// What every user may ask about itself.
const REVIEWS: &[(&str, &str)] = &[
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authentication.k8s.io", "selfsubjectreviews"),
];

/// A user behind a token.
///
/// ```
/// use mcrt_sim::{Server, User};
///
/// let server = Server::new("east");
/// let reader = User::new("reader")
///     .may(["get", "list", "watch"], ["configmaps", "deployments.apps"])
///     .may_within("team-a", ["*"], ["secrets"]);
/// server.add_token("s3cret", reader);
/// ```
#[derive(Clone, Debug)]
pub struct User {
    pub(crate) name: Arc<str>,
    pub(crate) groups: Vec<String>,
    pub(crate) rules: Vec<Rule>,
}

/// One permission.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) verbs: Vec<String>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) namespace: Option<String>,
    pub(crate) paths: Vec<String>,
}

/// `plural`, `plural.group`, `plural.group/subresource`; `*` stands for any.
#[derive(Clone)]
pub(crate) struct Resource {
    pub(crate) plural: String,
    /// Nothing: of any group.
    pub(crate) group: Option<String>,
    pub(crate) subresource: Option<String>,
}

/// What somebody wants to do.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deed<'a> {
    pub(crate) verb: &'a str,
    pub(crate) group: &'a str,
    pub(crate) plural: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// Set where it is about no resource.
    pub(crate) path: Option<&'a str>,
}

impl User {
    /// A user that may do nothing yet but what every user may: discovery, health, version, questions about itself.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            groups: vec!["system:authenticated".to_owned()],
            rules: Vec::new(),
        }
    }

    /// A user that may do everything.
    pub fn admin(name: impl Into<Arc<str>>) -> Self {
        Self::new(name).may(["*"], ["*"]).may_get_paths(["*"])
    }

    pub(crate) fn anonymous() -> Self {
        Self {
            groups: vec!["system:unauthenticated".to_owned()],
            ..Self::new("system:anonymous")
        }
    }

    /// Puts it into a group, which only reviews show.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.groups.insert(self.groups.len() - 1, group.into());
        self
    }

    /// Allows verbs (`get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, `*`) on
    /// resources (`plural`, `plural.group`, `plural.group/subresource`, `*`, `*.group`) in every namespace.
    ///
    /// A resource without a group is meant in every group; `*` comprises subresources, a plural does not.
    #[must_use]
    pub fn may<'a>(
        self,
        verbs: impl IntoIterator<Item = &'a str>,
        resources: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        self.rule(None, verbs, resources)
    }

    /// Allows the same in one namespace only.
    #[must_use]
    pub fn may_within<'a>(
        self,
        namespace: &str,
        verbs: impl IntoIterator<Item = &'a str>,
        resources: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        self.rule(Some(namespace.to_owned()), verbs, resources)
    }

    /// Allows to read paths that are about no resource; a `*` at the end stands for any rest.
    #[must_use]
    pub fn may_get_paths<'a>(mut self, paths: impl IntoIterator<Item = &'a str>) -> Self {
        self.rules.push(Rule {
            verbs: vec!["get".to_owned()],
            resources: Vec::new(),
            namespace: None,
            paths: paths.into_iter().map(str::to_owned).collect(),
        });
        self
    }

    fn rule<'a>(
        mut self,
        namespace: Option<String>,
        verbs: impl IntoIterator<Item = &'a str>,
        resources: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        self.rules.push(Rule {
            verbs: verbs.into_iter().map(str::to_owned).collect(),
            resources: resources.into_iter().map(Resource::parse).collect(),
            namespace,
            paths: Vec::new(),
        });
        self
    }

    pub(crate) fn is_anonymous(&self) -> bool {
        &*self.name == "system:anonymous"
    }

    pub(crate) fn is_allowed(&self, deed: &Deed<'_>) -> bool {
        self.is_open_to_all(deed) || self.rules.iter().any(|rule| rule.allows(deed))
    }

    fn is_open_to_all(&self, deed: &Deed<'_>) -> bool {
        let Some(path) = deed.path else {
            let review = REVIEWS.contains(&(deed.group, deed.plural));
            return review && deed.verb == "create" && !self.is_anonymous();
        };
        let known = |paths: &[&str]| paths.iter().any(|known| path_fits(known, path));
        matches!(deed.verb, "get" | "head")
            && (known(OPEN_PATHS) || !self.is_anonymous() && known(DISCOVERY_PATHS))
    }
}

impl Resource {
    fn parse(text: &str) -> Self {
        let (resource, subresource) = match text.split_once('/') {
            Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
            None => (text, None),
        };
        let (plural, group) = match resource.split_once('.') {
            Some((plural, group)) => (plural, Some(group.to_owned())),
            None => (resource, None),
        };
        Self {
            plural: plural.to_owned(),
            group,
            subresource,
        }
    }

    fn fits(&self, deed: &Deed<'_>) -> bool {
        let subresource = match self.subresource.as_deref() {
            Some(subresource) => fits(subresource, deed.subresource) && !deed.subresource.is_empty(),
            None => self.plural == "*" || deed.subresource.is_empty(),
        };
        subresource
            && fits(&self.plural, deed.plural)
            && self.group.as_deref().is_none_or(|group| fits(group, deed.group))
    }
}

impl Rule {
    fn allows(&self, deed: &Deed<'_>) -> bool {
        let verb = self
            .verbs
            .iter()
            .any(|verb| fits(verb, deed.verb) || verb == "get" && deed.verb == "head");
        let what = match (deed.path, self.namespace.as_deref()) {
            (Some(path), _) => self.paths.iter().any(|known| path_fits(known, path)),
            (None, Some(namespace)) if namespace != deed.namespace => false,
            (None, _) => self.resources.iter().any(|resource| resource.fits(deed)),
        };
        verb && what
    }
}

fn fits(pattern: &str, text: &str) -> bool {
    pattern == "*" || pattern == text
}

fn path_fits(pattern: &str, path: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => path.starts_with(start),
        None => pattern == path,
    }
}

impl<'a> Deed<'a> {
    pub(crate) fn of(info: &'a RequestInfo) -> Self {
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
                    verb: match *info.method() {
                        http::Method::GET => "get",
                        http::Method::HEAD => "head",
                        http::Method::POST => "post",
                        http::Method::PUT => "put",
                        http::Method::PATCH => "patch",
                        http::Method::DELETE => "delete",
                        _ => "options",
                    },
                    path: Some(info.path()),
                    ..Self::default()
                };
            }
        };
        Self {
            verb,
            group: info.group(),
            plural: info.plural(),
            subresource: info.subresource().unwrap_or_default(),
            namespace: info.namespace().unwrap_or_default(),
            name: info.name().unwrap_or_default(),
            path: None,
        }
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plural)?;
        if let Some(group) = &self.group {
            write!(f, ".{group}")?;
        }
        if let Some(subresource) = &self.subresource {
            write!(f, "/{subresource}")?;
        }
        Ok(())
    }
}
