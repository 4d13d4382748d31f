//! What an offered access provider and the operator's program make together.
use super::{
    super::{
        ProviderFile,
        program::{connection, kubeconfig},
    },
    file, profile, way, with,
};
use crate::{
    apis::cluster_profile::{AccessProvider, ClusterProfile},
    cluster::ObjectKey,
    connect::{Connection, Policy},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use kube::config::{Cluster, ExecConfig};
use serde_json::{Value, json};

const ARGS: &str = "clusterprofiles.multicluster.x-k8s.io/exec/additional-args";
const ENVS: &str = "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs";

fn connect_with(file: &ProviderFile, profile: &Value, policy: &Policy) -> Result<Connection, String> {
    let profile: ClusterProfile = serde_json::from_value(profile.clone()).unwrap();
    connection(file, &ObjectKey::of(&profile), &profile, policy)
}

fn connect(profile: &Value) -> Result<Connection, String> {
    connect_with(&file(), profile, &Policy::strict())
}

/// What the first program of a file makes of a provider with these extensions.
fn made(file: &ProviderFile, extensions: &Value) -> Result<(Cluster, ExecConfig), String> {
    let way = json!({"name": "one", "cluster": {"server": "https://s", "extensions": extensions}});
    let way: AccessProvider = serde_json::from_value(way).unwrap();
    let made = kubeconfig("n", &way, way.cluster.as_ref().unwrap(), &file.programs()[0])?;
    let cluster = made.clusters[0].cluster.clone().unwrap();
    let exec = made.auth_infos[0]
        .auth_info
        .as_ref()
        .unwrap()
        .exec
        .clone()
        .unwrap();
    Ok((cluster, exec))
}

fn policies(args: &str, envs: &str) -> ProviderFile {
    let exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "x", "args": ["own"],
                      "env": [{"name": "A", "value": "own"}]});
    let program = json!({"name": "one", "execConfig": exec, "profileSourcedCLIArgsPolicy": args,
                         "profileSourcedEnvVarsPolicy": envs});
    ProviderFile::from_json(&json!({"providers": [program]}).to_string()).unwrap()
}

fn env(exec: &ExecConfig) -> Vec<String> {
    let variables = exec.env.iter().flatten();
    variables
        .map(|variable| format!("{}={}", variable["name"], variable["value"]))
        .collect()
}

#[test]
fn the_first_program_of_the_file_that_the_profile_offers_counts() {
    let both = with(
        profile("a/x", ""),
        "/status/accessProviders",
        json!([
            way("two", "https://two"),
            way("one", "https://one"),
            way("three", "https://three")
        ]),
    );
    assert_eq!(connect(&both).unwrap().server(), "https://one/");
    let former = with(
        both.clone(),
        "/status/credentialProviders",
        json!([way("one", "https://former")]),
    );
    assert_eq!(connect(&former).unwrap().server(), "https://one/");
    let only_former = with(
        with(
            both,
            "/status/accessProviders",
            json!([way("two", "https://two")]),
        ),
        "/status/credentialProviders",
        json!([way("one", "https://former")]),
    );
    assert_eq!(connect(&only_former).unwrap().server(), "https://former/");
}

#[test]
fn what_offers_nothing_that_can_be_used_says_why() {
    let offering = |ways: Value| with(profile("a/x", ""), "/status/accessProviders", ways);
    for (ways, expected) in [
        (Value::Null, "offers no access provider: not ready yet"),
        (
            json!([way("three", "https://s"), way("t\nb", "https://s")]),
            "offers the access providers `t\\nb`, `three`, and the file has programs for `one`, `two`",
        ),
        (
            json!([way("one", "")]),
            "access provider `one`: has no server: not ready yet",
        ),
        (
            json!([{"name": "one", "cluster": null}]),
            "access provider `one`: has no server: not ready yet",
        ),
        (
            json!([way("one", "http://s")]),
            "clusters[a/x].cluster.server: has no TLS",
        ),
        (
            json!([way("one", "https://127.0.0.1")]),
            "clusters[a/x].cluster.server: is on the controller's own machine",
        ),
        (
            json!([way("one", "not an address")]),
            "clusters[a/x].cluster.server: not an address",
        ),
        (
            json!([{"name": "one", "cluster": {"server": "https://s", "insecure-skip-tls-verify": true}}]),
            "clusters[a/x].cluster.insecure-skip-tls-verify: talks to whoever answers",
        ),
        (
            json!([{"name": "one", "cluster": {"server": "https://s", "proxy-url": "http://p"}}]),
            "clusters[a/x].cluster.proxy-url: goes through a proxy",
        ),
        (
            json!([{"name": "one", "cluster": {"server": "https://s", "certificate-authority": "/etc/ca"}}]),
            "clusters[a/x].cluster.certificate-authority: names a file",
        ),
        (
            json!([{"name": "one", "cluster": {"server": "https://s", "certificate-authority-data": "PLANTED!"}}]),
            "clusters[a/x].cluster.certificate-authority-data: not base64",
        ),
    ] {
        let error = connect(&offering(ways)).unwrap_err();
        assert!(
            error.contains(expected) && !error.contains("PLANTED"),
            "{expected}: {error}"
        );
    }
}

