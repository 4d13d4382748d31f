//! What was decided before and holds: longer than a stream, as long as the profile.
use crate::cluster::ObjectKey;
use std::collections::BTreeMap;

/// Decisions by profile, each for one object of the name.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The UIDs of those whose clusters were engaged.
    engaged: BTreeMap<ObjectKey, String>,
    held: BTreeMap<ObjectKey, Held>,
    /// By id: a name belongs to one.
    holders: BTreeMap<String, ObjectKey>,
    /// By group: which profile stands for it.
    chosen: BTreeMap<ObjectKey, ObjectKey>,
}

/// The id that a profile's cluster has for its name.
#[derive(Debug)]
struct Held {
    uid: String,
    id: String,
}

impl Memory {
    /// Whether the profile's cluster was engaged before.
    pub(super) fn is_engaged(&self, profile: &ObjectKey, uid: &str) -> bool {
        self.engaged.get(profile).is_some_and(|engaged| engaged == uid)
    }

    pub(super) fn engage(&mut self, profile: &ObjectKey, uid: &str) {
        self.engaged.insert(profile.clone(), uid.to_owned());
    }

    /// Its cluster has left, and begins anew.
    pub(super) fn leave(&mut self, profile: &ObjectKey) {
        self.engaged.remove(profile);
    }

    pub(super) fn chosen(&self, group: &ObjectKey) -> Option<&ObjectKey> {
        self.chosen.get(group)
    }

    pub(super) fn choose(&mut self, group: &ObjectKey, profile: &ObjectKey) {
        self.chosen.insert(group.clone(), profile.clone());
    }

    /// A group without profiles.
    pub(super) fn forget_group(&mut self, group: &ObjectKey) {
        self.chosen.remove(group);
    }

    /// The profile, and its UID, whose cluster has this id for its name.
    pub(super) fn holder(&self, id: &str) -> Option<(&ObjectKey, &str)> {
        let profile = self.holders.get(id)?;
        Some((profile, &self.held.get(profile)?.uid))
    }

    /// The id that the profile's cluster has for its name.
    pub(super) fn held(&self, profile: &ObjectKey) -> Option<(&str, &str)> {
        let held = self.held.get(profile)?;
        Some((&held.id, &held.uid))
    }

    pub(super) fn hold(&mut self, profile: &ObjectKey, uid: &str, id: &str) {
        self.release(profile);
        let (uid, id) = (uid.to_owned(), id.to_owned());
        if let Some(former) = self.holders.insert(id.clone(), profile.clone()) {
            self.held.remove(&former);
        }
        self.held.insert(profile.clone(), Held { uid, id });
    }

    /// A profile is gone, or counts no more: whatever it had is free.
    pub(super) fn forget(&mut self, profile: &ObjectKey) {
        self.engaged.remove(profile);
        self.release(profile);
    }

    fn release(&mut self, profile: &ObjectKey) {
        if let Some(held) = self.held.remove(profile) {
            self.holders.remove(&held.id);
        }
    }
}
