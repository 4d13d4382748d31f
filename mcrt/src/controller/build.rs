//! Checks the declarations of a controller against each other, and makes it.
use super::{
    ControllerBuilder, Place, Reconciler,
    declaration::{Declaration, Summary},
    erased::{Controller, Parts},
};
use crate::{cache::Cacheable, cluster::InvalidSelector};
use std::sync::Arc;

/// The role of the reconciled kind.
pub(crate) const FOR: &str = "for";
/// The role of a kind whose objects the reconciled kind owns.
pub(crate) const OWNS: &str = "owns";

/// Why a controller cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No kind is reconciled.
    #[error("controller `{controller}` reconciles no kind: call `for_kind`")]
    NoFor {
        /// The controller.
        controller: String,
    },
    /// The name says nothing where it is used: as a label value and as the field manager of what is applied.
    #[error(
        "`{controller}` is no name of a controller: write up to 63 letters, digits, `-`, `_` and `.`, the first and \
         the last of them a letter or a digit"
    )]
    Name {
        /// The name.
        controller: String,
    },
    /// Two kinds are reconciled.
    #[error("controller `{controller}` reconciles two kinds: call `for_kind` once, and `watches` for others")]
    ForTwice {
        /// The controller.
        controller: String,
    },
    /// The reconciled kind is called optional.
    #[error(
        "controller `{controller}` reconciles `{kind}`, which cannot be optional: where it is not served there is \
         nothing to reconcile, and the controller says so and waits; leave `optional` out"
    )]
    OptionalFor {
        /// The controller.
        controller: String,
        /// The kind.
        kind: String,
    },
    /// A kind is watched twice on one place.
    #[error("controller `{controller}` watches `{kind}` twice on {place}: declare it once")]
    Twice {
        /// The controller.
        controller: String,
        /// The kind.
        kind: String,
        /// Where it is watched twice.
        place: Place,
    },
    /// An owned kind is watched where its owners are not.
    #[error(
        "controller `{controller}` owns `{kind}` on {place}, but reconciles on {home}: owner references do not \
         cross clusters; use `watches` with a map function"
    )]
    OwnsElsewhere {
        /// The controller.
        controller: String,
        /// The owned kind.
        kind: String,
        /// Where the owned kind is watched.
        place: Place,
        /// Where the owners are.
        home: Place,
    },
    /// A number or a time that has to be more than zero is zero.
    #[error("controller `{controller}`: `{setting}` is zero: give it more, or leave it out for the default")]
    Zero {
        /// The controller.
        controller: String,
        /// The setting.
        setting: &'static str,
    },
    /// One cluster may run more than all together.
    #[error(
        "controller `{controller}`: `per_cluster` is {per_cluster}, larger than `concurrency`, which is \
         {concurrency}: lower the one or raise the other"
    )]
    CapAboveAll {
        /// The controller.
        controller: String,
        /// How many reconciles of one cluster may run at once.
        per_cluster: u32,
        /// How many may run at once.
        concurrency: u32,
    },
    /// The selector of its clusters cannot be read.
    #[error("controller `{controller}`: `clusters`: {fault}")]
    Clusters {
        /// The controller.
        controller: String,
        /// What is wrong.
        #[source]
        fault: InvalidSelector,
    },
    /// Two indexes share a name.
    #[error("controller `{controller}` has two indexes called `{name}`: rename one")]
    IndexTwice {
        /// The controller.
        controller: String,
        /// The name.
        name: &'static str,
    },
    /// No declaration keeps what an index indexes.
    #[error(
        "controller `{controller}` indexes by `{name}` what it does not keep: declare the kind with `for_kind`, \
         `owns` or `watches`; of an owned kind the metadata is kept, so index `PartialObjectMeta`"
    )]
    IndexOfNothing {
        /// The controller.
        controller: String,
        /// The index.
        name: &'static str,
    },
}

/// A declaration whose place may still depend on that of `for`.
pub(super) struct Pending<R> {
    pub(super) place: Option<Place>,
    pub(super) role: &'static str,
    pub(super) kind: String,
    pub(super) optional: bool,
    pub(super) resolve: Box<dyn FnOnce(Place) -> Box<dyn Declaration<R>> + Send>,
}

