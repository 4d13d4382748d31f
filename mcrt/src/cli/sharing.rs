//! Flags that say how replicas of a program share its clusters.
use crate::{StartError, coordinator::Sharding};
use std::time::Duration;

/// With whom a program shares its clusters.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Replicas")]
#[non_exhaustive]
pub struct SharingArgs {
    /// Shares the clusters with the replicas that say the same, through Leases on the host; without it a program works
    /// on all of them
    #[arg(long, env = "MCRT_SHARD_GROUP", value_name = "NAME")]
    pub shard_group: Option<String>,

    /// The namespace of the Leases [default: that of the way to the host]
    #[arg(
        long,
        env = "MCRT_SHARD_NAMESPACE",
        value_name = "NAMESPACE",
        requires = "shard_group"
    )]
    pub shard_namespace: Option<String>,

    /// How large this replica's part is, beside the weights of others [default: 1]
    #[arg(
        long,
        env = "MCRT_SHARD_WEIGHT",
        value_name = "NUMBER",
        requires = "shard_group"
    )]
    pub shard_weight: Option<u32>,

    /// For how many seconds the clusters of a replica that vanished stay without one [default: 30]
    #[arg(
        long,
        env = "MCRT_SHARD_LEASE",
        value_name = "SECONDS",
        requires = "shard_group"
    )]
    pub shard_lease: Option<u64>,
}

impl SharingArgs {
    /// What flags say goes before what the program says.
    pub(super) fn sharding(&self, wanted: Option<Sharding>) -> Result<Option<Sharding>, StartError> {
        let Some(mut sharding) = wanted.or_else(|| self.shard_group.as_ref().map(Sharding::new)) else {
            return Ok(None);
        };
        if let Some(group) = &self.shard_group {
            sharding.group.clone_from(group);
        }
        if let Some(namespace) = &self.shard_namespace {
            sharding = sharding.namespace(namespace);
        }
        if let Some(weight) = self.shard_weight {
            sharding = sharding.weight(weight);
        }
        if let Some(seconds) = self.shard_lease {
            sharding = sharding.lease(Duration::from_secs(seconds));
        }
        sharding
            .fault()
            .map_or(Ok(Some(sharding)), |fault| Err(StartError::Sharding(fault)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::args::Standalone;
    use super::*;
    use clap::Parser;

    fn read(flags: &[&str]) -> Result<SharingArgs, clap::Error> {
        let flags = std::iter::once(&"program").chain(flags);
        Standalone::try_parse_from(flags).map(|args| args.launch.sharing)
    }

    #[test]
    fn flags_go_before_what_the_program_says_and_need_a_group() {
        let flags = [
            "--shard-group",
            "g",
            "--shard-weight",
            "3",
            "--shard-lease",
            "9",
            "--shard-namespace",
            "ops",
        ];
        let said = Sharding::new("g")
            .weight(3)
            .lease(Duration::from_secs(9))
            .namespace("ops");
        let args = read(&flags).unwrap();
        assert_eq!(args.sharding(None).unwrap(), Some(said.clone()));
        let program = Sharding::new("program").replica("r").weight(2);
        assert_eq!(args.sharding(Some(program)).unwrap(), Some(said.replica("r")));
        assert_eq!(read(&[]).unwrap().sharding(None).unwrap(), None);
        assert!(read(&["--shard-weight", "3"]).is_err());
        let fault = read(&["--shard-group", "a/b"])
            .unwrap()
            .sharding(None)
            .unwrap_err()
            .to_string();
        assert!(fault.contains("`a/b` is no value of a label"), "{fault}");
    }
}
