//! Real control planes start, work, fail on demand and leave nothing behind.

use std::{collections::BTreeMap, error::Error, io, panic::AssertUnwindSafe, path::Path, time::Duration};

use futures::FutureExt as _;
use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace},
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, ObjectMeta, PostParams},
};
use mcrt_tests::{
    control_plane::{ControlPlane, Options, User, assets, start_many},
    eventually,
};

type Outcome = Result<(), Box<dyn Error>>;

/// Generous, because the machines that run this are often busy with other things.
const LIMIT: Duration = Duration::from_mins(1);

/// Whether a process is there and not merely unreaped.
fn is_running(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        stat.rsplit(')')
            .next()
            .is_some_and(|rest| !rest.trim_start().starts_with('Z'))
    })
}

fn assert_gone(pids: &[u32], folder: &Path) {
    let left = pids.iter().filter(|pid| is_running(**pid)).collect::<Vec<_>>();
    assert!(left.is_empty(), "still running: {left:?}");
    assert!(!folder.exists(), "{} was left behind", folder.display());
}

fn config_map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("key".to_owned(), "value".to_owned())])),
        ..ConfigMap::default()
    }
}

async fn create_namespace(client: &Client, name: &str) -> Outcome {
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    };
    let namespace = Namespace {
        metadata,
        ..Namespace::default()
    };
    Api::all(client.clone())
        .create(&PostParams::default(), &namespace)
        .await?;
    Ok(())
}

#[tokio::test]
async fn two_control_planes_hold_different_objects_and_refuse_each_others_tokens() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let planes = start_many(2, &assets, &Options::default()).await?;
    for (number, plane) in planes.iter().enumerate() {
        let config_maps = Api::<ConfigMap>::default_namespaced(plane.client());
        config_maps
            .create(&PostParams::default(), &config_map(&format!("of-{number}")))
            .await?;
    }
    for (number, plane) in planes.iter().enumerate() {
        let config_maps = Api::<ConfigMap>::default_namespaced(plane.client());
        let names = config_maps.list(&ListParams::default()).await?;
        let names = names.iter().map(ResourceExt::name_any).collect::<Vec<_>>();
        assert_eq!(names, [format!("of-{number}")]);
    }

    let mut stranger = planes[0].config();
    stranger.auth_info.token = Some(planes[1].admin_token().into());
    let refused = Client::try_from(stranger)?.list_core_api_versions().await;
    assert!(
        matches!(&refused, Err(kube::Error::Api(status)) if status.code == 401),
        "{refused:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_user_without_rights_is_forbidden() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let plane = ControlPlane::start(&assets).await?;
    let config_maps = Api::<ConfigMap>::default_namespaced(plane.client_of(User::Limited));
    let refused = config_maps.list(&ListParams::default()).await;
    assert!(
        matches!(&refused, Err(kube::Error::Api(status)) if status.code == 403),
        "{refused:?}"
    );
    Ok(())
}

#[tokio::test]
async fn the_controllers_publish_the_root_ca_collect_garbage_and_empty_namespaces() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let plane = ControlPlane::start_with_controllers(&assets).await?;
    let client = plane.client();
    create_namespace(&client, "team").await?;
    let config_maps = Api::<ConfigMap>::namespaced(client.clone(), "team");

    let published = eventually(LIMIT, "the root CA in a new namespace", async || {
        config_maps.get("kube-root-ca.crt").await
    })
    .await;
    assert_eq!(
        published.data.unwrap_or_default()["ca.crt"].trim(),
        plane.ca_pem().trim()
    );

    let owner = config_maps
        .create(&PostParams::default(), &config_map("owner"))
        .await?;
    let mut dependent = config_map("dependent");
    dependent.metadata.owner_references = Some(vec![OwnerReference {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: owner.name_any(),
        uid: owner.uid().unwrap_or_default(),
        ..OwnerReference::default()
    }]);
    config_maps.create(&PostParams::default(), &dependent).await?;
    config_maps.delete("owner", &DeleteParams::default()).await?;
    eventually(LIMIT, "the dependent object to be collected", async || {
        gone(config_maps.get_opt("dependent").await)
    })
    .await;

    let namespaces = Api::<Namespace>::all(client);
    namespaces.delete("team", &DeleteParams::default()).await?;
    eventually(LIMIT, "the namespace to be gone", async || {
        gone(namespaces.get_opt("team").await)
    })
    .await;
    Ok(())
}

