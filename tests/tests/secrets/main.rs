//! Nothing that a program prints holds a secret: not its log at the finest level, not an error, not a `Debug`.
//!
//! The program runs as a process of its own, this one again, because it logs as programs do. It is given secrets in
//! every place that has room for one, and fails in every way that might quote them.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

mod planted;
mod program;
mod servers;
mod shown;

use std::process::{Command, Output};

use planted::Printed;

/// Says that this process is the program, and how it is to log.
const PROGRAM: &str = "MCRT_TEST_SECRETS";
/// Before each line of the private key, for the search alone.
const KEY: &str = "the private key: ";

#[test]
fn a_program_that_logs_text_prints_no_secret() {
    prints_no_secret("text");
}

/// Which is why that target is off unless it is named; and it shows that this search finds what is there.
#[test]
fn a_program_that_asks_for_the_log_of_kubes_client_by_name_is_given_bodies() {
    let leaks = leaks("kube");
    for body in ["a Secret that does not decode", "an answer that is no JSON"] {
        assert!(
            leaks.iter().any(|leak| leak.starts_with(body)),
            "{body}: {leaks:?}"
        );
    }
    assert!(leaks.iter().all(|leak| leak.contains("kube_client")), "{leaks:?}");
}

#[test]
fn a_program_that_logs_json_prints_no_secret() {
    prints_no_secret("json");
}

/// Lines that show that what might have been quoted has happened, and was told.
const TOLD: [&str; 14] = [
    // The log at its finest, of ours and of others.
    "TRACE",
    "hyper",
    "rustls",
    // What was refused, by path.
    "rejected",
    "users[rejected].user",
    // What failed, without what it was about.
    "does not fit its type",
    "the server answered 502",
    "401",
    "exited with code 3",
    "is no ExecCredential",
    // What was printed by hand.
    "debug of Manager: ",
    "debug of Access: ",
    "debug of Context: ",
    "failed: ",
];

fn prints_no_secret(format: &str) {
    let leaks = leaks(format);
    assert!(leaks.is_empty(), "{} leaks\n{}", leaks.len(), leaks.join("\n"));
}

fn leaks(format: &str) -> Vec<String> {
    let ran = run(format);
    let (stdout, stderr) = (text(&ran.stdout), text(&ran.stderr));
    assert!(ran.status.success(), "the program failed\n{stderr}\n{stdout}");
    let (key, printed): (Vec<_>, Vec<_>) = stdout.lines().partition(|line| line.starts_with(KEY));
    let key: Vec<_> = key.iter().map(|line| line[KEY.len()..].to_owned()).collect();
    assert!(!key.is_empty(), "{stdout}");
    let text = format!("{}\n{stderr}", printed.join("\n"));
    for told in TOLD {
        assert!(text.contains(told), "nothing is told of `{told}`: {text}");
    }
    let printed = Printed {
        text: &text,
        key: &key,
    };
    printed.leaks()
}

fn run(format: &str) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_program", "--nocapture"])
        .env(PROGRAM, format)
        // As a user asks for everything.
        .env("RUST_BACKTRACE", "full")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The program; as a test of its own it does nothing.
#[test]
fn the_program() {
    if let Ok(format) = std::env::var(PROGRAM) {
        program::run(&format);
    }
}
