//! The Leases of a group on the host: every call that is made, each with a deadline.
//!
//! Nothing is replaced as a whole: another version of Kubernetes may know fields that this one does not.
use super::{duties::Claim, names, rendezvous::Peer};
use crate::cluster::ClusterName;
use k8s_openapi::{
    api::coordination::v1::Lease, apimachinery::pkg::apis::meta::v1::MicroTime, jiff::Timestamp,
};
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;

#[derive(Clone)]
pub(super) struct Leases {
    api: Api<Lease>,
    group: String,
    /// Written on each, for those who wait.
    duration: Duration,
    deadline: Duration,
}

/// Why a call came to nothing. Whether it was carried out is not known then.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("no answer within {0:?}")]
    Overdue(Duration),
    #[error(transparent)]
    Kube(#[from] kube::Error),
}

/// How often a release is tried anew because somebody else wrote to the Lease.
const TRIES: usize = 4;

impl Leases {
    pub(super) fn new(
        client: Client,
        namespace: &str,
        group: &str,
        duration: Duration,
        deadline: Duration,
    ) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            group: group.to_owned(),
            duration,
            deadline,
        }
    }

    /// Writes or renews the Lease of a session. Nothing of it but the time changes: one that was marked as ended stays
    /// so, whenever a request arrives.
    pub(super) async fn renew(&self, me: &Peer) -> Result<(), Failure> {
        let name = names::session(&self.group, &me.id);
        let renewed = json!({"spec": {"renewTime": now()}});
        match self.patch(&name, renewed).await {
            Err(failure) if failure.is(404) => self.begin(&name, me).await,
            renewed => renewed.map(drop),
        }
    }

    async fn begin(&self, name: &str, me: &Peer) -> Result<(), Failure> {
        let notes = json!({names::REPLICA: me.id, names::WEIGHT: me.weight.to_string()});
        let time = now();
        let spec = json!({"holderIdentity": me.id, "acquireTime": time, "renewTime": time});
        self.create(name, names::SESSION, notes, spec).await
    }

    /// Marks a session as ended: nothing of it runs any more.
    pub(super) async fn end(&self, me: &Peer) -> Result<(), Failure> {
        let name = names::session(&self.group, &me.id);
        let ended = json!({"spec": {"holderIdentity": "", "renewTime": now()}});
        match self.patch(&name, ended).await {
            // Whoever deleted it has others wait.
            Err(failure) if failure.is(404) => Ok(()),
            ended => ended.map(drop),
        }
    }

    /// Takes a fence; false if it is not as it was seen.
    pub(super) async fn claim(
        &self,
        me: &Peer,
        cluster: &ClusterName,
        claim: &Claim,
    ) -> Result<bool, Failure> {
        let name = names::fence(&self.group, cluster);
        let (version, transitions) = match claim {
            Claim::New => return self.claim_new(&name, me, cluster).await,
            Claim::Free { version, transitions } => (version, transitions),
        };
        let time = now();
        let claimed = json!({
            // Refused if anything has been written since: of two who take it, one does.
            "metadata": {"resourceVersion": version},
            "spec": {
                "holderIdentity": me.id, "acquireTime": time, "renewTime": time,
                "leaseTransitions": transitions, "leaseDurationSeconds": self.duration.as_secs(),
            },
        });
        unless(self.patch(&name, claimed).await, &[404, 409])
    }

    async fn claim_new(&self, name: &str, me: &Peer, cluster: &ClusterName) -> Result<bool, Failure> {
        let notes = if cluster.is_host() {
            json!({names::HOST: "true"})
        } else {
            json!({names::CLUSTER: cluster.as_str()})
        };
        let time = now();
        let spec =
            json!({"holderIdentity": me.id, "acquireTime": time, "renewTime": time, "leaseTransitions": 0});
        unless(self.create(name, names::FENCE, notes, spec).await, &[409])
    }

    /// Releases a fence, if it still names the session.
    pub(super) async fn give_back(&self, me: &Peer, cluster: &ClusterName) -> Result<(), Failure> {
        self.release(me, cluster).await.map(drop)
    }

    /// Deletes a fence, if it still names the session. It is released first: who sees it vanish while it names a session
    /// that lives has to take it for held.
    pub(super) async fn delete(&self, me: &Peer, cluster: &ClusterName) -> Result<(), Failure> {
        if let Some(version) = self.release(me, cluster).await? {
            // Or somebody has taken it since.
            self.clear(&names::fence(&self.group, cluster), &version).await?;
        }
        Ok(())
    }

    /// Gives the version in which the fence is free; none if it was not this session's.
    async fn release(&self, me: &Peer, cluster: &ClusterName) -> Result<Option<String>, Failure> {
        let name = names::fence(&self.group, cluster);
        for _ in 0..TRIES {
            let Some(version) = self.mine(me, &name).await? else {
                return Ok(None);
            };
            let released = json!({"metadata": {"resourceVersion": version}, "spec": {"holderIdentity": ""}});
            match self.patch(&name, released).await {
                Ok(lease) => return Ok(lease.metadata.resource_version),
                Err(failure) if failure.is(404) || failure.is(409) => {}
                Err(failure) => return Err(failure),
            }
        }
        Err(Failure::Overdue(self.deadline))
    }

    /// Whether a fence names the session; takes it if there is none.
    pub(super) async fn make_sure(&self, me: &Peer, cluster: &ClusterName) -> Result<bool, Failure> {
        let name = names::fence(&self.group, cluster);
        match self.within(self.api.get_opt(&name)).await? {
            None => self.claim_new(&name, me, cluster).await,
            Some(lease) => Ok(holder(&lease) == Some(&me.id)),
        }
    }

    /// Deletes a Lease in this version; false if it is not as it was seen.
    pub(super) async fn clear(&self, name: &str, version: &str) -> Result<bool, Failure> {
        let preconditions = Preconditions {
            resource_version: Some(version.to_owned()),
            uid: None,
        };
        let params = DeleteParams {
            preconditions: Some(preconditions),
            ..DeleteParams::default()
        };
        let deleted = self.within(self.api.delete(name, &params)).await;
        unless(deleted.map(drop), &[404, 409])
    }

    /// The version of a fence that names the session.
    async fn mine(&self, me: &Peer, name: &str) -> Result<Option<String>, Failure> {
        let lease = self.within(self.api.get_opt(name)).await?;
        let mine = lease.filter(|lease| holder(lease) == Some(&me.id));
        Ok(mine.and_then(|lease| lease.metadata.resource_version))
    }

    /// The version of a Lease as the server has it now; none if there is no such Lease.
    pub(super) async fn version(&self, name: &str) -> Result<Option<String>, Failure> {
        let lease = self.within(self.api.get_opt(name)).await?;
        Ok(lease.and_then(|lease| lease.metadata.resource_version))
    }

    async fn create(&self, name: &str, kind: &str, notes: Value, mut spec: Value) -> Result<(), Failure> {
        spec["leaseDurationSeconds"] = self.duration.as_secs().into();
        let labels = json!({names::GROUP: self.group, names::LEASE: kind, names::MANAGED_BY: "mcrt"});
        let metadata = json!({"name": name, "labels": labels, "annotations": notes});
        let lease = serde_json::from_value(json!({"metadata": metadata, "spec": spec}));
        let lease = lease.map_err(kube::Error::SerdeError)?;
        self.within(self.api.create(&PostParams::default(), &lease))
            .await
            .map(drop)
    }

    async fn patch(&self, name: &str, patch: Value) -> Result<Lease, Failure> {
        let params = PatchParams::default();
        self.within(self.api.patch(name, &params, &Patch::Merge(patch)))
            .await
    }

    async fn within<T>(&self, call: impl Future<Output = kube::Result<T>>) -> Result<T, Failure> {
        match timeout(self.deadline, call).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(Failure::Overdue(self.deadline)),
        }
    }
}

impl Failure {
    fn is(&self, code: u16) -> bool {
        matches!(self, Self::Kube(kube::Error::Api(status)) if status.code == code)
    }
}

/// True if it was done; false if the server refused it in one of these ways.
fn unless<T>(done: Result<T, Failure>, refusals: &[u16]) -> Result<bool, Failure> {
    match done {
        Ok(_) => Ok(true),
        Err(failure) if refusals.iter().any(|code| failure.is(*code)) => Ok(false),
        Err(failure) => Err(failure),
    }
}

fn holder(lease: &Lease) -> Option<&String> {
    lease.spec.as_ref()?.holder_identity.as_ref()
}

/// For people who read it: no replica does.
fn now() -> Value {
    serde_json::to_value(MicroTime(Timestamp::now())).unwrap_or_default()
}
