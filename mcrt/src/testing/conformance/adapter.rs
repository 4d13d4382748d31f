//! What the kit has to know of a provider: how to describe clusters to it.
#![expect(
    async_fn_in_trait,
    reason = "the kit awaits these where it calls them, in the test's own task"
)]
use super::{Member, Reach, Site};
use crate::{connect::Access, provider::Provider};
use kube::Client;
use std::{fmt, sync::Arc};

/// A provider under test and the hand that describes clusters to it: writes files, creates objects, calls functions.
///
/// A cluster is known to the kit by a *key*, a short DNS label such as `one`; what the provider makes of it is said by
/// [`cluster`](Self::cluster). Every verb returns when the description is written; the kit waits for what follows.
///
/// A verb that the provider has nothing for is named by [`lacks`](Self::lacks), with the reason; its function is then
/// never called. One that is neither implemented nor lacking fails the check.
///
/// # Assumptions
/// - Several adapters are used at once, in one process and perhaps on one host: what they describe is told apart by
///   [`Site::id`] and [`Site::namespace`].
/// - A [`Client`] is taken from the site when it is needed, and not kept.
pub trait Adapter: Sized + 'static {
    /// The provider's name, for reports.
    const NAME: &'static str;

    /// Gets ready, with no cluster described.
    async fn begin(site: &Site) -> Self;

    /// The provider. Asked for again, it stands for the program that was started again.
    fn provider(&self) -> Arc<dyn Provider>;

    /// How the provider reaches its host, if it does; best with its least rights ([`Site::host_as`]).
    fn host(&self) -> Option<Access> {
        None
    }

    /// Why this verb has no meaning for the provider; nothing for those that are implemented.
    fn lacks(verb: Verb) -> Option<&'static str>;

    /// The name of a key's cluster in the fleet.
    fn cluster(&self, key: &str) -> String {
        key.to_owned()
    }

    /// Where objects of a key's cluster are, whose description leads to this member.
    fn spot(&self, key: &str, member: &Member) -> Spot {
        let _ = key;
        Spot {
            client: member.client(),
            namespace: "default".to_owned(),
        }
    }

    /// Describes a new cluster, in a way that can be used at once.
    async fn add(&self, key: &str, reach: &Reach);

    /// Takes a description away.
    async fn remove(&self, key: &str);

    /// [`Verb::Touch`].
    async fn touch(&self, key: &str) {
        missing::<Self>(Verb::Touch, key);
    }

    /// [`Verb::PointElsewhere`].
    async fn point_elsewhere(&self, key: &str, reach: &Reach) {
        let _ = reach;
        missing::<Self>(Verb::PointElsewhere, key);
    }

    /// [`Verb::Rotate`].
    async fn rotate(&self, key: &str, reach: &Reach) {
        let _ = reach;
        missing::<Self>(Verb::Rotate, key);
    }

    /// [`Verb::Spoil`].
    async fn spoil(&self, key: &str) {
        missing::<Self>(Verb::Spoil, key);
    }

    /// [`Verb::AddSpoilt`].
    async fn add_spoilt(&self, key: &str) {
        missing::<Self>(Verb::AddSpoilt, key);
    }

    /// [`Verb::Noise`].
    async fn noise(&self) {
        missing::<Self>(Verb::Noise, "noise");
    }

    /// [`Verb::Unselect`].
    async fn unselect(&self, key: &str) {
        missing::<Self>(Verb::Unselect, key);
    }

    /// [`Verb::Recreate`].
    async fn recreate(&self, key: &str, reach: &Reach) {
        let _ = reach;
        missing::<Self>(Verb::Recreate, key);
    }

    /// [`Verb::Claim`].
    async fn claim(&self, key: &str, reach: &Reach) {
        let _ = reach;
        missing::<Self>(Verb::Claim, key);
    }

    /// [`Verb::Unready`].
    async fn unready(&self, key: &str, is_unready: bool) {
        let _ = is_unready;
        missing::<Self>(Verb::Unready, key);
    }

    /// [`Verb::Leave`].
    async fn leave(&self, key: &str) {
        missing::<Self>(Verb::Leave, key);
    }

    /// Keys that make uncommon names of clusters, as far as descriptions can have them: with `/ # + :`, upper case, of
    /// more than 63 characters.
    fn odd_keys(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What can be done to the description of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verb {
    /// Adds a cluster that never answers, by [`Site::silent`]; [`Adapter::add`] does it.
    AddSilent,
    /// Changes something of the description that does not matter, such as an annotation.
    Touch,
    /// Lets the description lead to another server.
    PointElsewhere,
    /// Gives the description other credentials for the same server.
    Rotate,
    /// Makes the description unreadable, or takes what is needed out of it.
    Spoil,
    /// Describes a new cluster in a way that cannot be used.
    AddSpoilt,
    /// Puts things beside the descriptions that are none: without data, with empty data, of other kinds.
    Noise,
    /// Takes away what made a description one, such as its label, but not the rest.
    Unselect,
    /// Takes the description away and describes another cluster by the same name in one breath.
    Recreate,
    /// Lets something else describe a cluster of the same name.
    Claim,
    /// Says that the cluster is not ready to be used, and that it is again.
    Unready,
    /// Begins to delete a description that stays for a while, held by a finalizer.
    Leave,
    /// Has names of clusters that are uncommon: [`Adapter::odd_keys`].
    OddNames,
}

/// Where objects of a cluster are written to.
#[derive(Clone)]
pub struct Spot {
    /// A client that may do everything.
    pub client: Client,
    /// The namespace to use, which is there.
    pub namespace: String,
}

impl fmt::Debug for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Spot").field(&self.namespace).finish()
    }
}

fn missing<A: Adapter>(verb: Verb, key: &str) {
    panic!(
        "the adapter of `{}` cannot do {verb:?} to `{key}`: implement it, or say in `lacks` why the provider has no such thing",
        A::NAME
    );
}
