//! Kubeconfig files that change, break, lie about certificates, hold refused tokens, or name a program that hangs.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use mcrt::{Cluster, ClusterName, Health, connect::Policy, providers::File};
use mcrt_sim::Authority;
use mcrt_tests::{Running, control_plane::ControlPlane, eventually, logs::Logs, proxy::Proxy};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use crate::{
    Outcome, address, planes, through,
    work::{LIMIT, Work},
};

/// What is promised of a change, a second for the look at the file, and what a loaded machine may add.
const FOLLOWED: Duration = Duration::from_secs(2 + 1 + 5);

/// A folder with one kubeconfig.
struct Source {
    folder: TempDir,
    file: PathBuf,
}

impl Source {
    fn of(text: &str) -> std::io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("kubeconfig");
        let source = Self { folder, file };
        source.write(text)?;
        Ok(source)
    }

    /// As tools do: readers see the old file or the new one.
    fn write(&self, text: &str) -> std::io::Result<()> {
        let beside = self.folder.path().join("beside.new");
        std::fs::write(&beside, text)?;
        std::fs::rename(&beside, &self.file)
    }

    fn provider(&self) -> File {
        File::new([self.file.clone()])
    }
}

/// A kubeconfig of the administrator, changed: contexts and what is in each is JSON by then.
fn changed(plane: &ControlPlane, contexts: &[&str], change: impl Fn(&str, &mut Value, &mut Value)) -> String {
    let ca = mcrt::k8s_openapi::ByteString(plane.ca_pem().as_bytes().to_vec());
    let entries = contexts.iter().map(|name| {
        let mut cluster = json!({ "server": plane.server_url(), "certificate-authority-data": ca });
        let mut user = json!({ "token": plane.admin_token() });
        change(name, &mut cluster, &mut user);
        (name, cluster, user)
    });
    let entries: Vec<_> = entries.collect();
    let each = |entry: &dyn Fn(&(&&str, Value, Value)) -> Value| -> Vec<Value> {
        entries.iter().map(entry).collect()
    };
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": each(&|(name, cluster, _)| json!({ "name": name, "cluster": cluster })),
        "users": each(&|(name, _, user)| json!({ "name": name, "user": user })),
        "contexts": each(&|(name, ..)| json!({ "name": name, "context": { "cluster": name, "user": name } })),
    });
    kubeconfig.to_string()
}

fn engaged(running: &Running, name: &str) -> Option<Cluster> {
    let name: ClusterName = name.try_into().unwrap();
    running.handle().fleet().get(&name)
}

async fn health(running: &Running, name: &str, what: &str, is: impl Fn(Health) -> bool) {
    eventually(LIMIT, &format!("{name} is {what}"), async || {
        match engaged(running, name).map(|cluster| cluster.health()) {
            Some(health) if is(health) => Ok(()),
            health => Err(format!("{health:?}")),
        }
    })
    .await;
}

async fn no_connection(proxy: &Proxy) {
    eventually(LIMIT, "no connection", async || match proxy.open() {
        0 => Ok(()),
        open => Err(format!("{open} connections")),
    })
    .await;
}

fn one(name: &str) -> Vec<String> {
    vec![name.to_owned()]
}

#[tokio::test]
async fn a_changed_address_is_followed_though_the_old_one_still_works() -> Outcome {
    let Some(planes) = planes().await? else {
        return Ok(());
    };
    let plane = &planes.good;
    let (old, new) = (Proxy::to(address(plane)).await?, Proxy::to(address(plane)).await?);
    let source = Source::of(&through(plane, "moves", old.address()))?;
    let work = Work::of("mcrt.dev/moves");
    work.apply(plane, "moves-before", "first").await?;
    let running = work.start(source.provider(), Vec::new());
    work.until(&one("moves"), "moves-before", 1).await;
    assert_eq!(new.open(), 0);

    source.write(&through(plane, "moves", new.address()))?;
    let written = Instant::now();
    eventually(LIMIT, "requests go the new way", async || {
        match (old.open(), new.open()) {
            (0, open) if open > 0 => Ok(()),
            open => Err(format!("{open:?}")),
        }
    })
    .await;
    assert!(written.elapsed() < FOLLOWED, "{:?}", written.elapsed());
    work.apply(plane, "moves-after", "first").await?;
    work.until(&one("moves"), "moves-after", 1).await;
    assert_eq!(old.open(), 0);
    running.stop().await;
    no_connection(&new).await;
    Ok(())
}

