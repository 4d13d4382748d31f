//! The operator's file: which program gives the credentials of which access provider (KEP-5339).
use super::fields::Fields;
use crate::connect::read_text;
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf, absolute},
    sync::Arc,
};

const VERSIONS: [&str; 2] = [
    "client.authentication.k8s.io/v1",
    "client.authentication.k8s.io/v1beta1",
];

/// Which program gives the credentials of which access provider, as the operator of the controller says: the file that
/// KEP-5339 defines, in its format.
///
/// ```json
/// {"providers": [{
///   "name": "secretreader",
///   "execConfig": {
///     "apiVersion": "client.authentication.k8s.io/v1",
///     "command": "/usr/local/bin/secretreader-plugin",
///     "args": null, "env": [{"name": "LOG", "value": "none"}], "provideClusterInfo": true
///   },
///   "profileSourcedCLIArgsPolicy": "Ignore",
///   "profileSourcedEnvVarsPolicy": "Ignore"
/// }]}
/// ```
/// The order counts: of the providers that a profile offers the first in the file is used. Only programs that are named
/// here run; a profile names none. Keys may be in any case, and `null` is as good as nothing; but a field or a policy that
/// is not known is an error, and so is a name that is there twice. `interactiveMode` is always `Never`. A command without
/// a separator is looked up in `PATH`, any other is taken from the working directory.
#[derive(Clone)]
pub struct ProviderFile {
    programs: Arc<[Program]>,
}

/// Why a provider file cannot be used. No value of the file is told, but names of providers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("access provider file{}: {reason}", .path.as_ref().map(|path| format!(" {}", path.display())).unwrap_or_default())]
#[non_exhaustive]
pub struct ProviderFileError {
    /// The file, if it came from one.
    pub path: Option<PathBuf>,
    /// Where in it, what is wrong, and what to do.
    pub reason: String,
}

/// One entry. Has no `Debug`: arguments and environment may be secret.
#[derive(Clone)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) api_version: String,
    /// A name, or an absolute path.
    pub(super) command: String,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) provide_cluster_info: bool,
    pub(super) install_hint: Option<String>,
    pub(super) profile_args: ProfileArgs,
    pub(super) profile_env: ProfileEnv,
}

/// What becomes of arguments that a profile brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProfileArgs {
    Ignore,
    Append,
}

/// What becomes of variables that a profile brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProfileEnv {
    Ignore,
    AppendIfNotExists,
    Replace,
}

impl ProviderFile {
    /// Where the file lies if nothing else is said, as for programs in Go.
    pub const DEFAULT_PATH: &str = "clusterprofile-provider-file.json";

    /// Reads the file. Blocks for it.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ProviderFileError> {
        let path = path.as_ref();
        let text = read_text(path).map_err(|error| error.to_string());
        let read = text.and_then(|text| programs(&text));
        match read {
            Ok(programs) => Ok(Self { programs }),
            Err(reason) => Err(ProviderFileError {
                path: Some(path.to_owned()),
                reason,
            }),
        }
    }

    /// Reads the text of such a file.
    pub fn from_json(text: &str) -> Result<Self, ProviderFileError> {
        match programs(text) {
            Ok(programs) => Ok(Self { programs }),
            Err(reason) => Err(ProviderFileError { path: None, reason }),
        }
    }

    /// The names of the access providers, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.programs.iter().map(|program| program.name.as_str())
    }

    /// In the order of the file.
    pub(super) fn programs(&self) -> &[Program] {
        &self.programs
    }
}

/// Names and commands alone.
impl fmt::Debug for ProviderFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self
            .programs
            .iter()
            .map(|program| (&program.name, &program.command));
        f.debug_map().entries(entries).finish()
    }
}

fn programs(text: &str) -> Result<Arc<[Program]>, String> {
    // The parser's own words quote nothing while the target is any value.
    let file: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    let mut fields = Fields::of(&file, "")?;
    let entries = fields.list("providers")?;
    fields.end()?;
    let programs = entries
        .iter()
        .enumerate()
        .map(|(at, entry)| program(entry, &format!("providers[{at}]")))
        .collect::<Result<Vec<_>, _>>()?;
    let mut names = BTreeSet::new();
    if let Some(twice) = programs.iter().find(|program| !names.insert(&program.name)) {
        return Err(format!(
            "providers: `{}` is there more than once: keep one",
            twice.name
        ));
    }
    if programs.is_empty() {
        return Err("providers: empty: name the program of at least one access provider".to_owned());
    }
    Ok(programs.into())
}

