//! Which context, cluster and user of a kubeconfig are meant.
use super::{
    super::{error::Rejected, policy::Policy},
    field::{At, shown, unknown},
    nonempty,
};
use kube::config::{AuthInfo, Cluster, Context, Kubeconfig};
use serde_json::Value;
use std::collections::BTreeMap;

/// A context and what it names.
pub(super) struct Chosen<'a> {
    name: &'a str,
    pub(super) context: &'a Context,
    pub(super) cluster: &'a Cluster,
    user_name: &'a str,
    /// A context without a user is anonymous.
    pub(super) user: Option<&'a AuthInfo>,
}

/// The name that was asked for; else that of the current context; else that of the only one.
pub(super) fn name<'a>(kubeconfig: &'a Kubeconfig, asked: Option<&'a str>) -> Result<&'a str, Rejected> {
    let current = nonempty(kubeconfig.current_context.as_ref());
    match (asked.or(current), &kubeconfig.contexts[..]) {
        (Some(name), _) => Ok(name),
        (None, [only]) => Ok(&only.name),
        (None, _) => Err(Rejected::NoCurrentContext),
    }
}

impl<'a> Chosen<'a> {
    pub(super) fn of(kubeconfig: &'a Kubeconfig, name: &'a str) -> Result<Self, Rejected> {
        let contexts = kubeconfig.contexts.iter();
        let contexts = contexts.map(|named| (&*named.name, &named.other, named.context.as_ref()));
        let at = |kind: &'static str| Named { context: name, kind };
        let context = at("context").only(contexts, name)?;
        let context = context.ok_or_else(|| Rejected::NoContext { context: shown(name) })?;
        let clusters = kubeconfig.clusters.iter();
        let clusters = clusters.map(|named| (&*named.name, &named.other, named.cluster.as_ref()));
        let cluster = at("cluster").required(clusters, &context.cluster)?;
        // One that names a user must have it, and not in name only: that is how a file looks while it is written.
        let user_name = nonempty(context.user.as_ref()).unwrap_or_default();
        let user = if user_name.is_empty() {
            None
        } else {
            let users = kubeconfig.auth_infos.iter();
            let users = users.map(|named| (&*named.name, &named.other, named.auth_info.as_ref()));
            Some(at("user").required(users, user_name)?)
        };
        Ok(Self {
            name,
            context,
            cluster,
            user_name,
            user,
        })
    }

    pub(super) fn at_cluster<'p>(&self, policy: &'p Policy) -> At<'p> {
        let path = format!("clusters[{}].cluster", shown(&self.context.cluster));
        At::new(self.name, policy, path)
    }

    pub(super) fn at_user<'p>(&self, policy: &'p Policy) -> At<'p> {
        At::new(
            self.name,
            policy,
            format!("users[{}].user", shown(self.user_name)),
        )
    }
}

/// An entry of one of the three lists, on behalf of a context.
struct Named<'a> {
    context: &'a str,
    kind: &'static str,
}

type Entry<'a, T> = (&'a str, &'a BTreeMap<String, Value>, Option<&'a T>);

impl Named<'_> {
    /// The entry of that name. Two of one name are refused: which of them counts differs between programs.
    fn only<'a, T>(
        &self,
        entries: impl Iterator<Item = Entry<'a, T>>,
        name: &str,
    ) -> Result<Option<&'a T>, Rejected> {
        let policy = Policy::default();
        let at = At::new(self.context, &policy, format!("{}s[{}]", self.kind, shown(name)));
        let mut entries = entries.filter(|(other, ..)| *other == name);
        let Some((_, other, found)) = entries.next() else {
            return Ok(None);
        };
        if entries.next().is_some() {
            return Err(at.invalid("", "is there more than once: remove all but one"));
        }
        unknown(other, &at, "", &["name", self.kind])?;
        Ok(found)
    }

    fn required<'a, T>(
        &self,
        entries: impl Iterator<Item = Entry<'a, T>>,
        name: &str,
    ) -> Result<&'a T, Rejected> {
        self.only(entries, name)?.ok_or_else(|| Rejected::Absent {
            context: shown(self.context),
            kind: self.kind,
            name: shown(name),
        })
    }
}
