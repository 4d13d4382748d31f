//! How a kind is watched: where, which objects of it, and which of their changes matter.
use super::Place;
use std::{fmt, marker::PhantomData, sync::Arc};

pub(crate) type Predicate<T> = Arc<dyn Fn(Option<&T>, &T) -> bool + Send + Sync>;

/// The options of a watch. `T` is what is stored of each object: the kind itself, or its metadata
/// ([`PartialObjectMeta`](kube::core::PartialObjectMeta)).
pub struct Watch<T> {
    pub(crate) place: Option<Place>,
    pub(crate) labels: Option<String>,
    pub(crate) fields: Option<String>,
    pub(crate) namespaces: Vec<String>,
    pub(crate) predicate: Option<Predicate<T>>,
    pub(crate) optional: bool,
}

impl<T> Watch<T> {
    /// Every object of the kind, on the fleet (an owned kind: where its owner is), every change.
    pub fn new() -> Self {
        Self {
            place: None,
            labels: None,
            fields: None,
            namespaces: Vec::new(),
            predicate: None,
            optional: false,
        }
    }

    /// Watches on another place.
    #[must_use]
    pub fn on(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// Watches the objects that a label selector matches; the API server leaves the others out.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.labels = Some(selector.into());
        self
    }

    /// Watches the objects that a field selector matches; the API server leaves the others out.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.fields = Some(selector.into());
        self
    }

    /// Watches these namespaces alone, with one watch for each.
    #[must_use]
    pub fn namespaces<S: Into<String>>(mut self, namespaces: impl IntoIterator<Item = S>) -> Self {
        self.namespaces = namespaces.into_iter().map(Into::into).collect();
        self
    }

    /// Says which changes matter; see [`predicate`](super::predicate). A panic in it fails that change alone.
    #[must_use]
    pub fn predicate(mut self, predicate: impl Fn(Option<&T>, &T) -> bool + Send + Sync + 'static) -> Self {
        self.predicate = Some(Arc::new(predicate));
        self
    }

    /// Lets the controller work in clusters that do not serve the kind, or refuse to show it: the state of its store
    /// says which. Without this nothing is reconciled there until the kind is known. Not for the reconciled kind:
    /// where it is not served, there is nothing to reconcile anyway.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }
}

impl<T> Default for Watch<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Watch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("place", &self.place)
            .field("labels", &self.labels)
            .field("fields", &self.fields)
            .field("namespaces", &self.namespaces)
            .field("predicate", &self.predicate.is_some())
            .field("optional", &self.optional)
            .finish()
    }
}

/// A kind that is used without being watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    pub(crate) place: Place,
    pub(crate) verbs: Vec<String>,
}

impl Uses {
    /// A kind of the fleet, with no verb yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses it on another place.
    #[must_use]
    pub fn on(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// What is done with it: the verbs of a Kubernetes role.
    #[must_use]
    pub fn verbs<S: AsRef<str>>(mut self, verbs: &[S]) -> Self {
        self.verbs = verbs.iter().map(|verb| verb.as_ref().to_owned()).collect();
        self
    }
}

/// A handle of an index: which controller it belongs to, what it indexes, and by what.
///
/// `#[index] fn by_team(..)` gives the constant `Self::BY_TEAM`, a builder returns one.
pub struct Index<C, T, V> {
    pub(crate) slot: u16,
    types: PhantomData<fn() -> (C, T, V)>,
}

impl<C, T, V> Index<C, T, V> {
    /// The handle of the controller's index number `slot`, in the order of their registration. Not checked: what
    /// `#[index]` writes, after it has counted.
    #[doc(hidden)]
    pub const fn declared(slot: u16) -> Self {
        Self {
            slot,
            types: PhantomData,
        }
    }
}

impl<C, T, V> Clone for Index<C, T, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C, T, V> Copy for Index<C, T, V> {}

impl<C, T, V> fmt::Debug for Index<C, T, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Index({})", self.slot)
    }
}

/// Maps a change of the fleet to requests.
pub(crate) type Map<R> =
    Arc<dyn Fn(&R, &crate::fleet::FleetEvent, super::MapContext<R>) -> super::Requests<R> + Send + Sync>;