fn program(entry: &Value, at: &str) -> Result<Program, String> {
    let mut fields = Fields::of(entry, at)?;
    let name = fields.text("name")?.filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| fields.invalid("name", "missing"))?;
    let profile_args = match fields.text("profileSourcedCLIArgsPolicy")? {
        None | Some("" | "Ignore") => ProfileArgs::Ignore,
        Some("Append") => ProfileArgs::Append,
        Some(_) => {
            let reason = "not a policy: Ignore (the default) or Append";
            return Err(fields.invalid("profileSourcedCLIArgsPolicy", reason));
        }
    };
    let profile_env = match fields.text("profileSourcedEnvVarsPolicy")? {
        None | Some("" | "Ignore") => ProfileEnv::Ignore,
        Some("AppendIfNotExists") => ProfileEnv::AppendIfNotExists,
        Some("Replace") => ProfileEnv::Replace,
        Some(_) => {
            let reason = "not a policy: Ignore (the default), AppendIfNotExists or Replace";
            return Err(fields.invalid("profileSourcedEnvVarsPolicy", reason));
        }
    };
    let exec = fields.take("execConfig")?;
    let exec = exec.ok_or_else(|| fields.invalid("execConfig", "missing"))?;
    let exec = Fields::of(exec, fields.path("execConfig"))?;
    fields.end()?;
    let program = Program {
        name: name.to_owned(),
        api_version: String::new(),
        command: String::new(),
        args: Vec::new(),
        env: Vec::new(),
        provide_cluster_info: false,
        install_hint: None,
        profile_args,
        profile_env,
    };
    executable(exec, program)
}

fn executable(mut exec: Fields<'_>, mut program: Program) -> Result<Program, String> {
    let version = exec.text("apiVersion")?.unwrap_or_default();
    if !VERSIONS.contains(&version) {
        return Err(exec.invalid(
            "apiVersion",
            &format!("must be {} or {}", VERSIONS[0], VERSIONS[1]),
        ));
    }
    version.clone_into(&mut program.api_version);
    let written = exec.text("command")?.filter(|command| !command.is_empty());
    let written = written.ok_or_else(|| exec.invalid("command", "missing"))?;
    program.command = command(written).map_err(|reason| exec.invalid("command", &reason))?;
    program.args = exec.texts("args")?;
    program.env = env(&mut exec)?;
    program.provide_cluster_info = exec.flag("provideClusterInfo")?;
    program.install_hint = exec
        .text("installHint")?
        .filter(|hint| !hint.is_empty())
        .map(str::to_owned);
    if !matches!(
        exec.text("interactiveMode")?,
        None | Some("" | "Never" | "IfAvailable" | "Always")
    ) {
        return Err(exec.invalid("interactiveMode", "not a mode: say Never"));
    }
    // Go programs that write such a file write these too.
    for internal in [
        "config",
        "stdinUnavailable",
        "stdinUnavailableMessage",
        "pluginPolicy",
    ] {
        exec.take(internal)?;
    }
    exec.end()?;
    Ok(program)
}

fn env(exec: &mut Fields<'_>) -> Result<Vec<(String, String)>, String> {
    let at = exec.path("env");
    let variable = |(number, variable)| {
        let mut fields = Fields::of(variable, format!("{at}[{number}]"))?;
        let name = fields.text("name")?.filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| fields.invalid("name", "missing"))?.to_owned();
        let value = fields.text("value")?.unwrap_or_default().to_owned();
        fields.end()?;
        Ok((name, value))
    };
    exec.list("env")?.iter().enumerate().map(variable).collect()
}

/// A name is looked up in `PATH` when it runs; a path is made absolute now.
fn command(written: &str) -> Result<String, String> {
    if !written.contains(std::path::is_separator) {
        return Ok(written.to_owned());
    }
    let path = absolute(written).map_err(|error| error.kind().to_string())?;
    path.into_os_string()
        .into_string()
        .map_err(|_| "lies in a directory whose name is not UTF-8".to_owned())
}
