//! Connections that lead elsewhere than their kubeconfig says, vetted as if it said so.
use super::{
    super::{
        connection::{Connection, Credentials, ExecPlugin},
        error::Rejected,
        policy::Policy,
    },
    address,
    field::At,
    tls,
};
use kube::config::Cluster;
use serde_json::{Map, Value};
use std::sync::Arc;

/// How errors name the place: no kubeconfig has it.
const PLACE: &str = "the address given instead";

pub(in super::super) fn server(
    connection: &mut Connection,
    server: &str,
    policy: &Policy,
) -> Result<(), Rejected> {
    let cluster = Cluster {
        server: Some(server.to_owned()),
        // What was let through for the sake of the former address need not be for this one.
        proxy_url: connection.proxy.as_ref().map(ToString::to_string),
        ..Cluster::default()
    };
    let at = At::new(&connection.context, policy, PLACE.to_owned());
    connection.server = address::server(&cluster, &at)?;
    connection.proxy = address::proxy(&cluster, &at)?;
    tell(connection, "server", server);
    Ok(())
}

pub(in super::super) fn tls_server_name(connection: &mut Connection, name: &str) -> Result<(), Rejected> {
    let cluster = Cluster {
        tls_server_name: Some(name.to_owned()),
        ..Cluster::default()
    };
    let policy = Policy::strict();
    let at = At::new(&connection.context, &policy, PLACE.to_owned());
    connection.tls_server_name = tls::server_name(&cluster, &at)?;
    tell(connection, "tls-server-name", name);
    Ok(())
}

/// A credential program that is told of the cluster is told of the one it is for.
fn tell(connection: &mut Connection, field: &str, value: &str) {
    let Credentials::Exec(plugin) = &connection.credentials else {
        return;
    };
    let info = plugin.cluster_info.as_deref();
    let Some(mut info) = info.and_then(|info| serde_json::from_str::<Map<String, Value>>(info).ok()) else {
        return;
    };
    info.insert(field.to_owned(), value.into());
    connection.credentials = Credentials::Exec(Arc::new(ExecPlugin {
        cluster_info: Some(Value::Object(info).to_string()),
        ..ExecPlugin::clone(plugin)
    }));
}
