//! The `team-tokens` example: every ConfigMap of a team has the token that the team's key on the host makes, and no
//! token is left of one that is gone.

use mcrt::testing::Setup;
use mcrt_sim::{Fleet, Server};
use mcrt_tests::random::Random;
use serde_json::{Value, json};
use team_tokens::{KEY, TEAM, TOKEN, TeamTokens, token};

use super::controllers::Subject;

const TEAMS: [&str; 3] = ["blue", "green", "red"];
const ISSUER: &str = "tests";

pub(crate) struct Tokens;

fn config(name: &str, team: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": "default", "labels": { TEAM: team } },
    })
}

/// The key of a team: a number in the text of the base 64 that a Secret has it in.
fn key(team: &str, number: u64) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": team, "namespace": "default", "labels": { "mcrt.dev/signing-key": "" } },
        "data": { KEY: encoded(number) },
    })
}

/// Base 64 of 24 bytes, which are easily had again.
fn encoded(number: u64) -> String {
    format!("{number:032}")
}

fn decoded(text: &str) -> Vec<u8> {
    let bytes: k8s_openapi::ByteString = serde_json::from_value(text.into()).unwrap();
    bytes.0
}

impl Subject for Tokens {
    fn fill(&self, sim: &Fleet) {
        for (number, team) in (0..).zip(TEAMS) {
            sim.host().create(key(team, number)).unwrap();
            for server in sim.servers() {
                server.create(config(&format!("object-{number}"), team)).unwrap();
            }
        }
    }

    fn controller(&self, setup: Setup) -> Setup {
        setup.controller(TeamTokens {
            issuer: ISSUER.into(),
        })
    }

    fn change(&self, sim: &Fleet, random: &mut Random, step: u64) {
        let server = random.choose(&sim.servers()).clone();
        let team = *random.choose(&TEAMS);
        let object = format!("object-{}", random.below(8));
        let delete = |kind| drop(server.delete("v1", kind, Some("default"), &object));
        // What cannot be done is not done: there is no such object, or there is one already.
        match random.below(12) {
            0..4 => drop(server.create(config(&object, team))),
            4 | 5 => drop(server.replace(config(&object, team))),
            6 => delete("ConfigMap"),
            7 => {
                delete("ConfigMap");
                drop(server.create(config(&object, team)));
            }
            8 | 9 => delete("Secret"),
            _ => drop(sim.host().merge(key(team, step))),
        }
    }

    fn check(&self, sim: &Fleet, server: &Server) -> Result<(), String> {
        let configs = server.list("v1", "ConfigMap", Some("default")).unwrap();
        let teams = configs
            .iter()
            .filter_map(|config| Some((config, config["metadata"]["labels"][TEAM].as_str()?)));
        for (config, team) in teams {
            has_token(&sim.host(), server, config, team)?;
        }
        let uids: Vec<_> = configs.iter().map(|config| &config["metadata"]["uid"]).collect();
        for secret in server.list("v1", "Secret", Some("default")).unwrap() {
            let owner = &secret["metadata"]["ownerReferences"][0]["uid"];
            if !uids.contains(&owner) {
                return Err(format!(
                    "{}: {} is owned by nothing",
                    server.name(),
                    secret["metadata"]["name"]
                ));
            }
        }
        Ok(())
    }
}

fn has_token(host: &Server, server: &Server, config: &Value, team: &str) -> Result<(), String> {
    let name = config["metadata"]["name"].as_str().unwrap();
    let place = format!("cluster://{}/default/{name}", server.name());
    let wrong = |what: &str| format!("{place}: {what}");
    let key = host.get("v1", "Secret", Some("default"), team).unwrap();
    let key = decoded(key["data"][KEY].as_str().unwrap());
    let Ok(secret) = server.get("v1", "Secret", Some("default"), name) else {
        return Err(wrong("there is no token"));
    };
    let found = decoded(secret["data"][TOKEN].as_str().unwrap_or_default());
    if found != token(ISSUER, team, &place, &key).into_bytes() {
        return Err(wrong("the token is another"));
    }
    if secret["metadata"]["ownerReferences"][0]["uid"] != config["metadata"]["uid"] {
        return Err(wrong("the token is not its own"));
    }
    Ok(())
}
