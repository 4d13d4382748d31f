//! What a kubeconfig may say: by field, by policy, by program, and as a text.
mod certificates;
mod fields;
mod policies;
mod programs;
mod texts;

use super::{
    super::{Access, Connection, Policy, Rejected},
    kubeconfig, yaml,
};

/// The one that every value of these tests has in it that no message may repeat.
const SECRET: &str = "hunter2-SECRET";

fn shows_no_secret(text: &str) {
    assert!(!text.contains("hunter2") && !text.contains("SECRET"), "{text}");
}

/// Vets the one context of a text as if it came from an object.
fn vet(yaml: &str, policy: &Policy) -> Result<Connection, Rejected> {
    let vetted = Connection::from_bytes(yaml, None, policy);
    match &vetted {
        Ok(connection) => shows_no_secret(&format!("{connection:?}")),
        Err(error) => shows_no_secret(&format!("{error} {error:?}")),
    }
    vetted
}

fn strict(cluster: &[&str], user: &[&str]) -> Result<Connection, Rejected> {
    vet(&yaml("https://a.test:6443", cluster, user), &Policy::strict())
}

/// Everything that can be allowed.
fn everything() -> Policy {
    Policy::own_files().allow_command("plugin")
}

fn field_of(error: &Rejected) -> &str {
    match error {
        Rejected::Forbidden { field, .. }
        | Rejected::Unsupported { field, .. }
        | Rejected::Invalid { field, .. } => field,
        other => panic!("no field in {other:?}"),
    }
}