#[test]
fn what_the_operator_allows_is_obeyed() {
    let cluster = json!({"server": "https://127.0.0.1:1", "tls-server-name": "s.test", "proxy-url": "http://p:3128",
                         "insecure-skip-tls-verify": true});
    let profile = with(
        profile("a/x", ""),
        "/status/accessProviders",
        json!([{"name": "one", "cluster": cluster}]),
    );
    let policy = Policy::strict()
        .allow_local_servers()
        .allow_proxies()
        .allow_insecure_tls();
    assert!(connect_with(&file(), &profile, &policy).is_ok());
}

#[test]
fn arguments_and_variables_of_a_profile_are_passed_on_as_the_file_says() {
    let extensions = json!([{"name": ARGS, "extension": ["--more"]},
                            {"name": ENVS, "extension": {"A": "theirs", "B": "theirs"}}]);
    for (args, envs, expected_args, expected_env) in [
        ("", "", "own", "A=own"),
        ("Ignore", "Ignore", "own", "A=own"),
        ("Append", "AppendIfNotExists", "own --more", "A=own B=theirs"),
        ("Append", "Replace", "own --more", "A=theirs B=theirs"),
    ] {
        let file = policies(args, envs);
        // As often as it is asked: nothing of a profile stays in the file.
        for _ in 0..2 {
            let (_, exec) = made(&file, &extensions).unwrap();
            assert_eq!(exec.args.clone().unwrap().join(" "), expected_args, "{args}");
            assert_eq!(env(&exec).join(" "), expected_env, "{envs}");
            assert_eq!(exec.command.as_deref(), Some("x"));
        }
        let (_, exec) = made(&file, &json!([])).unwrap();
        assert_eq!(exec.args.unwrap(), ["own"]);
    }
}

#[test]
fn extensions_are_read_in_the_forms_that_a_definition_lets_through() {
    let file = policies("Append", "Replace");
    for (name, extension, expected) in [
        (ARGS, json!({"args": ["--more"]}), "own --more A=own"),
        (ARGS, json!(null), "own A=own"),
        (ENVS, json!([{"name": "B", "value": "b"}]), "own A=own B=b"),
    ] {
        let (_, exec) = made(&file, &json!([{"name": name, "extension": extension}])).unwrap();
        let words: Vec<_> = exec.args.clone().unwrap().into_iter().chain(env(&exec)).collect();
        assert_eq!(words.join(" "), expected);
    }
    for (name, extension) in [
        (ARGS, json!({"args": "PLANTED"})),
        (ARGS, json!({"args": [], "more": []})),
        (ARGS, json!("PLANTED")),
        (ARGS, json!([1])),
        (ENVS, json!({"A": 1})),
        (ENVS, json!([{"name": "A"}])),
        (ENVS, json!("PLANTED")),
    ] {
        let extensions = json!([{"name": name, "extension": extension}]);
        let error = made(&file, &extensions).unwrap_err();
        assert!(error.contains(name) && !error.contains("PLANTED"), "{error}");
        // Nobody looks at what is ignored.
        assert!(made(&policies("Ignore", "Ignore"), &extensions).is_ok());
    }
}

#[test]
fn a_profile_cannot_choose_what_the_program_loads() {
    let cluster =
        json!({"server": "https://s", "extensions": [{"name": ENVS, "extension": {"LD_PRELOAD": "/x"}}]});
    let profile = with(
        profile("a/x", ""),
        "/status/accessProviders",
        json!([{"name": "one", "cluster": cluster}]),
    );
    let error = connect_with(&policies("", "Replace"), &profile, &Policy::strict()).unwrap_err();
    assert!(error.contains("sets PATH or another variable"), "{error}");
}

#[test]
fn the_extension_for_the_program_is_passed_on_and_no_other() {
    let extensions = json!([{"name": ARGS, "extension": ["x"]},
                            {"name": "client.authentication.k8s.io/exec", "extension": {"clusterName": "x"}}]);
    let (cluster, _) = made(&file(), &extensions).unwrap();
    let extensions = cluster.extensions.unwrap();
    assert_eq!(extensions.len(), 1);
    assert_eq!(extensions[0].extension, json!({"clusterName": "x"}));
}

#[test]
fn authorities_that_were_encoded_twice_are_read() {
    let pem = rcgen::generate_simple_self_signed(vec!["s.test".to_owned()])
        .unwrap()
        .cert
        .pem();
    let (once, wrong) = (
        STANDARD.encode(&pem),
        STANDARD.encode(STANDARD.encode("no certificate")),
    );
    for (data, good) in [
        (once.clone(), true),
        (STANDARD.encode(&once), true),
        (wrong, false),
    ] {
        let cluster = json!({"server": "https://s.test", "certificate-authority-data": data});
        let profile = with(
            profile("a/x", ""),
            "/status/accessProviders",
            json!([{"name": "one", "cluster": cluster}]),
        );
        assert_eq!(connect(&profile).is_ok(), good);
    }
}