fn gone<T>(found: kube::Result<Option<T>>) -> Result<(), String> {
    match found {
        Ok(None) => Ok(()),
        Ok(Some(_)) => Err("still there".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[tokio::test]
async fn a_frozen_api_server_answers_nothing_until_it_is_thawed() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let plane = ControlPlane::start(&assets).await?;
    let client = plane.client();
    client.apiserver_version().await?;

    plane.freeze();
    let silent = tokio::time::timeout(Duration::from_secs(1), client.apiserver_version()).await;
    assert!(silent.is_err(), "a frozen server answered: {silent:?}");
    plane.thaw();
    eventually(LIMIT, "an answer of the thawed server", async || {
        client.apiserver_version().await
    })
    .await;
    Ok(())
}

#[tokio::test]
async fn a_killed_api_server_comes_back_with_its_objects_address_and_certificate() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let plane = ControlPlane::start(&assets).await?;
    let config_maps = Api::<ConfigMap>::default_namespaced(plane.client());
    config_maps
        .create(&PostParams::default(), &config_map("kept"))
        .await?;

    plane.kill_api_server();
    let refused = config_maps.get("kept").await;
    assert!(refused.is_err(), "a killed server answered: {refused:?}");
    plane.start_api_server().await?;
    eventually(LIMIT, "the object of before", async || {
        config_maps.get("kept").await
    })
    .await;
    Ok(())
}

#[tokio::test]
async fn a_replaced_token_is_refused_and_its_successor_accepted() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let plane = ControlPlane::start(&assets).await?;
    let before = plane.config();
    plane.replace_admin_token().await?;
    let refused = Client::try_from(before)?.list_core_api_versions().await;
    assert!(
        matches!(&refused, Err(kube::Error::Api(status)) if status.code == 401),
        "{refused:?}"
    );
    plane.client().list_core_api_versions().await?;
    Ok(())
}

#[tokio::test]
async fn a_kubeconfig_alone_is_enough_to_get_in() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let plane = ControlPlane::start(&assets).await?;
    let contexts = ["one", "two"].map(str::to_owned);
    let kubeconfig = kube::config::Kubeconfig::from_yaml(&plane.kubeconfig_of(User::Admin, &contexts))?;
    for context in contexts {
        let options = kube::config::KubeConfigOptions {
            context: Some(context),
            ..Default::default()
        };
        let config = kube::Config::from_custom_kubeconfig(kubeconfig.clone(), &options).await?;
        let version = Client::try_from(config)?.apiserver_version().await?;
        assert_eq!(version.major, "1");
    }
    Ok(())
}

#[tokio::test]
async fn a_stopped_control_plane_leaves_nothing_behind() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let plane = ControlPlane::start_with_controllers(&assets).await?;
    let (pids, folder) = (plane.pids(), plane.folder().to_owned());
    assert_eq!(pids.len(), 4);
    assert!(pids.iter().all(|pid| is_running(*pid)));
    // Frozen, because a process that does not run must still be ended.
    plane.freeze();
    plane.stop().await;
    assert_gone(&pids, &folder);
    Ok(())
}

#[tokio::test]
async fn a_panic_leaves_nothing_behind() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let mut left = None;
    let panicked = AssertUnwindSafe(async {
        let plane = ControlPlane::start(&assets).await.unwrap();
        left = Some((plane.pids(), plane.folder().to_owned()));
        panic!("in the middle of a test");
    })
    .catch_unwind()
    .await;
    assert!(panicked.is_err());
    let (pids, folder) = left.ok_or("the control plane did not start")?;
    assert_gone(&pids, &folder);
    Ok(())
}

/// The processes that name a path in their arguments: all of a control plane name its folder.
fn processes_with(path: &Path) -> Vec<u32> {
    let path = path.to_string_lossy();
    let named = |pid: &u32| {
        std::fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|arguments| String::from_utf8_lossy(&arguments).contains(&*path))
    };
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(named)
        .collect()
}

#[tokio::test]
async fn a_killed_test_leaves_nothing_behind() -> Outcome {
    let Some(_) = assets()? else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    // Its files go to a folder of their own, by which its processes are found; the kubeconfig goes elsewhere.
    let files = folder.path().join("files");
    std::fs::create_dir(&files)?;
    let kubeconfig = folder.path().join("kubeconfig");
    let mut killed = tokio::process::Command::new(env!("CARGO_BIN_EXE_control-plane"))
        .arg("--kubeconfig")
        .arg(&kubeconfig)
        .env("TMPDIR", &files)
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    eventually(3 * LIMIT, "a control plane in another process", async || {
        std::fs::metadata(&kubeconfig)
    })
    .await;
    assert_eq!(processes_with(&files).len(), 3);

    killed.kill().await?;
    eventually(LIMIT, "its processes and files to be gone", async || {
        let (processes, left) = (processes_with(&files), std::fs::read_dir(&files)?.count());
        if processes.is_empty() && left == 0 {
            Ok(())
        } else {
            Err(io::Error::other(format!(
                "processes {processes:?}, {left} folders"
            )))
        }
    })
    .await;
    Ok(())
}

#[tokio::test]
async fn a_program_that_ends_at_once_fails_the_start_with_its_log() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let options = Options::default().with_api_server_argument("--no-such-flag");
    let failed = ControlPlane::start_with(&assets, &options)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        failed.contains("kube-apiserver ended") && failed.contains("no-such-flag"),
        "{failed}"
    );
    Ok(())
}
