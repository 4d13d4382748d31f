//! The container engine behind kind: which one it is, and how it lists containers.
use super::{
    Settings,
    listing::{CLUSTER, Listing, ROLE},
    programs::{CHOSEN_ENGINE, ask},
};
use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

/// As kind looks for them.
const KNOWN: [&str; 4] = ["docker", "nerdctl", "finch", "podman"];
/// What kind takes in its environment besides.
const LIMA: &str = "nerdctl.lima";

/// An engine, and how it wants to be asked for labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Engine {
    program: OsString,
    form: Form,
}

/// Templates differ: docker, and podman from 5 on, have a function for labels; nerdctl and older podman have a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Function,
    Map,
}

impl Engine {
    pub(super) fn new(program: impl Into<OsString>) -> Self {
        let program = program.into();
        let name = name(&program);
        let form = if name == "docker" || name == "podman" {
            Form::Function
        } else {
            Form::Map
        };
        Self { program, form }
    }

    /// The one that was chosen, else the first that answers.
    pub(super) async fn find(settings: &Settings) -> Result<Self, String> {
        let environment = std::env::var_os(CHOSEN_ENGINE);
        if let Some(chosen) = chosen(settings.engine.as_deref(), environment.as_deref()) {
            return Ok(Self::new(chosen));
        }
        for name in KNOWN {
            let answer = ask(settings, name.as_ref(), vec!["-v".into()], None).await;
            // What is called docker may be a podman in disguise.
            if answer.is_ok_and(|answer| is_version_of(name, &answer)) {
                return Ok(Self::new(name));
            }
        }
        Err(format!(
            "no container engine answers, of {}: install one, or name it by `{CHOSEN_ENGINE}`",
            KNOWN.join(", ")
        ))
    }

    /// Its name, for kind.
    pub(super) fn name(&self) -> &OsStr {
        name(&self.program)
    }

    /// All containers that kind has made, running or not.
    pub(super) async fn list(&mut self, settings: &Settings) -> Result<Listing, String> {
        let listed = match self.ask(settings).await {
            Err(refusal) if refusal.is_about_template() => {
                let other = Self {
                    program: self.program.clone(),
                    form: self.form.other(),
                };
                match other.ask(settings).await {
                    Ok(listed) => {
                        *self = other;
                        Ok(listed)
                    }
                    Err(_) => Err(refusal),
                }
            }
            listed => listed,
        };
        listed
            .map(|text| Listing::read(&text))
            .map_err(|refusal| refusal.told(&self.program, " ps"))
    }

    async fn ask(&self, settings: &Settings) -> Result<Vec<u8>, super::programs::Refusal> {
        let args = [
            "ps",
            "-a",
            "--no-trunc",
            "--filter",
            &format!("label={CLUSTER}"),
            "--format",
            &self.form.template(),
        ];
        let args = args.map(OsString::from).into();
        let listed = ask(settings, &self.program, args, None).await?;
        Ok(listed.to_vec())
    }
}

impl Form {
    fn other(self) -> Self {
        match self {
            Self::Function => Self::Map,
            Self::Map => Self::Function,
        }
    }

    /// What may hold the separator comes last.
    fn template(self) -> String {
        let label = |key: &str| match self {
            Self::Function => format!("{{{{.Label \"{key}\"}}}}"),
            Self::Map => format!("{{{{index .Labels \"{key}\"}}}}"),
        };
        format!(
            "{{{{.ID}}}}|{{{{.Names}}}}|{{{{.Status}}}}|{{{{.Ports}}}}|{}|{}",
            label(ROLE),
            label(CLUSTER)
        )
    }
}

fn name(program: &OsStr) -> &OsStr {
    Path::new(program).file_name().unwrap_or(program)
}

/// What the program was told beats the environment, of which only values count that kind knows.
fn chosen(told: Option<&OsStr>, environment: Option<&OsStr>) -> Option<OsString> {
    let known = |name: &&OsStr| KNOWN.iter().any(|known| name == known) || *name == LIMA;
    told.or_else(|| environment.filter(known)).map(OsStr::to_owned)
}

fn is_version_of(name: &str, answer: &[u8]) -> bool {
    let answer = String::from_utf8_lossy(answer).to_ascii_lowercase();
    answer.trim_start().starts_with(&format!("{name} version"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kind_is_told_chooses_the_engine() {
        let os = |text: &'static str| Some(OsStr::new(text));
        for (told, environment, expected) in [
            (None, None, None),
            (None, os(""), None),
            (None, os("podman"), Some("podman")),
            (None, os("nerdctl.lima"), Some("nerdctl.lima")),
            (None, os("containerd"), None),
            (os("/opt/podman"), os("docker"), Some("/opt/podman")),
        ] {
            assert_eq!(chosen(told, environment), expected.map(OsString::from));
        }
        assert_eq!(Engine::new("/opt/bin/podman").name(), "podman");
    }

    #[test]
    fn a_podman_that_is_called_docker_is_none() {
        assert!(is_version_of("docker", b"Docker version 28.2.2, build e6534b4\n"));
        assert!(is_version_of("nerdctl", b"nerdctl version 2.1.2\n"));
        assert!(!is_version_of("docker", b"podman version 5.4.0\n"));
    }

    #[test]
    fn a_template_asks_for_labels_in_the_manner_of_the_engine() {
        let template = |engine: &str| Engine::new(engine).form.template();
        assert!(template("docker").ends_with(r#"|{{.Label "io.x-k8s.kind.cluster"}}"#));
        assert!(template("nerdctl").ends_with(r#"|{{index .Labels "io.x-k8s.kind.cluster"}}"#));
    }
}
