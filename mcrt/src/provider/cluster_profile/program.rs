//! From an offered access provider and the operator's program for it to a connection. Runs nothing: the program runs
//! when the first request needs what it gives.
use super::file::{ProfileArgs, ProfileEnv, Program, ProviderFile};
use crate::{
    apis::cluster_profile::{AccessProvider, AccessProviderCluster, ClusterProfile, NamedExtension},
    cluster::ObjectKey,
    connect::{Connection, Policy},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use kube::config::Kubeconfig;
use serde_json::{Value, json};

/// The extension that is meant for the program.
const CONFIG: &str = "client.authentication.k8s.io/exec";
const ADDITIONAL_ARGS: &str = "clusterprofiles.multicluster.x-k8s.io/exec/additional-args";
const ADDITIONAL_ENV: &str = "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs";
/// So many names are told where a profile offers others than the file has.
const TOLD: usize = 5;
/// So many characters of each: the definition of the kind sets no limit.
const LONGEST_NAME: usize = 100;

/// How the profile says that its cluster is reached, by the first program of the file that it has an offer for.
pub(super) fn connection(
    file: &ProviderFile,
    key: &ObjectKey,
    profile: &ClusterProfile,
    policy: &Policy,
) -> Result<Connection, String> {
    let offered = profile.access_providers();
    let mut matching = file.programs().iter();
    let chosen = matching.find_map(|program| Some((program, *offered.get(&*program.name)?)));
    let Some((program, way)) = chosen else {
        return Err(unmatched(file, offered.into_keys()));
    };
    let of_way = |reason: String| format!("access provider `{}`: {reason}", program.name);
    let cluster = way.cluster.as_ref().filter(|cluster| !cluster.server.is_empty());
    let cluster = cluster.ok_or_else(|| {
        of_way("has no server: not ready yet, its manager has to say where the API server is".to_owned())
    })?;
    let policy = policy.clone().allow_command(&program.command);
    let name = key.to_string();
    let kubeconfig = kubeconfig(&name, way, cluster, program).map_err(of_way)?;
    Connection::from_kubeconfig_with(&kubeconfig, &name, &policy).map_err(|error| of_way(error.to_string()))
}

fn unmatched<'a>(file: &ProviderFile, offered: impl Iterator<Item = &'a str>) -> String {
    let listed = |names: &mut dyn Iterator<Item = &str>| {
        let short = |name: &str| {
            name.chars()
                .take(LONGEST_NAME)
                .flat_map(char::escape_debug)
                .collect::<String>()
        };
        let names: Vec<_> = names
            .take(TOLD)
            .map(|name| format!("`{}`", short(name)))
            .collect();
        names.join(", ")
    };
    let mut offered = offered.peekable();
    if offered.peek().is_none() {
        return "offers no access provider: not ready yet, its manager has to name one".to_owned();
    }
    format!(
        "offers the access providers {}, and the file has programs for {}: add one of those",
        listed(&mut offered),
        listed(&mut file.names())
    )
}

/// What `kubectl` would be given, for the vetting that all kubeconfigs pass.
pub(super) fn kubeconfig(
    name: &str,
    way: &AccessProvider,
    cluster: &AccessProviderCluster,
    program: &Program,
) -> Result<Kubeconfig, String> {
    let mut described = cluster.clone();
    described.extensions.retain(|extension| extension.name == CONFIG);
    described.certificate_authority_data = cluster.certificate_authority_data.as_deref().map(unwrapped);
    if described
        .certificate_authority_data
        .as_ref()
        .is_some_and(|data| !data.is_empty())
    {
        // The path is one of the manager's machine, and data go before it.
        described.certificate_authority = None;
    }
    // Each profile has its own: what one brings is none of the next one's.
    let mut args = program.args.clone();
    if program.profile_args == ProfileArgs::Append {
        args.extend(additional_args(&cluster.extensions)?);
    }
    let env = env(program, &cluster.extensions)?;
    let env: Vec<_> = env
        .into_iter()
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    let exec = json!({
        "apiVersion": program.api_version, "command": program.command, "args": args, "env": env,
        "provideClusterInfo": program.provide_cluster_info, "installHint": program.install_hint,
        "interactiveMode": "Never",
    });
    let kubeconfig = json!({
        "clusters": [{"name": name, "cluster": described}],
        "users": [{"name": way.name, "user": {"exec": exec}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": way.name}}],
    });
    serde_json::from_value(kubeconfig).map_err(|_| "does not make a kubeconfig".to_owned())
}

/// Some managers encode the authorities twice.
fn unwrapped(data: &str) -> String {
    let plain: String = data.split_ascii_whitespace().collect();
    let once = STANDARD.decode(&plain).ok().filter(|once| !is_pem(once));
    let inner = once.and_then(|once| String::from_utf8(once).ok());
    let inner = inner.map(|inner| inner.split_ascii_whitespace().collect::<String>());
    match inner {
        Some(inner) if STANDARD.decode(&inner).is_ok_and(|twice| is_pem(&twice)) => inner,
        _ => data.to_owned(),
    }
}

fn is_pem(text: &[u8]) -> bool {
    const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";
    text.windows(BEGIN.len()).any(|part| part == BEGIN)
}

fn extension<'a>(extensions: &'a [NamedExtension], name: &str) -> Option<&'a Value> {
    let named = extensions.iter().find(|extension| extension.name == name);
    named
        .map(|named| &named.extension)
        .filter(|value| !value.is_null())
}

/// A list of texts, as the proposal says; or an object with that list as `args`, because the definition of the kind
/// lets no list through.
fn additional_args(extensions: &[NamedExtension]) -> Result<Vec<String>, String> {
    let Some(value) = extension(extensions, ADDITIONAL_ARGS) else {
        return Ok(Vec::new());
    };
    let list = match value {
        Value::Object(object) if object.len() == 1 => object.get("args"),
        list => Some(list),
    };
    let texts = list.and_then(Value::as_array).and_then(|list| {
        let texts = list.iter().map(|text| text.as_str().map(str::to_owned));
        texts.collect::<Option<Vec<_>>>()
    });
    texts.ok_or_else(|| {
        format!("extension `{ADDITIONAL_ARGS}`: not a list of texts, nor an object with one as `args`")
    })
}

/// A map of texts, as the proposal says; or a list of names and values.
fn additional_env(extensions: &[NamedExtension]) -> Result<Vec<(String, String)>, String> {
    let Some(value) = extension(extensions, ADDITIONAL_ENV) else {
        return Ok(Vec::new());
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let variables: Option<Vec<_>> = match value {
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| Some((name.clone(), text(value)?)))
            .collect(),
        Value::Array(list) => {
            let variable = |one: &Value| Some((text(one.get("name")?)?, text(one.get("value")?)?));
            list.iter().map(variable).collect()
        }
        _ => None,
    };
    variables.ok_or_else(|| {
        format!("extension `{ADDITIONAL_ENV}`: not a map of texts, nor a list of names and values")
    })
}

fn env(program: &Program, extensions: &[NamedExtension]) -> Result<Vec<(String, String)>, String> {
    let mut env = program.env.clone();
    if program.profile_env == ProfileEnv::Ignore {
        return Ok(env);
    }
    for (name, value) in additional_env(extensions)? {
        let known = env.iter_mut().find(|(known, _)| *known == name);
        match (known, program.profile_env) {
            (None, _) => env.push((name, value)),
            (Some(known), ProfileEnv::Replace) => known.1 = value,
            (Some(_), _) => {}
        }
    }
    Ok(env)
}
