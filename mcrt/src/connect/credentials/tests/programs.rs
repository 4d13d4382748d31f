//! Real programs, and everything that they do wrong.
use super::{
    super::exec::{Credential, Failure, run},
    V1, plugin,
};
use crate::connect::{
    connection::ExecPlugin,
    tests::{SOON, tls::Authority},
};
use std::{
    io::ErrorKind,
    os::unix::fs::PermissionsExt,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

fn sh(script: &str) -> ExecPlugin {
    ExecPlugin {
        args: vec!["-c".into(), script.into()],
        ..plugin("/bin/sh")
    }
}

async fn given(plugin: ExecPlugin) -> Result<Credential, Failure> {
    let run = run(
        Arc::new(plugin),
        Duration::from_secs(30),
        CancellationToken::new(),
    );
    timeout(SOON, run).await.expect("a run ends soon")
}

async fn failure(plugin: ExecPlugin) -> Failure {
    given(plugin).await.err().expect("it gives nothing")
}

fn status(status: &str) -> String {
    format!(r#"{{"apiVersion":"{V1}","kind":"ExecCredential","status":{status}}}"#)
}

fn prints(text: &str) -> ExecPlugin {
    sh(&format!("cat <<'END'\n{text}\nEND"))
}

#[tokio::test]
async fn a_token_without_expiry_is_good_until_it_is_refused() {
    let given = given(prints(&status(r#"{"token":" abc\n"}"#))).await.unwrap();
    assert_eq!(given.header.unwrap(), "Bearer abc");
    assert!(given.lasts.is_none() && given.certificate.is_none());
}

#[tokio::test]
async fn yaml_is_taken_as_kubectl_takes_it() {
    let yaml = format!(
        "apiVersion: {V1}\nkind: ExecCredential\nstatus:\n  token: abc\n  expirationTimestamp: 2999-01-01T00:00:00Z\n"
    );
    let given = given(prints(&yaml)).await.unwrap();
    assert_eq!(given.header.unwrap(), "Bearer abc");
    assert!(given.lasts.unwrap() > Duration::from_hours(24 * 365 * 100));
}

#[tokio::test]
async fn a_token_and_a_certificate_come_together() {
    let (certificate, key) = Authority::new().sign("client");
    let both =
        serde_json::json!({"token": "abc", "clientCertificateData": certificate, "clientKeyData": key});
    let given = given(prints(&status(&both.to_string()))).await.unwrap();
    assert!(given.header.is_some() && given.certificate.is_some());
    assert!(given.lasts.is_some(), "that of the certificate");
}

#[tokio::test]
async fn a_program_is_told_what_the_protocol_says_and_gets_no_input() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("told");
    let script = format!(
        "cat; echo \"$KUBERNETES_EXEC_INFO\" > {0}; echo \"$A $HOME\" >> {0}",
        file.display()
    );
    let told = ExecPlugin {
        env: vec![("A".into(), "b c".into()), ("HOME".into(), "/nowhere".into())],
        cluster_info: Some(r#"{"server":"https://a.test"}"#.into()),
        ..sh(&script)
    };
    assert_eq!(failure(told).await, Failure::NotACredential);
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        format!(
            r#"{{"apiVersion":"{V1}","kind":"ExecCredential","spec":{{"cluster":{{"server":"https://a.test"}},"interactive":false}}}}"#
        ) + "\nb c /nowhere\n"
    );
}

#[tokio::test]
async fn whatever_else_is_printed_is_an_error_of_its_own() {
    let (certificate, key) = Authority::new().sign("client");
    let (_, other_key) = Authority::new().sign("client");
    let pair = |certificate: &str, key: &str| {
        let pair = serde_json::json!({"clientCertificateData": certificate, "clientKeyData": key});
        status(&pair.to_string())
    };
    let other = |of: &str, by: &str| status(r#"{"token":"abc"}"#).replace(of, by);
    for (printed, expected) in [
        ("SECRET garbage", Failure::NotACredential),
        ("", Failure::NotACredential),
        ("{\"a\": [", Failure::NotACredential),
        (&other("ExecCredential", "Config"), Failure::NotACredential),
        (&other("/v1", "/v1beta1"), Failure::OtherVersion(V1.into())),
        (&status("null"), Failure::NoStatus),
        (&status("{}"), Failure::Empty),
        (&status(r#"{"token":"  "}"#), Failure::Empty),
        (&status(r#"{"token":"a\nb"}"#), Failure::Token),
        (
            &status(r#"{"token":"a","expirationTimestamp":"soon"}"#),
            Failure::Expiry,
        ),
        (
            &status(r#"{"token":"a","expirationTimestamp":"2020-01-01T00:00:00Z"}"#),
            Failure::Expired,
        ),
        (&pair(&certificate, ""), Failure::LoneCertificate),
        (&pair("", &key), Failure::LoneKey),
        (
            &pair("SECRET", &key),
            Failure::Certificate("there is no PEM certificate"),
        ),
        (
            &pair(&certificate, "SECRET"),
            Failure::Certificate("there is no PEM private key"),
        ),
        (
            &pair(&certificate, &other_key),
            Failure::Certificate("the key is not that of the certificate"),
        ),
    ] {
        let found = failure(prints(printed)).await;
        assert_eq!(found, expected, "{printed}");
        assert!(!format!("{found} {found:?}").contains("SECRET"));
    }
}

#[tokio::test]
async fn a_program_that_is_missing_or_cannot_run_says_so_with_its_hint() {
    let missing = ExecPlugin {
        install_hint: Some("get it\n  from\x1b[31m a shop".into()),
        ..plugin("no-such-credential-program")
    };
    let failure_of = failure(missing).await;
    assert_eq!(
        failure_of.to_string(),
        "not found: install it, or name it by its absolute path (get it from[31m a shop)"
    );
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("plugin");
    std::fs::write(&file, "#!/bin/sh\n").unwrap();
    assert_eq!(
        failure(plugin(&file)).await,
        Failure::NotStarted(ErrorKind::PermissionDenied)
    );
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(failure(plugin(&file)).await, Failure::NotACredential);
}

#[tokio::test]
async fn exit_codes_and_signals_are_told_and_output_before_them_is_not_used() {
    let good = status(r#"{"token":"abc"}"#);
    assert_eq!(
        failure(sh(&format!("echo '{good}'; exit 7"))).await,
        Failure::Exit(7)
    );
    assert_eq!(
        failure(sh(&format!("echo '{good}'; kill -9 $$"))).await,
        Failure::Signal(9)
    );
}

#[tokio::test]
async fn five_megabytes_of_output_are_cut_and_their_writer_is_killed() {
    assert_eq!(
        failure(sh("head -c 5000000 /dev/zero; sleep 600")).await,
        Failure::TooMuch
    );
    assert_eq!(
        failure(sh("yes >&2 & yes")).await,
        Failure::TooMuch,
        "standard error goes nowhere"
    );
}

#[tokio::test]
async fn a_program_that_hangs_is_killed_at_the_deadline() {
    let began = Instant::now();
    let deadline = Duration::from_millis(200);
    let hangs = run(Arc::new(sh("sleep 600")), deadline, CancellationToken::new());
    let failed = timeout(SOON, hangs).await.unwrap().err();
    assert_eq!(failed, Some(Failure::TimedOut(deadline)));
    assert!(began.elapsed() < SOON);
}

#[tokio::test]
async fn children_that_a_program_leaves_behind_do_not_hold_it_up() {
    let good = status(r#"{"token":"abc"}"#);
    let began = Instant::now();
    let given = given(sh(&format!("sleep 600 & echo $! >&2; echo '{good}'")))
        .await
        .unwrap();
    assert_eq!(given.header.unwrap(), "Bearer abc");
    assert!(began.elapsed() < Duration::from_secs(4));
}
