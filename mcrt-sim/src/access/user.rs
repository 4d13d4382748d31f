//! A user of a server and what it may do.

use std::sync::Arc;

use crate::access::rule::Rule;

/// A user behind a token.
///
/// It may do what it was allowed here and what the roles stored in the server allow it, which bindings give to its
/// name or its groups.
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

const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";

impl User {
    /// A user that may do nothing yet but what every user may: discovery, health, version, questions about itself.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            groups: vec![AUTHENTICATED.to_owned()],
            rules: Vec::new(),
        }
    }

    /// A user that may do everything.
    pub fn admin(name: impl Into<Arc<str>>) -> Self {
        let mut admin = Self::new(name).may(["*"], ["*"]);
        admin.rules.push(Rule::on_paths(&["*"], ["*"]));
        admin
    }

    /// Who comes without a token.
    pub(crate) fn anonymous() -> Self {
        Self {
            groups: vec![UNAUTHENTICATED.to_owned()],
            ..Self::new("system:anonymous")
        }
    }

    /// Puts it into a group.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        // The last is the one that a real server adds by itself.
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
        self.rules(None, verbs, resources)
    }

    /// Allows the same in one namespace only.
    #[must_use]
    pub fn may_within<'a>(
        self,
        namespace: &str,
        verbs: impl IntoIterator<Item = &'a str>,
        resources: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        self.rules(Some(namespace), verbs, resources)
    }

    /// Allows to read paths that are about no resource; a `*` at the end stands for any rest.
    #[must_use]
    pub fn may_get_paths<'a>(mut self, paths: impl IntoIterator<Item = &'a str>) -> Self {
        self.rules.push(Rule::on_paths(&["get"], paths));
        self
    }

    fn rules<'a>(
        mut self,
        namespace: Option<&str>,
        verbs: impl IntoIterator<Item = &'a str>,
        resources: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let verbs: Vec<_> = verbs.into_iter().map(str::to_owned).collect();
        let resources = resources.into_iter();
        self.rules
            .extend(resources.map(|resource| Rule::on(&verbs, resource, namespace)));
        self
    }

    pub(crate) fn is_authenticated(&self) -> bool {
        self.groups.iter().any(|group| group == AUTHENTICATED)
    }
}
