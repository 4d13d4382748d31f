//! Credential programs: which may run, and how they are asked.
use super::{
    super::{
        connection::ExecPlugin,
        error::Rejected,
        kubeconfig::EXEC,
        policy::{cleaned, is_name},
    },
    field::{At, unknown},
    nonempty,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use kube::config::{Cluster, ExecConfig, ExecInteractiveMode};
use serde_json::{Map, Value};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

const PROGRAM: &str = "runs a program on the controller's machine: give the user a token or a client certificate, or \
                       allow the program with `Policy::allow_command`, or `--allow-exec NAME` for files";
const V1: &str = "client.authentication.k8s.io/v1";
const V1_BETA1: &str = "client.authentication.k8s.io/v1beta1";
/// Name of the extension of a cluster that is meant for its plugin.
const EXTENSION: &str = "client.authentication.k8s.io/exec";
/// Linux takes no string of more than 128 KiB in an environment; some of it is for the rest of the message.
const LONGEST_INFO: usize = 120 * 1024;
/// Variables that choose programs, libraries and code: with them an allowed program would be another. Those that end in
/// `_` stand for all that begin so.
const CHOOSING: &[&str] = &[
    "PATH",
    "LD_",
    "DYLD_",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "BASH_",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "IFS",
    "PS4",
    "NODE_",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PYTHONINSPECT",
    "PERL5OPT",
    "PERL5LIB",
    "PERL5DB",
    "RUBYOPT",
    "RUBYLIB",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
];

/// What a program may be told of the cluster.
pub(super) struct Told<'a> {
    pub(super) cluster: &'a Cluster,
    /// PEM.
    pub(super) authorities: Option<&'a [u8]>,
}

pub(super) fn plugin(config: &ExecConfig, told: &Told<'_>, at: &At<'_>) -> Result<ExecPlugin, Rejected> {
    let command = command(config, at)?;
    unknown(&config.other, at, ".exec", EXEC)?;
    let args = config.args.clone().unwrap_or_default();
    if args.iter().any(|arg| arg.contains('\0')) {
        return Err(at.invalid(".exec.args", "holds a NUL character"));
    }
    Ok(ExecPlugin {
        api_version: api_version(config, at)?.to_owned(),
        command,
        args,
        env: env(config, at)?,
        cluster_info: cluster_info(config, told, at)?,
        install_hint: config.install_hint.clone(),
    })
}

fn command(config: &ExecConfig, at: &At<'_>) -> Result<PathBuf, Rejected> {
    let field = ".exec.command";
    let written = nonempty(config.command.as_ref()).unwrap_or_default();
    let command = Path::new(written);
    let (command, placed) = if is_name(command) {
        (command.to_owned(), true)
    } else {
        // Files have had theirs completed; a kubeconfig without a directory cannot.
        (cleaned(command), command.is_absolute())
    };
    at.allow(placed && at.policy.allows_command(&command), ".exec", PROGRAM)?;
    if written.contains('\0') {
        return Err(at.invalid(field, "holds a NUL character"));
    }
    Ok(command)
}

fn api_version<'a>(config: &'a ExecConfig, at: &At<'_>) -> Result<&'a str, Rejected> {
    let version = config.api_version.as_deref().unwrap_or_default();
    if ![V1, V1_BETA1].contains(&version) {
        return Err(at.invalid(".exec.apiVersion", format!("must be {V1} or {V1_BETA1}")));
    }
    let field = ".exec.interactiveMode";
    match &config.interactive_mode {
        Some(ExecInteractiveMode::Always) => Err(at.unsupported(
            field,
            "nobody can answer a controller's questions: use Never or IfAvailable",
        )),
        None if version == V1 => Err(at.invalid(field, format!("missing, which {V1} requires: say Never"))),
        // Nobody is there, so "if available" is "never".
        Some(ExecInteractiveMode::Never | ExecInteractiveMode::IfAvailable) | None => Ok(version),
    }
}

fn env(config: &ExecConfig, at: &At<'_>) -> Result<Vec<(String, String)>, Rejected> {
    let field = ".exec.env";
    let variable = |given: &HashMap<String, String>| {
        if given.keys().any(|key| key != "name" && key != "value") {
            return Err(at.unsupported(
                field,
                "has a field that is not known: each has `name` and `value`",
            ));
        }
        let part = |part: &str| given.get(part).cloned().unwrap_or_default();
        let (name, value) = (part("name"), part("value"));
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            let reason = "holds a variable without a name, or with a character that none can have";
            return Err(at.invalid(field, reason));
        }
        let upper = name.to_ascii_uppercase();
        if CHOOSING
            .iter()
            .any(|start| upper == *start || start.ends_with('_') && upper.starts_with(start))
        {
            let reason = "sets PATH or another variable by which the linker, a shell or an interpreter chooses what it \
                          runs: set it for the controller instead";
            return Err(at.unsupported(field, reason));
        }
        Ok((name, value))
    };
    config.env.iter().flatten().map(variable).collect()
}

/// The JSON of `spec.cluster`.
fn cluster_info(config: &ExecConfig, told: &Told<'_>, at: &At<'_>) -> Result<Option<String>, Rejected> {
    if !config.provide_cluster_info {
        return Ok(None);
    }
    let cluster = told.cluster;
    let text = |text: Option<&String>| nonempty(text).map(Value::from);
    let extensions = cluster.extensions.iter().flatten();
    let given = [
        ("server", text(cluster.server.as_ref())),
        ("tls-server-name", text(cluster.tls_server_name.as_ref())),
        (
            "insecure-skip-tls-verify",
            cluster
                .insecure_skip_tls_verify
                .filter(|skip| *skip)
                .map(Value::from),
        ),
        (
            "certificate-authority-data",
            told.authorities.map(|pem| STANDARD.encode(pem).into()),
        ),
        ("proxy-url", text(cluster.proxy_url.as_ref())),
        (
            "disable-compression",
            cluster
                .disable_compression
                .filter(|disable| *disable)
                .map(Value::from),
        ),
        (
            "config",
            extensions
                .filter(|extension| extension.name == EXTENSION)
                .map(|extension| extension.extension.clone())
                .next(),
        ),
    ];
    let given = given
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)));
    let info = Value::Object(given.collect::<Map<_, _>>()).to_string();
    if info.len() > LONGEST_INFO {
        let reason = "cannot be told: the certificate authorities and the extension are too long for a variable of the \
                      environment";
        return Err(at.invalid(".exec.provideClusterInfo", reason));
    }
    Ok(Some(info))
}
