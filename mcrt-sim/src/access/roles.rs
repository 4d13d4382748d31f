//! What users may do: by their own rules, by what all may, and by the roles that are stored in the server.

use serde_json::Value;

use crate::access::rule::{Deed, Rule};
use crate::access::user::User;
use crate::state::object::ObjectKey;
use crate::state::store::Store;

const ROLES: &str = "roles.rbac.authorization.k8s.io";
const CLUSTER_ROLES: &str = "clusterroles.rbac.authorization.k8s.io";
const ROLE_BINDINGS: &str = "rolebindings.rbac.authorization.k8s.io";
const CLUSTER_ROLE_BINDINGS: &str = "clusterrolebindings.rbac.authorization.k8s.io";

const PUBLIC_PATHS: [&str; 5] = ["/healthz", "/livez", "/readyz", "/version", "/version/"];
const DISCOVERY_PATHS: [&str; 6] = ["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*"];

/// The rules of a user, and what is wrong with bindings that name it.
#[derive(Default)]
pub(crate) struct Granted {
    pub(crate) rules: Vec<Rule>,
    /// Roles that bindings name and that are not there.
    missing: Vec<String>,
}

impl Granted {
    /// All that a user has been granted in a namespace, or outside of all where none is named.
    pub(crate) fn to(user: &User, namespace: &str, store: &Store) -> Self {
        let mut granted = Self {
            rules: user.rules.clone(),
            ..Self::default()
        };
        granted.rules.extend(of_all(user));
        for binding in bodies(store, CLUSTER_ROLE_BINDINGS, None) {
            granted.add(user, store, &binding, None);
        }
        for binding in bodies(store, ROLE_BINDINGS, Some(namespace)) {
            granted.add(user, store, &binding, Some(namespace));
        }
        granted
    }

    /// Whether it is allowed; if not, the reason that a server adds to its refusal, which is mostly none.
    pub(crate) fn allows(&self, deed: &Deed) -> Result<(), String> {
        if self.rules.iter().any(|rule| rule.allows(deed)) {
            return Ok(());
        }
        Err(match self.missing.as_slice() {
            [] => String::new(),
            [one] => format!("rbac: RBAC: {one}"),
            all => format!("rbac: RBAC: [{}]", all.join(", ")),
        })
    }

    /// Adds what a binding grants to the user, in a namespace or everywhere.
    fn add(&mut self, user: &User, store: &Store, binding: &Value, namespace: Option<&str>) {
        let subjects = binding["subjects"].as_array().into_iter().flatten();
        if !subjects.into_iter().any(|subject| is(user, subject)) {
            return;
        }
        let name = binding["roleRef"]["name"].as_str().unwrap_or_default();
        let (kind, singular, within) = match binding["roleRef"]["kind"].as_str() {
            Some("Role") => (ROLES, "role", namespace.unwrap_or_default()),
            _ => (CLUSTER_ROLES, "clusterrole", ""),
        };
        let Some(role) = body(store, kind, within, name) else {
            let group = "rbac.authorization.k8s.io";
            self.missing
                .push(format!("{singular}.{group} \"{name}\" not found"));
            return;
        };
        let rules = role["rules"].as_array().into_iter().flatten();
        self.rules
            .extend(rules.map(|rule| Rule::of_role(rule, namespace)));
    }
}

/// What a real server's own roles give to everybody, and to everybody it knows.
fn of_all(user: &User) -> Vec<Rule> {
    let mut rules = vec![Rule::on_paths(&["get"], PUBLIC_PATHS)];
    if user.is_authenticated() {
        rules.push(Rule::on_paths(&["get"], DISCOVERY_PATHS));
        let create = ["create".to_owned()];
        let reviews = [
            "selfsubjectreviews.authentication.k8s.io",
            "selfsubjectaccessreviews.authorization.k8s.io",
            "selfsubjectrulesreviews.authorization.k8s.io",
        ];
        rules.extend(reviews.map(|review| Rule::on(&create, review, None)));
    }
    rules
}

fn is(user: &User, subject: &Value) -> bool {
    let name = subject["name"].as_str().unwrap_or_default();
    match subject["kind"].as_str() {
        Some("User") => *user.name == *name,
        Some("Group") => user.groups.iter().any(|group| group == name),
        Some("ServiceAccount") => {
            let namespace = subject["namespace"].as_str().unwrap_or_default();
            *user.name == *format!("system:serviceaccount:{namespace}:{name}")
        }
        _ => false,
    }
}

fn bodies(store: &Store, kind: &str, namespace: Option<&str>) -> Vec<Value> {
    let objects = store.in_namespace(kind, namespace);
    objects.iter().map(|object| object.content()).collect()
}

fn body(store: &Store, kind: &str, namespace: &str, name: &str) -> Option<Value> {
    let kind = store.registry.by_id(kind)?;
    let role = store.find(kind, &ObjectKey::new(namespace, name))?;
    Some(role.content())
}
