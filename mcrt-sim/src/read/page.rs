//! Continue tokens: where the next page of a list starts, and the version that all pages show.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::state::object::ObjectKey;

/// Where a page starts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Position {
    /// The version the page shows; nothing for the present one.
    pub(crate) version: Option<u64>,
    pub(crate) after: ObjectKey,
}

/// The token in the form of a real server, which clients must not look into and some people do.
#[derive(Deserialize, Serialize)]
struct Token {
    #[serde(default)]
    v: String,
    #[serde(default)]
    rv: i64,
    #[serde(default)]
    start: String,
    /// The logical cluster, where a list shows several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cluster: Option<String>,
}

const VERSION: &str = "meta.k8s.io/v1";

impl Position {
    /// The token for the objects of one namespace or of all.
    pub(crate) fn encode(&self, namespace: Option<&str>) -> String {
        let ObjectKey {
            cluster,
            namespace: of,
            name,
        } = &self.after;
        let start = if namespace.is_some() || of.is_empty() {
            format!("{name}\0")
        } else {
            format!("{of}/{name}\0")
        };
        let rv = self
            .version
            .map_or(-1, |version| i64::try_from(version).unwrap_or(i64::MAX));
        let token = Token {
            v: VERSION.to_owned(),
            rv,
            start,
            cluster: cluster.as_deref().map(str::to_owned),
        };
        // Text and a number: nothing in it can fail to be written.
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
    }

    /// Reads a token; the error is the sentence for people.
    pub(crate) fn decode(token: &str, namespace: Option<&str>) -> Result<Self, String> {
        let invalid = |why: &str| format!("continue key is not valid: {why}");
        let bytes = URL_SAFE_NO_PAD
            .decode(token)
            .map_err(|error| invalid(&error.to_string()))?;
        let token: Token = serde_json::from_slice(&bytes).map_err(|error| invalid(&error.to_string()))?;
        if token.v != VERSION {
            return Err(format!(
                "server does not recognize this encoded version {}",
                token.v
            ));
        }
        if token.rv == 0 {
            return Err("continue token is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)".to_owned());
        }
        let start = token.start.trim_start_matches('/');
        if start.is_empty() {
            return Err(
                "continue token is not valid: encoded start key empty (version meta.k8s.io/v1)".to_owned(),
            );
        }
        if start.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(invalid(&token.start));
        }
        let key = start.strip_suffix('\0').unwrap_or(start);
        let after = match (namespace, key.split_once('/')) {
            (Some(namespace), _) => ObjectKey::new(namespace, key),
            (None, Some((namespace, name))) => ObjectKey::new(namespace, name),
            (None, None) => ObjectKey::new("", key),
        };
        let after = after.within(token.cluster.map(Into::into));
        Ok(Self {
            version: u64::try_from(token.rv).ok(),
            after,
        })
    }
}