#[tokio::test]
async fn a_kubeconfig_that_breaks_keeps_the_last_good_connection_and_its_deletion_does_not() -> Outcome {
    let Some(planes) = planes().await? else {
        return Ok(());
    };
    let plane = &planes.good;
    let logs = Logs::keep();
    let proxy = Proxy::to(address(plane)).await?;
    let good = through(plane, "breaks", proxy.address());
    let source = Source::of(&good)?;
    let work = Work::of("mcrt.dev/breaks");
    work.apply(plane, "breaks-before", "first").await?;
    let running = work.start(source.provider(), Vec::new());
    work.until(&one("breaks"), "breaks-before", 1).await;
    let first = engaged(&running, "breaks").ok_or("not engaged")?;

    source.write("clusters: [unfinished")?;
    eventually(LIMIT, "it is said", async || {
        match logs.with(&["WARN", "kubeconfig"]).len() {
            0 => Err(logs.text()),
            _ => Ok(()),
        }
    })
    .await;
    work.apply(plane, "breaks-meanwhile", "first").await?;
    work.until(&one("breaks"), "breaks-meanwhile", 1).await;
    // Healthy, and broken by the network alone: it is found again as it was, by what was good last.
    proxy.cut();
    sleep(Duration::from_secs(1)).await;
    proxy.mend(address(plane));
    work.apply(plane, "breaks-after", "first").await?;
    work.until(&one("breaks"), "breaks-after", 1).await;
    assert_eq!(
        engaged(&running, "breaks").as_ref(),
        Some(&first),
        "its life went on"
    );
    assert_eq!(
        work.runs("breaks", "breaks-before").len(),
        1,
        "nothing was listed anew"
    );

    std::fs::remove_file(&source.file)?;
    eventually(LIMIT, "it is gone", async || {
        match (engaged(&running, "breaks"), proxy.open()) {
            (None, 0) if first.connection_tasks() == 0 => Ok(()),
            left => Err(format!("{left:?}")),
        }
    })
    .await;
    running.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_server_with_another_certificate_than_promised_is_named_and_hurts_no_other() -> Outcome {
    let Some(planes) = planes().await? else {
        return Ok(());
    };
    let plane = &planes.good;
    let logs = Logs::keep();
    let other = Authority::new("somebody else")?;
    let contexts = ["lies-not", "lies"];
    let source = Source::of(&changed(plane, &contexts, |name, cluster, _| {
        if name == "lies" {
            let pem = other.pem().as_bytes().to_vec();
            cluster["certificate-authority-data"] = json!(mcrt::k8s_openapi::ByteString(pem));
        }
    }))?;
    let work = Work::of("mcrt.dev/lies");
    work.apply(plane, "lies-object", "first").await?;
    let running = work.start(source.provider(), Vec::new());
    work.until(&one("lies-not"), "lies-object", 1).await;
    eventually(LIMIT, "it is said", async || {
        match logs.with(&["WARN", "cluster=lies ", "certificate"]).len() {
            0 => Err(logs.text()),
            _ => Ok(()),
        }
    })
    .await;
    let told = logs.with(&["cluster=lies "]);
    assert!(told.len() < 10, "{told:#?}");
    assert!(work.runs("lies", "lies-object").is_empty());
    assert!(logs.with(&["WARN", "cluster=lies-not"]).is_empty(), "{logs:?}");

    source.write(&changed(plane, &contexts, |_, _, _| {}))?;
    work.until(&one("lies"), "lies-object", 1).await;
    health(&running, "lies", "ready", Health::is_ready).await;
    running.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_refused_token_is_told_hurts_no_other_and_is_healed_by_a_good_one() -> Outcome {
    let Some(planes) = planes().await? else {
        return Ok(());
    };
    let plane = &planes.good;
    let contexts = ["rots-not", "rots"];
    let rotten = |name: &str, _: &mut Value, user: &mut Value| {
        if name == "rots" {
            user["token"] = "nobody-s".into();
        }
    };
    let source = Source::of(&changed(plane, &contexts, rotten))?;
    let work = Work::of("mcrt.dev/rots");
    work.apply(plane, "rots-object", "first").await?;
    let running = work.start(source.provider(), Vec::new());
    work.until(&one("rots-not"), "rots-object", 1).await;
    let unauthorized = |health| matches!(health, Health::Unauthorized { status: 401, .. });
    health(&running, "rots", "unauthorized", unauthorized).await;
    assert!(work.runs("rots", "rots-object").is_empty());

    let rots = engaged(&running, "rots").ok_or("not engaged")?;
    source.write(&changed(plane, &contexts, |_, _, _| {}))?;
    work.until(&one("rots"), "rots-object", 1).await;
    health(&running, "rots", "ready", Health::is_ready).await;
    assert_eq!(
        engaged(&running, "rots"),
        Some(rots),
        "it is the same user: its life went on"
    );
    assert_eq!(work.runs("rots-not", "rots-object").len(), 1);
    running.stop().await;
    Ok(())
}

/// A program that prints no credentials, for ever, and says which process it is.
fn hanging_program(folder: &Path) -> std::io::Result<PathBuf> {
    let program = folder.join("hangs");
    let pid = folder.join("pid");
    std::fs::write(
        &program,
        format!("#!/bin/sh\necho $$ > {}\nexec sleep 600\n", pid.display()),
    )?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    Ok(program)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_credential_program_that_hangs_holds_up_its_cluster_alone_and_ends_with_it() -> Outcome {
    let Some(planes) = planes().await? else {
        return Ok(());
    };
    let plane = &planes.good;
    let programs = tempfile::tempdir()?;
    let program = hanging_program(programs.path())?;
    let contexts = ["hangs", "b", "c", "d", "e", "f"];
    let exec = json!({
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": program,
        "interactiveMode": "Never",
    });
    let kubeconfig = |contexts: &[&str]| {
        changed(plane, contexts, |name, _, user| {
            if name == "hangs" {
                *user = json!({ "exec": exec });
            }
        })
    };
    let source = Source::of(&kubeconfig(&contexts))?;
    let work = Work::of("mcrt.dev/hangs");
    work.apply(plane, "hangs-object", "first").await?;
    let policy = Policy::own_files().allow_command(program.display().to_string());
    let running = work.start(source.provider().policy(policy), Vec::new());
    let others: Vec<_> = contexts[1..].iter().map(|&name| name.to_owned()).collect();
    work.until(&others, "hangs-object", 1).await;
    let pid = eventually(LIMIT, "the program runs", async || {
        let pid = std::fs::read_to_string(programs.path().join("pid"));
        match pid.as_deref().map(str::trim) {
            Ok(pid) if !pid.is_empty() => Ok(pid.to_owned()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
    let process = PathBuf::from("/proc").join(pid);
    assert!(process.exists(), "it hangs");
    assert!(work.runs("hangs", "hangs-object").is_empty());

    source.write(&kubeconfig(&contexts[1..]))?;
    eventually(LIMIT, "the program has ended", async || {
        match (engaged(&running, "hangs"), process.exists()) {
            (None, false) => Ok(()),
            left => Err(format!("{left:?}")),
        }
    })
    .await;
    running.stop().await;
    Ok(())
}