impl<R: Reconciler> ControllerBuilder<R> {
    /// Checks the declarations and builds the controller.
    pub fn build(mut self, reconciler: R) -> Result<Controller, BuildError>
    where
        R::Object: Cacheable,
    {
        R::indexes(&mut self);
        self.check_settings()?;
        let Some((kind, namespaced)) = self.kind.clone() else {
            return Err(BuildError::NoFor {
                controller: self.name,
            });
        };
        let mut kinds = self.declarations.iter().filter(|pending| pending.role == FOR);
        if kinds.nth(1).is_some() {
            return Err(BuildError::ForTwice {
                controller: self.name,
            });
        }
        let mut primaries = self.declarations.iter().filter(|pending| pending.role == FOR);
        if primaries.any(|pending| pending.optional) {
            return Err(BuildError::OptionalFor {
                controller: self.name,
                kind: kind.kind,
            });
        }
        let declarations = self.resolve()?;
        self.check_indexes(&declarations)?;
        let watches_host = declarations.iter().any(|watch| watch.summary().place.has_host());
        let uses_host = watches_host || self.uses.iter().any(|(_, uses)| uses.place.has_host());
        Ok(Controller::new(Parts {
            uses_host,
            name: self.name,
            settings: self.settings,
            declarations,
            indexes: self.indexes,
            on_fleet: self.on_fleet,
            uses: self.uses,
            tombstones: self.tombstones,
            kind,
            namespaced,
            reconciler: Arc::new(reconciler),
        }))
    }

    fn check_settings(&self) -> Result<(), BuildError> {
        let (controller, settings) = (self.name.clone(), &self.settings);
        if !is_label_value(&controller) {
            return Err(BuildError::Name { controller });
        }
        let zeros = [
            ("concurrency", settings.concurrency == 0),
            ("per_cluster", settings.per_cluster == Some(0)),
            ("timeout", settings.timeout.is_zero()),
            ("resync", settings.resync.is_some_and(|period| period.is_zero())),
        ];
        if let Some((setting, _)) = zeros.into_iter().find(|(_, zero)| *zero) {
            return Err(BuildError::Zero { controller, setting });
        }
        if let Err(fault) = settings.clusters.check() {
            return Err(BuildError::Clusters { controller, fault });
        }
        let concurrency = settings.concurrency;
        if let Some(per_cluster) = settings.per_cluster.filter(|cap| *cap > concurrency) {
            return Err(BuildError::CapAboveAll {
                controller,
                per_cluster,
                concurrency,
            });
        }
        Ok(())
    }

    /// Gives every declaration its place.
    fn resolve(&mut self) -> Result<Vec<Box<dyn Declaration<R>>>, BuildError> {
        let primary = self.declarations.iter().find(|pending| pending.role == FOR);
        let home = primary.and_then(|pending| pending.place).unwrap_or_default();
        let mut declarations: Vec<Box<dyn Declaration<R>>> = Vec::with_capacity(self.declarations.len());
        for pending in std::mem::take(&mut self.declarations) {
            let owned = pending.role == OWNS;
            let inherited = if owned { home } else { Place::default() };
            let place = pending.place.unwrap_or(inherited);
            let (controller, kind) = (self.name.clone(), pending.kind);
            if owned && place != home {
                return Err(BuildError::OwnsElsewhere {
                    controller,
                    kind,
                    place,
                    home,
                });
            }
            let declaration = (pending.resolve)(place);
            if let Some(place) = overlap(&declarations, declaration.summary()) {
                return Err(BuildError::Twice {
                    controller,
                    kind,
                    place,
                });
            }
            declarations.push(declaration);
        }
        Ok(declarations)
    }

    fn check_indexes(&self, declarations: &[Box<dyn Declaration<R>>]) -> Result<(), BuildError> {
        for (at, index) in self.indexes.iter().enumerate() {
            let (controller, name) = (self.name.clone(), index.name());
            if self.indexes[..at].iter().any(|other| other.name() == name) {
                return Err(BuildError::IndexTwice { controller, name });
            }
            if !declarations
                .iter()
                .any(|declaration| index.covers(declaration.summary()))
            {
                return Err(BuildError::IndexOfNothing { controller, name });
            }
        }
        Ok(())
    }
}

/// What an API server takes as the value of a label, except nothing at all.
fn is_label_value(text: &str) -> bool {
    let inside = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let at_the_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= 63 && bytes.iter().all(inside) && at_the_end(bytes.first()) && at_the_end(bytes.last())
}

