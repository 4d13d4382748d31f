//! Where a kind is watched: on the host, on the fleet, or on both; as a value, and as types that the relations
//! between a controller and its kinds are keyed by.
use std::fmt;

/// Where a declaration applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// Every cluster of the fleet.
    #[default]
    Fleet,
    /// The host alone.
    Host,
    /// The host and every cluster of the fleet.
    All,
}

impl Place {
    /// Whether the place has the host in it.
    pub fn has_host(self) -> bool {
        self != Self::Fleet
    }

    /// Whether the place has the fleet in it.
    pub fn has_fleet(self) -> bool {
        self != Self::Host
    }

    pub(crate) fn contains(self, host: bool) -> bool {
        if host { self.has_host() } else { self.has_fleet() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fleet => "fleet",
            Self::Host => "host",
            Self::All => "all",
        })
    }
}

/// The place of every cluster of the fleet, as a type.
#[derive(Debug)]
pub struct Fleet;

/// The place of the host alone, as a type.
#[derive(Debug)]
pub struct Host;

/// The place of the host and every cluster of the fleet, as a type.
#[derive(Debug)]
pub struct All;
