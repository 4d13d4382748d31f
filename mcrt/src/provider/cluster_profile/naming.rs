//! What a cluster is called. An id is what a member says of itself: it names the cluster only where nobody else has or
//! wants it, and once it does, it stays.
use super::{
    ClusterProfiles,
    source::{Live, View, of_profile},
};
use crate::{
    apis::cluster_property::CLUSTER_ID,
    cluster::{ClusterName, ObjectKey},
    provider::host::Described,
};

impl ClusterProfiles {
    /// The name, or what is to be said instead.
    pub(super) fn name(&self, view: &View, live: &Live) -> Result<ClusterName, Box<Described>> {
        let of_object = ClusterName::new(live.key.to_string())
            .map_err(|error| Box::new(Described::Nameless(of_profile(&live.key, &error.to_string()))));
        if !self.named_by_cluster_id {
            return of_object;
        }
        // Until it has its name, it is told of by that of the object.
        let refused = |reason: &str| match of_object.clone() {
            Ok(name) => Box::new(Described::Unusable {
                name,
                reason: of_profile(&live.key, reason),
            }),
            Err(nameless) => nameless,
        };
        let (id, held) = {
            let state = self.state.lock();
            let held = state.memory.held(&live.key).filter(|(_, uid)| *uid == live.uid);
            let id = state.links.id(&live.key).map(str::to_owned);
            (id, held.map(|(id, _)| id.to_owned()))
        };
        if let Some(held) = held {
            // Names are made of ids that are names.
            let name = ClusterName::new(&held).map_err(|error| refused(&error.to_string()))?;
            if id.as_deref() == Some(&held) {
                return Ok(name);
            }
            let reason = of_profile(
                &live.key,
                &format!(
                    "its property `{CLUSTER_ID}` has changed, which it must not while the cluster is a member: the \
                     cluster goes on under the name that it has; to rename it, delete the profile and create it anew"
                ),
            );
            return Err(Box::new(Described::Unusable { name, reason }));
        }
        let id = id.ok_or_else(|| refused(&format!("not ready: it has no property `{CLUSTER_ID}`")))?;
        if !is_subdomain(&id) {
            let reason = format!(
                "its property `{CLUSTER_ID}` is not the name of a subdomain, which a cluster id has to be"
            );
            return Err(refused(&reason));
        }
        let name = ClusterName::new(&id).map_err(|error| refused(&error.to_string()))?;
        if let Some(other) = self.other_claimant(view, live, &id) {
            return Err(refused(&other));
        }
        self.state.lock().memory.hold(&live.key, &live.uid, &id);
        Ok(name)
    }

    /// Who else has the id, or wants it: then nobody can tell whose it is.
    fn other_claimant(&self, view: &View, live: &Live, id: &str) -> Option<String> {
        let (holder, claimants, group) = {
            let state = self.state.lock();
            let holder = state
                .memory
                .holder(id)
                .map(|(key, uid)| (key.clone(), uid.to_owned()));
            let claimants: Vec<_> = state
                .links
                .claimants(id)
                .into_iter()
                .map(|key| (state.links.group(&key), key))
                .collect();
            (holder, claimants, state.links.group(&live.key))
        };
        let is_other = |key: &ObjectKey| *key != live.key;
        let of_this_cluster = |key: &ObjectKey| self.state.lock().links.group(key) == group;
        if let Some((holder, uid)) = holder.filter(|(key, _)| is_other(key) && !of_this_cluster(key))
            && self.live(view, &holder).is_some_and(|other| other.uid == uid)
        {
            return Some(format!(
                "its property `{CLUSTER_ID}` is that of the cluster that ClusterProfile `{holder}` describes, which \
                 keeps its name: give each cluster an id of its own"
            ));
        }
        let mut rivals = claimants
            .into_iter()
            .filter(|(other, key)| *other != group && is_other(key));
        let (_, rival) = rivals.find(|(_, key)| self.live(view, key).is_some())?;
        Some(format!(
            "its property `{CLUSTER_ID}` is that of ClusterProfile `{rival}` too, and whose it is cannot be told: neither \
             is called by it until one gives it up"
        ))
    }
}

fn is_subdomain(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let label = |label: &str| {
        !label.is_empty() && label.chars().all(fits) && !label.starts_with('-') && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(label)
}
