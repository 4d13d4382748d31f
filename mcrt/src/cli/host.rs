//! Which cluster is the host.
use super::LaunchArgs;
use crate::{
    StartError,
    connect::{Access, Connection},
};

/// The host as asked for; else the simulated one; else the cluster that the process runs in; else the current
/// context. `None` where `none` was asked for.
pub(super) fn access(args: &LaunchArgs, simulated: Option<Access>) -> Result<Option<Access>, StartError> {
    let from_files = |context| Connection::from_default_kubeconfig_with(context, &args.policy());
    let connection = match args.host.as_deref() {
        Some("none") => return Ok(None),
        Some("in-cluster") => Connection::in_cluster(),
        Some(other) => match other.strip_prefix("context:") {
            Some(context) => from_files(Some(context)),
            None => return Err(StartError::InvalidHost(other.to_owned())),
        },
        None => match simulated {
            Some(access) => return Ok(Some(access)),
            None if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() => Connection::in_cluster(),
            None => from_files(None),
        },
    };
    connection
        .map(|connection| Some(connection.into()))
        .map_err(StartError::Host)
}
