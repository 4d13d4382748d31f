//! A credential program as inventories know it under the name `secretreader`: prints the token of the Secret of the host
//! that is called like the cluster, as the profile says in its extension.
use std::{env, error::Error};

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let info: Value = serde_json::from_str(&env::var("KUBERNETES_EXEC_INFO")?)?;
    let cluster = &info["spec"]["cluster"];
    if cluster["server"].as_str().is_none_or(str::is_empty) {
        return Err("not told of a server".into());
    }
    let name = cluster["config"]["clusterName"].as_str();
    let name = name.ok_or("not told of a `clusterName`")?;
    // The namespace is that of the kubeconfig's context.
    let secrets = Api::<Secret>::default_namespaced(Client::try_default().await?);
    let secret = secrets.get(name).await?;
    let token = secret.data.as_ref().and_then(|data| data.get("token"));
    let token = String::from_utf8(token.ok_or("the Secret has no `token`")?.0.clone())?;
    let credential = json!({
        "apiVersion": info["apiVersion"], "kind": "ExecCredential", "status": {"token": token},
    });
    println!("{credential}");
    Ok(())
}
