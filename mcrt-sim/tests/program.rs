//! The program `mcrt-sim`, as its users run it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests, helpers included")]

mod common;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{eventually, within};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};

/// A directory and a child process that go with the test.
struct Running {
    directory: PathBuf,
    child: Child,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

impl Running {
    fn start(name: &str, arguments: &[&str]) -> Self {
        let directory = std::env::temp_dir().join(format!("mcrt-sim-{name}-{}", std::process::id()));
        let objects = directory.join("objects");
        fs::create_dir_all(objects.join("cluster-2")).unwrap();
        let object = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
        fs::write(objects.join("a.yaml"), object("everywhere")).unwrap();
        fs::write(objects.join("cluster-2/b.yaml"), object("second")).unwrap();
        let out = fs::File::create(directory.join("out")).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_mcrt-sim"))
            .args(["--clusters", "2", "--kubeconfig"])
            .arg(directory.join("fleet.yaml"))
            .arg("--load")
            .arg(objects)
            .args(arguments)
            .stdout(out)
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        Self { directory, child }
    }

    fn out(&self) -> String {
        fs::read_to_string(self.directory.join("out")).unwrap_or_default()
    }

    async fn config_maps(&self, context: &str) -> Api<ConfigMap> {
        let kubeconfig = Kubeconfig::read_from(self.directory.join("fleet.yaml")).unwrap();
        let options = KubeConfigOptions {
            context: Some(context.to_owned()),
            ..KubeConfigOptions::default()
        };
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .unwrap();
        Api::default_namespaced(kube::Client::try_from(config).unwrap())
    }
}

async fn names(api: &Api<ConfigMap>) -> Vec<String> {
    let list = within(api.list(&ListParams::default())).await.unwrap();
    let names = list.items.into_iter().filter_map(|it| it.metadata.name);
    names.filter(|name| name != "kube-root-ca.crt").collect()
}

#[tokio::test]
async fn a_fleet_is_served_with_its_objects_until_it_is_interrupted() {
    let mut running = Running::start("serves", &[]);
    eventually(|| running.out(), |out| out.contains("serving until")).await;
    assert!(
        running.out().contains("cluster-2  https://127.0.0.1:"),
        "{}",
        running.out()
    );
    assert_eq!(
        names(&running.config_maps("cluster-1").await).await,
        ["everywhere"]
    );
    assert_eq!(
        names(&running.config_maps("cluster-2").await).await,
        ["everywhere", "second"]
    );
    let pid = running.child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    eventually(|| running.out(), |out| out.matches("lists").count() == 2).await;
    let ended = within(async {
        loop {
            match running.child.try_wait().unwrap() {
                Some(status) => return status,
                None => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    });
    assert!(ended.await.success());
}

#[tokio::test]
async fn a_fleet_can_be_plain_and_lively() {
    let running = Running::start(
        "churns",
        &["--plain", "--churn", "200", "--kubernetes", "v1.33.1"],
    );
    eventually(|| running.out(), |out| out.contains("serving until")).await;
    assert!(
        running.out().contains("cluster-1  http://127.0.0.1:"),
        "{}",
        running.out()
    );
    let api = running.config_maps("cluster-1").await;
    let params = WatchParams::default().labels("mcrt.dev/churn=yes");
    let mut events = within(api.watch(&params, "0")).await.unwrap().boxed();
    for _ in 0..20 {
        within(events.try_next()).await.unwrap().unwrap();
    }
    let version = api.into_client().apiserver_version().await.unwrap();
    assert_eq!(version.git_version, "v1.33.1");
}

#[test]
fn what_cannot_be_loaded_is_named() {
    let missing = Command::new(env!("CARGO_BIN_EXE_mcrt-sim"))
        .args(["--load", "/no/such/directory"])
        .output();
    let said = String::from_utf8(missing.unwrap().stderr).unwrap();
    assert!(said.contains("failed to load /no/such/directory"), "{said}");
}
