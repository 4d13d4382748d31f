//! Gives every team's ConfigMap, in every cluster, a token made with the team's key on the host.
use hmac::{Hmac, KeyInit, Mac};
use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Secret},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use mcrt::{Action, Context, MapContext, Request, multicluster_controller, reconciler};
use sha2::Sha256;
use std::{collections::BTreeMap, fmt::Write, sync::Arc};

#[cfg(feature = "sim")]
mod demo;
#[cfg(feature = "sim")]
pub use demo::demo;

/// On a ConfigMap of any cluster: the team it belongs to.
pub const TEAM: &str = "mcrt.dev/team";
/// The entry of a key Secret that holds the key.
pub const KEY: &str = "key";
/// The entry of an owned Secret that holds the token.
pub const TOKEN: &str = "token";

/// Writes a Secret beside every ConfigMap labelled with a team, in every cluster.
///
/// A team's key is the Secret of the team's name on the host, in the host's default namespace.
#[multicluster_controller(
    for(ConfigMap, labels = "mcrt.dev/team"),
    owns = Secret,
    watches(Secret, on = host, labels = "mcrt.dev/signing-key"),
)]
#[derive(Debug)]
pub struct TeamTokens {
    /// Who is said to have issued the tokens.
    pub issuer: String,
}

#[reconciler]
impl TeamTokens {
    #[reconcile]
    async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
        let (Some(team), Some(name)) = (Self::by_team(&config), &config.metadata.name) else {
            return Ok(Action::await_change());
        };
        let key = cx.host().cached::<Secret>(&team)?;
        let Some(key) = key.as_deref().and_then(key_of) else {
            // The key's arrival is a change of the host, which brings the ConfigMap back here.
            return Ok(Action::await_change());
        };
        let request = cx.request().to_string();
        let token = token(&self.issuer, &team, &request, key);
        let written = cx.apply(&secret(name, token, cx.owner_reference())).await?;
        // What the store knows already was not written by this apply.
        let known = cx.cached::<Secret>(name)?;
        if known.is_none_or(|known| known.metadata.resource_version != written.metadata.resource_version) {
            println!("{request}: wrote the token of team {team}");
        }
        Ok(Action::await_change())
    }

    #[index]
    fn by_team(config: &ConfigMap) -> Option<String> {
        config.metadata.labels.as_ref()?.get(TEAM).cloned()
    }

    /// A key that changes on the host touches its team's objects in every cluster.
    #[map]
    fn rotated(&self, key: &Secret, cx: MapContext<Self>) -> Vec<Request<ConfigMap>> {
        let team = key.metadata.name.iter();
        team.flat_map(|team| cx.index(Self::BY_TEAM).requests(team))
            .collect()
    }
}

fn key_of(secret: &Secret) -> Option<&[u8]> {
    Some(&secret.data.as_ref()?.get(KEY)?.0)
}

/// `ISSUER.TEAM.MAC`: good for one object of one cluster, and only while the key lasts.
///
/// Whoever has the key can make it again, and so tell whether a token is right.
///
/// # Panics
/// Never: HMAC takes keys of any length.
pub fn token(issuer: &str, team: &str, request: &str, key: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    for part in [issuer, team, request] {
        mac.update(part.as_bytes());
        // Keeps `ab` + `c` from being `a` + `bc`: none of the parts holds a zero byte.
        mac.update(&[0]);
    }
    let mut token = format!("{issuer}.{team}.");
    for byte in mac.finalize().into_bytes() {
        // Writing to a string cannot fail.
        let _ = write!(token, "{byte:02x}");
    }
    token
}

fn secret(name: &str, token: String, owner: OwnerReference) -> Secret {
    Secret {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([(
            TOKEN.to_owned(),
            ByteString(token.into_bytes()),
        )])),
        ..Secret::default()
    }
}
