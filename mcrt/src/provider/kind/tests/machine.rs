//! A machine with scripted command lines of kind and of a container engine, first and alone in their search path.
use crate::provider::{providers::Kind, tests::Reader};
use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, sync::Arc, time::Duration};
use tempfile::TempDir;

/// Between two looks.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// An engine prints what is in `containers`, kind what is in `kubeconfigs/NAME`; `noise` goes to the standard error of
/// both, `down` is what the engine complains of, `refusals/NAME` what kind does. What they were asked is in `asked`.
pub(super) struct Machine(TempDir);

const ENGINE: &str = r#"#!/bin/sh
cd "DIRECTORY"
/bin/cat noise >&2
case "$1" in
-v) echo "VERSION"; exit 0;;
esac
echo "NAME $*" >> asked
if [ -e hang ]; then echo $$ > engine-number; /bin/sleep 600 & echo $! > child-number; wait; fi
if [ -e down ]; then /bin/cat down >&2; exit 1; fi
case "$*" in
*"REFUSED"*) echo 'Error: template: ps:1:12: executing "ps" at <REFUSED>: cannot do that' >&2; exit 125;;
"ps -a --no-trunc --filter label=io.x-k8s.kind.cluster --format "*) ;;
*) echo "unknown arguments" >&2; exit 2;;
esac
/bin/cat containers
"#;

const KIND: &str = r#"#!/bin/sh
cd "DIRECTORY"
echo "kind $* by $KIND_EXPERIMENTAL_PROVIDER" >> asked
echo "using $KIND_EXPERIMENTAL_PROVIDER due to KIND_EXPERIMENTAL_PROVIDER" >&2
/bin/cat noise >&2
name=${3#--name=}
if [ -e "hangs/$name" ]; then echo $$ > kind-number; exec /bin/sleep 600; fi
if [ -e "refusals/$name" ]; then /bin/cat "refusals/$name" >&2; exit 1; fi
if [ ! -e "kubeconfigs/$name" ]; then
    echo "ERROR: could not locate any control plane nodes for cluster named '$name'. Use the --name option to select a different cluster" >&2
    exit 1
fi
/bin/cat "kubeconfigs/$name"
echo
"#;

impl Machine {
    /// With docker, and no containers.
    pub(super) fn new() -> Self {
        let machine = Self::without_engine();
        machine.engine("docker", "Docker version 28.2.2, build e6534b4", "index .Labels");
        machine
    }

    pub(super) fn without_engine() -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        for directory in ["bin", "kubeconfigs", "refusals", "hangs"] {
            fs::create_dir(machine.path(directory)).unwrap();
        }
        for file in ["containers", "noise", "asked"] {
            machine.write(file, "");
        }
        machine.program("kind", KIND);
        machine
    }

    /// An engine that calls itself so, and takes no template with the words that it is given last.
    pub(super) fn engine(&self, name: &str, version: &str, refused: &str) {
        let script = ENGINE
            .replace("VERSION", version)
            .replace("NAME", name)
            .replace("REFUSED", refused);
        self.program(name, &script);
    }

    fn program(&self, name: &str, script: &str) {
        let directory = self.0.path().display().to_string();
        let path = self.path("bin").join(name);
        fs::write(&path, script.replace("DIRECTORY", &directory)).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// In one step, so that no script sees half of it.
    pub(super) fn write(&self, name: &str, text: &str) {
        let new = self.path(".new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.path(name)).unwrap();
    }

    pub(super) fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }

    /// What was asked so far.
    pub(super) fn asked(&self) -> String {
        fs::read_to_string(self.path("asked")).unwrap()
    }

    /// Waits until so much was asked so often, while nothing is said.
    pub(super) async fn quiet_until_asked(&self, reader: &mut Reader, what: &str, times: usize) {
        let asked = async {
            while self.asked().matches(what).count() < times {
                assert!(reader.is_quiet(LOOK).await, "nothing is to be said");
            }
        };
        let asked = tokio::time::timeout(Duration::from_mins(1), asked).await;
        asked.unwrap_or_else(|_| panic!("`{what}` is not asked: {}", self.asked()));
    }

    /// The engine lists these lines.
    pub(super) fn lists(&self, lines: &[&str]) {
        self.write("containers", &(lines.join("\n") + "\n"));
    }

    /// These clusters run, each in one container, and give their kubeconfigs.
    pub(super) fn runs(&self, clusters: &[(&str, &str)]) {
        for (cluster, _) in clusters {
            self.gives(cluster, 40000);
        }
        let lines: Vec<_> = clusters.iter().map(|(cluster, id)| up(cluster, id)).collect();
        self.lists(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    }

    /// kind gives a kubeconfig for this cluster.
    pub(super) fn gives(&self, cluster: &str, port: u16) {
        self.write(&format!("kubeconfigs/{cluster}"), &kubeconfig(cluster, port));
    }

    pub(super) fn kind(&self) -> Kind {
        Kind::new().search_path(self.path("bin")).interval(LOOK)
    }

    pub(super) fn follow(&self) -> Reader {
        Reader::of(&Arc::new(self.kind()))
    }
}

/// The line of a control plane that runs.
pub(super) fn up(cluster: &str, id: &str) -> String {
    format!("{id}|{cluster}-control-plane|Up 2 hours|127.0.0.1:40000->6443/tcp|control-plane|{cluster}")
}

/// The line of a control plane that does not.
pub(super) fn stopped(cluster: &str, id: &str) -> String {
    format!("{id}|{cluster}-control-plane|Exited (137) 3 minutes ago||control-plane|{cluster}")
}

/// As kind prints it, with a token in place of a client certificate.
pub(super) fn kubeconfig(cluster: &str, port: u16) -> String {
    format!(
        "apiVersion: v1\nclusters:\n- cluster:\n    server: https://127.0.0.1:{port}\n  name: kind-{cluster}\n\
         contexts:\n- context:\n    cluster: kind-{cluster}\n    user: kind-{cluster}\n  name: kind-{cluster}\n\
         current-context: kind-{cluster}\nkind: Config\npreferences: {{}}\nusers:\n- name: kind-{cluster}\n  user:\n    \
         token: secret\n"
    )
}
