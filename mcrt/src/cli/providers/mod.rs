//! The flags of each provider, and how a provider is made of them: a file each.
//!
//! A file has a struct of flags that derives `clap::Args` and `Default`, and a function
//! `provider(&LaunchArgs) -> Result<Arc<dyn Provider>, StartError>`. Flags begin with the provider's name, so that those
//! of several never clash. A value that is not said is an `Option` or an empty list: what it then means is said by the
//! provider alone, and is the same for who writes `LaunchArgs::default()`.
use super::LaunchArgs;
use crate::{StartError, provider::Provider};
use std::sync::Arc;

#[cfg(feature = "cluster-api")]
mod cluster_api;
#[cfg(feature = "cluster-profile")]
mod cluster_profile;
#[cfg(feature = "command")]
mod command;
#[cfg(feature = "file")]
mod file;
#[cfg(feature = "kcp")]
mod kcp;
#[cfg(feature = "kind")]
mod kind;
#[cfg(feature = "kubeconfig")]
mod kubeconfig;
#[cfg(feature = "namespace")]
mod namespace;

macro_rules! registry {
    ($($feature:literal => $module:ident::$args:ident,)*) => {
        /// The flags of the providers that are built in.
        #[derive(Clone, Debug, Default, clap::Args)]
        #[non_exhaustive]
        pub struct ProviderArgs {
            $(
                #[doc = concat!("Those of the provider `", $feature, "`.")]
                #[cfg(feature = $feature)]
                #[command(flatten)]
                pub $module: $module::$args,
            )*
        }

        $(#[cfg(feature = $feature)] pub use $module::$args;)*

        /// The provider of this name, if it is built in.
        pub(super) fn named(name: &str, args: &LaunchArgs) -> Option<Result<Arc<dyn Provider>, StartError>> {
            $(
                #[cfg(feature = $feature)]
                if name == $feature {
                    return Some($module::provider(args));
                }
            )*
            let _ = (name, args);
            None
        }
    };
}

// A line for each provider, in the order in which `--help` shows their flags.
registry! {
    "file" => file::FileArgs,
    "command" => command::CommandArgs,
    "kind" => kind::KindArgs,
    "kcp" => kcp::KcpArgs,
    "kubeconfig" => kubeconfig::KubeconfigArgs,
    "cluster-api" => cluster_api::ClusterApiArgs,
    "cluster-profile" => cluster_profile::ClusterProfileArgs,
    "namespace" => namespace::NamespaceArgs,
}

/// What kubeconfigs may ask for that come from objects: what files of the operator's own may is not for them.
#[cfg(any(feature = "kubeconfig", feature = "cluster-api"))]
fn of_objects(allow_exec: &[String], allow_local_servers: bool) -> crate::connect::Policy {
    use crate::connect::Policy;
    let policy = allow_exec.iter().fold(Policy::strict(), Policy::allow_command);
    if allow_local_servers {
        policy.allow_local_servers()
    } else {
        policy
    }
}

/// How clusters are called, as flags say it.
#[cfg(any(feature = "kubeconfig", feature = "cluster-api"))]
fn named_by(how: &str, provider: &str) -> Result<crate::provider::host::Names, StartError> {
    use crate::provider::host::Names;
    match how {
        "short" => Ok(Names::Short),
        "namespaced" => Ok(Names::Namespaced),
        _ => Err(StartError::Provider {
            name: provider.to_owned(),
            reason: format!("`--{provider}-names` is `{how}`: give `short` or `namespaced`"),
        }),
    }
}
