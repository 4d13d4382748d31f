//! Credential programs: which run, and what they are asked.
use super::*;
use crate::connect::connection::{Credentials, ExecPlugin};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use std::{path::Path, sync::Arc};

const V1: &str = "apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: plugin";

fn exec(fields: &str) -> String {
    format!("exec: {{{fields}}}")
}

fn plugin(cluster: &[&str], user: &[&str], policy: &Policy) -> Result<Arc<ExecPlugin>, Rejected> {
    let connection = vet(&yaml("https://a.test:6443", cluster, user), policy)?;
    match connection.credentials {
        Credentials::Exec(plugin) => Ok(plugin),
        _ => panic!("no program"),
    }
}

#[test]
fn a_program_is_refused_with_a_way_out() {
    let error = strict(&[], &[&exec(V1)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "context `c`: users[u].user.exec: runs a program on the controller's machine: give the user a token or a \
         client certificate, or allow the program with `Policy::allow_command`, or `--allow-exec NAME` for files"
    );
}

#[test]
fn a_program_is_described_as_it_is_written() {
    let fields = format!(
        "{V1}, args: [a, \"b c\"], env: [{{name: A, value: x}}, {{name: B}}], installHint: get it, \
         provideClusterInfo: false"
    );
    let plugin = plugin(&[], &[&exec(&fields)], &everything()).unwrap();
    assert_eq!(plugin.api_version, "client.authentication.k8s.io/v1");
    assert_eq!(plugin.command, Path::new("plugin"));
    assert_eq!(plugin.args, ["a", "b c"]);
    let env = [("A".to_owned(), "x".to_owned()), ("B".to_owned(), String::new())];
    assert_eq!(plugin.env, env);
    assert_eq!(plugin.install_hint.as_deref(), Some("get it"));
    assert_eq!(plugin.cluster_info, None);
}

#[test]
fn v1beta1_needs_no_mode_and_if_available_is_never() {
    for fields in [
        "apiVersion: client.authentication.k8s.io/v1beta1, command: plugin",
        "apiVersion: client.authentication.k8s.io/v1beta1, command: plugin, interactiveMode: IfAvailable",
        "apiVersion: client.authentication.k8s.io/v1, command: plugin, interactiveMode: IfAvailable",
    ] {
        plugin(&[], &[&exec(fields)], &everything()).unwrap_or_else(|error| panic!("{fields}: {error}"));
    }
}

#[test]
fn what_no_controller_can_run_is_refused_by_its_field() {
    let beta = "apiVersion: client.authentication.k8s.io/v1beta1, command: plugin";
    let table = [
        ("command: plugin".to_owned(), ".apiVersion"),
        (
            "apiVersion: client.authentication.k8s.io/v1alpha1, command: plugin".to_owned(),
            ".apiVersion",
        ),
        (
            "apiVersion: hunter2-SECRET, command: plugin".to_owned(),
            ".apiVersion",
        ),
        (
            "apiVersion: client.authentication.k8s.io/v1, command: plugin".to_owned(),
            ".interactiveMode",
        ),
        (format!("{beta}, interactiveMode: Always"), ".interactiveMode"),
        (format!("{V1}, env: [{{value: hunter2-SECRET}}]"), ".env"),
        (format!("{V1}, env: [{{name: \"\", value: a}}]"), ".env"),
        (
            format!("{V1}, env: [{{name: a=hunter2-SECRET, value: a}}]"),
            ".env",
        ),
        (
            format!("{V1}, env: [{{name: A, value: \"hunter2-SECRET\\0\"}}]"),
            ".env",
        ),
        (format!("{V1}, env: [{{name: A, hunter2-SECRET: a}}]"), ".env"),
        (
            format!("{V1}, env: [{{name: PATH, value: /hunter2-SECRET}}]"),
            ".env",
        ),
        (
            format!("{V1}, env: [{{name: LD_PRELOAD, value: /hunter2-SECRET}}]"),
            ".env",
        ),
        (
            format!("{V1}, env: [{{name: DYLD_INSERT_LIBRARIES, value: /hunter2}}]"),
            ".env",
        ),
        (
            format!("{V1}, env: [{{name: \"BASH_FUNC_jq%%\", value: hunter2}}]"),
            ".env",
        ),
        (
            format!("{V1}, env: [{{name: NODE_OPTIONS, value: --import=hunter2}}]"),
            ".env",
        ),
        (
            format!("{V1}, env: [{{name: PYTHONPATH, value: /hunter2}}]"),
            ".env",
        ),
        (format!("{V1}, args: [\"hunter2-SECRET\\0\"]"), ".args"),
        (format!("{V1}, hunter2-SECRET: a"), ""),
        (format!("{V1}, install-hint: a"), ""),
    ];
    for (fields, field) in table {
        let error = vet(&yaml("https://a.test", &[], &[&exec(&fields)]), &everything()).expect_err(&fields);
        assert_eq!(field_of(&error), format!("users[u].user.exec{field}"), "{fields}");
    }
}

#[test]
fn only_allowed_commands_are_taken() {
    let policy = Policy::strict()
        .allow_command("plugin")
        .allow_command("/opt/tool");
    let with = |command: &str| exec(&V1.replace("command: plugin", &format!("command: {command}")));
    for (command, runs) in [
        ("plugin", "plugin"),
        ("/opt/tool", "/opt/tool"),
        ("/opt/x/..//tool", "/opt/tool"),
    ] {
        let plugin = plugin(&[], &[&with(command)], &policy).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(plugin.command, Path::new(runs));
    }
    for command in [
        "\"\"",
        "other",
        "/tmp/plugin",
        "./plugin",
        "opt/tool",
        "tool",
        "/opt/tool/x",
        "Plugin",
        "\"plugin\\0\"",
    ] {
        let error = vet(&yaml("https://a.test", &[], &[&with(command)]), &policy).expect_err(command);
        assert!(
            matches!(&error, Rejected::Forbidden { field, .. } if field == "users[u].user.exec"),
            "{error}"
        );
    }
}

#[test]
fn a_command_with_a_separator_is_taken_from_the_directory_of_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config");
    let with = V1.replace("command: plugin", "command: ./bin/tool");
    std::fs::write(&path, yaml("https://a.test", &[], &[&exec(&with)])).unwrap();
    let tool = directory.path().join("bin/tool");
    let policy = Policy::own_files().allow_command(tool.to_str().unwrap());
    let connection = Connection::from_files_with(&[&path], None, &policy).unwrap();
    assert!(matches!(connection.credentials, Credentials::Exec(plugin) if plugin.command == tool));
    assert!(
        Connection::from_files(&[&path], None).is_err(),
        "files of one's own run no programs unasked"
    );
    let name = Policy::own_files().allow_command("tool");
    assert!(Connection::from_files_with(&[&path], None, &name).is_err());
}

