//! The controller on a simulated fleet: it converges, and comes back from whatever happens to its clusters.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]
#![cfg(feature = "sim")]

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use mcrt::{
    Health,
    testing::{TestCluster, TestFleet},
};
use mcrt_sim::{Fault, Faults, Requests};
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};
use team_tokens::{KEY, TEAM, TOKEN, TeamTokens, demo};

/// The controller at work on three clusters with the objects of the demonstration: teams `blue` and `red`.
async fn fleet() -> TestFleet {
    TestFleet::start(["alpha", "beta", "gamma"])
        .holding(demo)
        .controller(controller())
        .await
}

fn controller() -> TeamTokens {
    TeamTokens {
        issuer: "tests".into(),
    }
}

fn config(team: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": format!("{team}-settings"), "labels": { TEAM: team } },
    })
}

fn key(team: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": team, "labels": { "mcrt.dev/signing-key": "" } },
        "data": { KEY: "bW9zcw==" },
    })
}

/// The token beside a team's ConfigMap. An error says what is missing, for whoever waits for it.
fn token(cluster: &TestCluster, team: &str) -> Result<String, String> {
    let missing = || format!("{team} has no token in {}", cluster.name());
    let secret: Secret = cluster.get(&format!("{team}-settings")).ok_or_else(missing)?;
    let token = secret
        .data
        .and_then(|data| data.get(TOKEN).cloned())
        .ok_or_else(missing)?;
    Ok(String::from_utf8(token.0).unwrap())
}

