//! The name of a cluster.
use std::{borrow::Borrow, fmt, sync::Arc};

/// Longest name of a cluster, in bytes.
const MAX_LEN: usize = 253;

/// The name of a cluster, unique in its fleet.
///
/// Any 1 to 253 bytes without control characters: ARNs, `namespace/name`, `a#b` and `admin@kind` are names.
/// The host, the cluster that the controller itself belongs to, has a name of its own that no member can take;
/// it prints as `host`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterName(Arc<str>);

/// A text that cannot name a cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidClusterName {
    /// The name has no characters; the empty name is the host's.
    #[error("the name of a cluster is empty: give it at least one character")]
    Empty,
    /// The name is longer than 253 bytes.
    #[error("the name of a cluster has {0} bytes: shorten it to 253 or fewer")]
    TooLong(usize),
    /// The name contains a control character.
    #[error("the name of a cluster has a control character at byte {0}: remove it")]
    Control(usize),
}

impl ClusterName {
    /// Checks and wraps a name.
    pub fn new(name: impl AsRef<str>) -> Result<Self, InvalidClusterName> {
        let name = name.as_ref();
        match name.len() {
            0 => return Err(InvalidClusterName::Empty),
            1..=MAX_LEN => {}
            n => return Err(InvalidClusterName::TooLong(n)),
        }
        match name.char_indices().find(|(_, c)| c.is_control()) {
            Some((at, _)) => Err(InvalidClusterName::Control(at)),
            None => Ok(Self(name.into())),
        }
    }

    /// The host's reserved name.
    pub fn host() -> Self {
        Self(Arc::from(""))
    }

    /// Whether this is the host.
    pub fn is_host(&self) -> bool {
        self.0.is_empty()
    }

    /// The name as it is printed: the host's is `host`.
    pub fn as_str(&self) -> &str {
        if self.is_host() { "host" } else { &self.0 }
    }
}

impl fmt::Display for ClusterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for ClusterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_host() {
            f.write_str("<host>")
        } else {
            fmt::Debug::fmt(&*self.0, f)
        }
    }
}

impl TryFrom<&str> for ClusterName {
    type Error = InvalidClusterName;
    fn try_from(name: &str) -> Result<Self, Self::Error> {
        Self::new(name)
    }
}

impl TryFrom<String> for ClusterName {
    type Error = InvalidClusterName;
    fn try_from(name: String) -> Result<Self, Self::Error> {
        Self::new(name)
    }
}

/// Looks up a map keyed by name; the host's key is the empty text.
impl Borrow<str> for ClusterName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_field_are_accepted_as_they_are() {
        for name in [
            "arn:aws:eks:eu-west-1:123:cluster/prod",
            "team-a/prod",
            "a#b",
            "admin@kind",
            "Großbuchstaben",
        ] {
            assert_eq!(ClusterName::new(name).unwrap().as_str(), name);
        }
    }

    #[test]
    fn empty_long_and_control_names_are_refused_with_the_place() {
        assert_eq!(ClusterName::new(""), Err(InvalidClusterName::Empty));
        assert_eq!(
            ClusterName::new("x".repeat(254)),
            Err(InvalidClusterName::TooLong(254))
        );
        assert_eq!(ClusterName::new("a\nb"), Err(InvalidClusterName::Control(1)));
    }

    #[test]
    fn a_member_called_host_is_not_the_host() {
        let member = ClusterName::new("host").unwrap();
        assert_ne!(member, ClusterName::host());
        assert!(!member.is_host());
    }
}
