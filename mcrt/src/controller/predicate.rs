//! Which updates of a watched object are worth a reconcile.
//!
//! A predicate sees the object before and after (nothing before, when it is new) and says whether to go on.
//! Deletions always go on. These are the named ones; any function of the same shape works.
use kube::Resource;

/// New objects, and those whose `metadata.generation` moved: changes of the spec, for most kinds.
pub fn generation<T: Resource>(old: Option<&T>, new: &T) -> bool {
    old.is_none_or(|old| old.meta().generation != new.meta().generation)
}

/// As [`generation`], and changes of the finalizers or of the deletion mark.
pub fn generation_or_finalizers<T: Resource>(old: Option<&T>, new: &T) -> bool {
    generation(old, new)
        || old.is_none_or(|old| {
            old.meta().finalizers != new.meta().finalizers
                || old.meta().deletion_timestamp != new.meta().deletion_timestamp
        })
}

/// New objects and every change; replays of the same version are left out.
pub fn resource_version<T: Resource>(old: Option<&T>, new: &T) -> bool {
    old.is_none_or(|old| old.meta().resource_version != new.meta().resource_version)
}

/// New objects, and those whose labels changed.
pub fn labels<T: Resource>(old: Option<&T>, new: &T) -> bool {
    old.is_none_or(|old| old.meta().labels != new.meta().labels)
}

/// New objects, and those whose annotations changed.
pub fn annotations<T: Resource>(old: Option<&T>, new: &T) -> bool {
    old.is_none_or(|old| old.meta().annotations != new.meta().annotations)
}