#[test]
fn who_has_something_to_show_asks_no_program() {
    let connection = |user: &[&str]| vet(&yaml("https://a.test", &[], user), &everything()).unwrap();
    let exec = exec(V1);
    assert!(matches!(
        connection(&[&exec, "token: t"]).credentials,
        Credentials::Token(_)
    ));
    assert!(matches!(
        connection(&[&exec, "username: n"]).credentials,
        Credentials::Basic(..)
    ));
    let authority = super::super::tls::Authority::new();
    let (certificate, key) = authority.sign("client");
    let data = super::super::tls::data;
    let identity = [
        data("client-certificate-data", &certificate),
        data("client-key-data", &key),
    ];
    let shown = connection(&[&exec, &identity[0], &identity[1]]);
    assert!(matches!(shown.credentials, Credentials::None) && shown.identity.is_some());
    // But it is not let through unseen.
    assert!(strict(&[], &[&exec, "token: t"]).is_err());
}

#[test]
fn a_program_may_ask_to_be_told_of_its_cluster() {
    let pem = super::super::tls::Authority::new().pem();
    let ca = super::super::tls::data("certificate-authority-data", &pem);
    let told = exec(&format!("{V1}, provideClusterInfo: true"));
    let cluster = [
        &*ca,
        "tls-server-name: b.test",
        "proxy-url: http://proxy:3128",
        "disable-compression: true",
        "extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: x}}, {name: y, extension: z}]",
    ];
    let plugin = plugin(&cluster, &[&told], &everything()).unwrap();
    let info: serde_json::Value = serde_json::from_str(plugin.cluster_info.as_ref().unwrap()).unwrap();
    let expected = serde_json::json!({
        "server": "https://a.test:6443",
        "tls-server-name": "b.test",
        "certificate-authority-data": STANDARD.encode(pem),
        "proxy-url": "http://proxy:3128",
        "disable-compression": true,
        "config": {"audience": "x"},
    });
    assert_eq!(info, expected);
    let long = format!(
        "extensions: [{{name: client.authentication.k8s.io/exec, extension: {}}}]",
        "x".repeat(125 * 1024)
    );
    let error = super::vet(&yaml("https://a.test", &[&long], &[&told]), &everything()).unwrap_err();
    assert_eq!(field_of(&error), "users[u].user.exec.provideClusterInfo");
}