#[tokio::test(start_paused = true)]
async fn every_team_gets_a_token_in_every_cluster_and_no_two_are_alike() {
    let fleet = fleet().await;
    fleet.settled().await;
    let mut tokens = BTreeSet::new();
    for cluster in fleet.clusters() {
        for team in ["blue", "red"] {
            tokens.insert(token(&cluster, team).unwrap());
        }
    }
    assert_eq!(tokens.len(), 6);
    fleet.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_new_key_changes_the_tokens_of_its_team_alone() {
    let fleet = fleet().await;
    fleet.settled().await;
    let tokens = |team| {
        fleet
            .clusters()
            .iter()
            .map(|cluster| token(cluster, team).unwrap())
            .collect::<Vec<_>>()
    };
    let (blue, red) = (tokens("blue"), tokens("red"));
    fleet.host().edit::<Secret>("red", |secret| {
        secret.data.as_mut().unwrap().get_mut(KEY).unwrap().0 = b"tulips".to_vec();
    });
    fleet.settled().await;
    assert_eq!(tokens("blue"), blue);
    assert!(tokens("red").iter().zip(&red).all(|(new, old)| new != old));
    fleet.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_team_without_a_key_waits_for_it() {
    let fleet = fleet().await;
    let gamma = fleet.cluster("gamma");
    gamma.create(config("green"));
    fleet.settled().await;
    assert!(token(&gamma, "green").is_err());
    fleet.host().create(key("green"));
    fleet.until("the token", async || token(&gamma, "green")).await;
    fleet.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_deleted_token_comes_back_and_is_owned_by_its_config_map() {
    let fleet = fleet().await;
    fleet.settled().await;
    let beta = fleet.cluster("beta");
    let old = token(&beta, "red").unwrap();
    beta.delete::<Secret>("red-settings");
    fleet.settled().await;
    assert_eq!(token(&beta, "red").unwrap(), old);
    let secret: Secret = beta.get("red-settings").unwrap();
    let owner = &secret.metadata.owner_references.unwrap()[0];
    assert_eq!(
        (owner.kind.as_str(), owner.name.as_str()),
        ("ConfigMap", "red-settings")
    );
    fleet.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_token_that_came_and_went_while_nobody_watched_is_made_again() {
    let fleet = fleet().await;
    fleet.settled().await;
    let beta = fleet.cluster("beta");
    beta.faults(Faults::none().on(Requests::watches().of("secrets"), Fault::status(503)));
    beta.server().disconnect_watches();
    fleet.host().create(key("green"));
    beta.create(config("green"));
    fleet.until("the token", async || token(&beta, "green")).await;
    beta.delete::<Secret>("green-settings");
    // The watch cannot go on from where it was: a list is all that it gets, and the list shows no difference.
    beta.server().compact();
    beta.clear_faults();
    fleet
        .until("the token again", async || token(&beta, "green"))
        .await;
    fleet.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_token_goes_with_its_config_map() {
    let fleet = fleet().await;
    fleet.settled().await;
    let beta = fleet.cluster("beta");
    beta.delete::<ConfigMap>("red-settings");
    // The garbage collector of the cluster deletes what the ConfigMap owned, and the controller leaves it at that.
    fleet
        .until("the token is gone", async || {
            match beta.get::<Secret>("red-settings") {
                None => Ok(()),
                Some(_) => Err("it is there"),
            }
        })
        .await;
    fleet.settled().await;
    assert!(token(&beta, "red").is_err());
    assert!(token(&beta, "blue").is_ok());
    fleet.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_joins_gets_its_tokens_and_one_that_leaves_keeps_them() {
    let fleet = fleet().await;
    fleet.settled().await;
    let beta = fleet.cluster("beta");
    fleet.leave("beta");
    let delta = fleet.join("delta");
    delta.create(config("blue"));
    fleet.settled().await;
    beta.create(config("green"));
    fleet.host().create(key("green"));
    fleet.settled().await;
    assert!(token(&delta, "blue").is_ok());
    assert!(token(&beta, "blue").is_ok());
    assert!(token(&beta, "green").is_err(), "nobody works there any more");
    fleet.stop().await;
}

#[tokio::test(start_paused = true)]
async fn writes_that_fail_are_tried_again() {
    let fleet = fleet().await;
    fleet.settled().await;
    let alpha = fleet.cluster("alpha");
    alpha.faults(Faults::none().on(Requests::patches(), Fault::status(500)));
    alpha.create(config("green"));
    fleet.host().create(key("green"));
    fleet
        .until("a failed write", async || {
            match fleet.controller("team-tokens").counters().errors {
                0 => Err("no reconcile failed yet"),
                _ => Ok(()),
            }
        })
        .await;
    assert!(token(&alpha, "green").is_err());
    alpha.clear_faults();
    fleet.settled().await;
    assert!(token(&alpha, "green").is_ok());
    fleet.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_partitioned_cluster_holds_up_no_other_and_catches_up() {
    let fleet = fleet().await;
    fleet.settled().await;
    let beta = fleet.cluster("beta");
    beta.partition();
    fleet.host().create(key("green"));
    for cluster in fleet.clusters() {
        cluster.create(config("green"));
    }
    for name in ["alpha", "gamma"] {
        let cluster = fleet.cluster(name);
        fleet
            .within(Duration::from_secs(1), "the token", async || {
                token(&cluster, "green")
            })
            .await;
    }
    fleet
        .until("beta is missed", async || match fleet.engaged("beta").health() {
            Health::Ready => Err("it counts as ready"),
            _ => Ok(()),
        })
        .await;
    assert!(token(&beta, "green").is_err());
    beta.heal();
    fleet.settled().await;
    assert!(token(&beta, "green").is_ok());
    fleet.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_in_the_middle_of_the_work_loses_nothing() {
    let fleet = fleet().await;
    let hangs = Faults::none().on(Requests::patches(), Fault::hang());
    fleet.cluster("alpha").faults(hangs);
    fleet
        .until("a token", async || token(&fleet.cluster("beta"), "blue"))
        .await;
    let clusters = fleet.crash().await;
    clusters.get("alpha").unwrap().clear_faults();
    let fleet = TestFleet::over(&clusters).controller(controller()).await;
    fleet.settled().await;
    assert!(
        fleet
            .clusters()
            .iter()
            .all(|cluster| token(cluster, "blue").is_ok())
    );
    fleet.stop().await;
}

#[tokio::test(start_paused = true)]
async fn it_converges_after_a_quarter_of_all_requests_went_wrong() {
    let fleet = TestFleet::start(["alpha", "beta", "gamma"])
        .holding(|fleet| {
            demo(fleet);
            let some = || Requests::any().rate(0.05);
            let plan = Faults::seeded(7)
                .on(some(), Fault::status(503))
                .on(some(), Fault::reset())
                .on(
                    some(),
                    Fault::delay_between(Duration::ZERO, Duration::from_secs(5)),
                )
                .on(some(), Fault::lose_answer())
                .on(Requests::watches(), Fault::expire_after(Duration::from_secs(20)));
            fleet.faults(&plan);
        })
        .controller(controller())
        .await;
    tokio::time::sleep(Duration::from_mins(2)).await;
    fleet.clusters().iter().for_each(TestCluster::clear_faults);
    fleet.settled_within(Duration::from_mins(10)).await;
    for cluster in fleet.clusters() {
        assert!(token(&cluster, "blue").is_ok());
        assert!(token(&cluster, "red").is_ok());
    }
    fleet.stop().await;
}