/// Where a kind is declared already, if on the same place.
fn overlap<R: Reconciler>(declared: &[Box<dyn Declaration<R>>], new: &Summary) -> Option<Place> {
    let mut declared = declared.iter().map(|declaration| declaration.summary());
    let same = declared.find(|old| {
        let on_host = old.place.has_host() && new.place.has_host();
        let on_fleet = old.place.has_fleet() && new.place.has_fleet();
        (on_host || on_fleet) && old.scope.resource == new.scope.resource
    });
    same.map(|old| old.place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Context, HandWired, Watch};
    use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
    use kube::core::PartialObjectMeta;
    use std::time::Duration;

    struct Nothing;
    impl HandWired for Nothing {}
    impl Reconciler for Nothing {
        type Object = ConfigMap;
        async fn reconcile(&self, _: Arc<ConfigMap>, _: Context<Self>) -> crate::Result<Action> {
            Ok(Action::await_change())
        }
    }

    fn built(wire: impl FnOnce(&mut ControllerBuilder<Nothing>)) -> Result<Controller, BuildError> {
        let mut wiring = ControllerBuilder::new("nothing");
        wire(&mut wiring);
        wiring.build(Nothing)
    }

    #[test]
    fn a_plan_says_each_declaration_with_the_place_that_owns_inherits() {
        let controller = built(|wiring| {
            wiring.for_kind(Watch::new().on(Place::Host).labels("a=b"));
            wiring.owns::<Secret>(Watch::new().namespaces(["x", "y"]).fields("type=Opaque"));
            wiring.owns::<Service>(Watch::new().optional());
            wiring.uses::<Secret>(crate::Uses::new());
            wiring.uses::<ConfigMap>(crate::Uses::new().verbs(&["get", "list"]));
        });
        let plan = controller.unwrap().plan();
        assert_eq!(
            plan,
            [
                "for ConfigMap on host with labels a=b",
                "owns Secret on host (metadata) in x, y with fields type=Opaque",
                "owns Service on host (metadata), optional",
                "uses Secret on fleet",
                "uses ConfigMap on fleet (get, list)",
            ]
        );
    }

    #[test]
    fn contradictions_are_refused_with_what_to_write() {
        let refused = |wire: fn(&mut ControllerBuilder<Nothing>)| built(wire).unwrap_err().to_string();
        let nothing = refused(|_| {});
        let no_permit = refused(|w| {
            w.for_kind(Watch::new()).concurrency(0);
        });
        let no_time = refused(|w| {
            w.for_kind(Watch::new()).timeout(Duration::ZERO);
        });
        let no_period = refused(|w| {
            w.for_kind(Watch::new()).resync(Duration::ZERO);
        });
        let cap = refused(|w| {
            w.for_kind(Watch::new()).concurrency(4).per_cluster(8);
        });
        let two_kinds = refused(|w| {
            w.for_kind(Watch::new().labels("a=b"));
            w.for_kind(Watch::new().on(Place::Host));
        });
        let optional = refused(|w| {
            w.for_kind(Watch::new().optional());
        });
        let twice = refused(|w| {
            w.for_kind(Watch::new()).owns_full::<ConfigMap>(Watch::new());
        });
        let elsewhere = refused(|w| {
            w.for_kind(Watch::new())
                .owns::<Secret>(Watch::new().on(Place::Host));
        });
        let of_nothing = refused(|w| {
            w.for_kind(Watch::new()).owns::<Secret>(Watch::new());
            w.index("by_type", |secret: &Secret| secret.type_.clone());
        });
        let same_name = refused(|w| {
            w.for_kind(Watch::new());
            w.index("by_name", |config: &ConfigMap| config.metadata.name.clone());
            w.index("by_name", |config: &ConfigMap| config.metadata.namespace.clone());
        });
        let cases = [
            (nothing, "call `for_kind`"),
            (no_permit, "`concurrency` is zero"),
            (no_time, "`timeout` is zero"),
            (no_period, "`resync` is zero"),
            (cap, "`per_cluster` is 8, larger than `concurrency`, which is 4"),
            (two_kinds, "call `for_kind` once"),
            (optional, "leave `optional` out"),
            (twice, "declare it once"),
            (elsewhere, "owner references do not cross clusters"),
            (of_nothing, "index `PartialObjectMeta`"),
            (same_name, "two indexes called `by_name`"),
        ];
        for (said, expected) in cases {
            assert!(said.contains(expected), "{said}");
        }
    }

    #[test]
    fn a_name_that_no_label_takes_is_refused() {
        let long = "a".repeat(64);
        for name in ["", "two words", "-dash", "dot.", "ünlaut", &long] {
            let mut wiring = ControllerBuilder::new(name);
            wiring.for_kind(Watch::new());
            let refused = wiring.build(Nothing).unwrap_err();
            let controller = name.to_owned();
            assert_eq!(refused, BuildError::Name { controller });
        }
        for name in ["a", "Tokens_2.beta", &long[1..]] {
            let mut wiring = ControllerBuilder::new(name);
            wiring.for_kind(Watch::new());
            assert!(wiring.build(Nothing).is_ok(), "{name}");
        }
    }

    #[test]
    fn one_kind_on_two_places_and_an_index_of_kept_metadata_are_fine() {
        let controller = built(|wiring| {
            wiring.for_kind(Watch::new()).owns::<Service>(Watch::new());
            wiring.watches(Watch::<ConfigMap>::new().on(Place::Host), |_, _, _| {
                crate::Requests::none()
            });
            wiring.index("by_name", |service: &PartialObjectMeta<Service>| {
                service.metadata.name.clone()
            });
        });
        assert!(controller.unwrap().uses_host());
    }
}
