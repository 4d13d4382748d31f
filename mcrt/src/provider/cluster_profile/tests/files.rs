//! The operator's file.
use super::super::{
    ProviderFile,
    file::{ProfileArgs, ProfileEnv},
};
use serde_json::{Value, json};

fn file(program: &Value) -> Result<ProviderFile, String> {
    ProviderFile::from_json(&json!({"providers": [program]}).to_string()).map_err(|error| error.to_string())
}

fn exec() -> Value {
    json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "plugin"})
}

#[test]
fn a_file_of_the_proposal_is_read_as_it_is() {
    let text = r#"{"providers":[{"name":"secretreader",
      "execConfig":{"apiVersion":"client.authentication.k8s.io/v1","command":"./bin/secretreader-plugin",
                    "args":null,"env":null,"provideClusterInfo":true,"installHint":"","interactiveMode":"Never"},
      "profileSourcedCLIArgsPolicy":"Ignore","profileSourcedEnvVarsPolicy":"Ignore"}]}"#;
    let file = ProviderFile::from_json(text).unwrap();
    let [program] = file.programs() else { panic!() };
    assert_eq!(program.name, "secretreader");
    let expected = std::env::current_dir().unwrap().join("bin/secretreader-plugin");
    assert_eq!(program.command, expected.to_str().unwrap());
    assert!(program.args.is_empty() && program.env.is_empty() && program.provide_cluster_info);
    assert_eq!(
        (program.profile_args, program.profile_env),
        (ProfileArgs::Ignore, ProfileEnv::Ignore)
    );
}

#[test]
fn keys_are_taken_in_any_case_and_what_go_writes_of_its_own_is_passed_over() {
    let text = r#"{"Providers":[{"Name":"x","EXECCONFIG":{"apiversion":"client.authentication.k8s.io/v1beta1",
        "Command":"x","ARGS":["-a"],"env":[{"Name":"N","VALUE":"v"}],"Config":null,"InteractiveMode":"IfAvailable",
        "StdinUnavailable":false,"StdinUnavailableMessage":"","PluginPolicy":{"policyType":""}},
        "profilesourcedcliargspolicy":"Append","ProfileSourcedEnvVarsPolicy":"Replace"}]}"#;
    let file = ProviderFile::from_json(text).unwrap();
    let [program] = file.programs() else { panic!() };
    assert_eq!(program.args, ["-a"]);
    assert_eq!(program.env, [("N".to_owned(), "v".to_owned())]);
    assert_eq!(
        (program.profile_args, program.profile_env),
        (ProfileArgs::Append, ProfileEnv::Replace)
    );
}

#[test]
fn what_cannot_be_used_is_refused_with_its_place_and_without_its_value() {
    let secret = "PLANTED";
    let of = |exec: Value| json!({"name": "x", "execConfig": exec});
    let put = |key: &str, value: Value| {
        let mut exec = exec();
        exec[key] = value;
        of(exec)
    };
    let with = |key: &str, value: &str| {
        let mut program = of(exec());
        program[key] = value.into();
        program
    };
    for (program, expected) in [
        (json!(secret), "providers[0]: not an object"),
        (json!({}), "providers[0].name: missing"),
        (json!({"name": ""}), "providers[0].name: missing"),
        (json!({"name": ["x"]}), "providers[0].name: not a text"),
        (json!({"name": "x"}), "providers[0].execConfig: missing"),
        (
            put("apiVersion", secret.into()),
            "execConfig.apiVersion: must be client.authentication.k8s.io/v1 or",
        ),
        (put("command", Value::Null), "execConfig.command: missing"),
        (put("args", json!(secret)), "execConfig.args: not a list"),
        (
            put("args", json!([{secret: 1}])),
            "execConfig.args: holds something that is not a text",
        ),
        (
            put("env", json!([{"value": secret}])),
            "execConfig.env[0].name: missing",
        ),
        (
            put("env", json!([{"name": "N", "value": 1}])),
            "execConfig.env[0].value: not a text",
        ),
        (
            put("provideClusterInfo", secret.into()),
            "execConfig.provideClusterInfo: neither true nor false",
        ),
        (
            put("interactiveMode", secret.into()),
            "execConfig.interactiveMode: not a mode",
        ),
        (put("comand", "x".into()), "execConfig.comand: is not known"),
        (
            put("Command", "y".into()),
            "execConfig.command: is there more than once",
        ),
        (
            with("profileSourcedCLIArgsPolicy", "append"),
            "profileSourcedCLIArgsPolicy: not a policy: Ignore",
        ),
        (
            with("profileSourcedEnvVarsPolicy", "Append"),
            "profileSourcedEnvVarsPolicy: not a policy: Ignore",
        ),
        (
            with("profileSourcedArgsPolicy", "Ignore"),
            "providers[0].profileSourcedArgsPolicy: is not known",
        ),
    ] {
        let error = file(&program).expect_err(expected);
        assert!(
            error.contains(expected) && !error.contains(secret),
            "{expected}: {error}"
        );
    }
}

#[test]
fn a_file_is_one_of_programs_each_under_a_name_of_its_own() {
    let one = json!({"name": "x", "execConfig": exec()});
    for (text, expected) in [
        (String::new(), "not JSON"),
        ("[]".to_owned(), "the file: not an object"),
        ("{}".to_owned(), "providers: empty"),
        (json!({"providers": null}).to_string(), "providers: empty"),
        (
            json!({"providers": [one, one]}).to_string(),
            "providers: `x` is there more than once",
        ),
        (
            json!({"providers": [one], "others": 1}).to_string(),
            "others: is not known",
        ),
    ] {
        let error = ProviderFile::from_json(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn a_file_that_is_not_there_is_told_with_its_path() {
    let error = ProviderFile::read("/nowhere/file.json").unwrap_err().to_string();
    assert!(
        error.starts_with("access provider file /nowhere/file.json: "),
        "{error}"
    );
}

#[test]
fn no_argument_is_in_a_debug_text() {
    let mut exec = exec();
    exec["args"] = json!(["PLANTED"]);
    let file = file(&json!({"name": "x", "execConfig": exec})).unwrap();
    assert_eq!(format!("{file:?}"), r#"{"x": "plugin"}"#);
}
