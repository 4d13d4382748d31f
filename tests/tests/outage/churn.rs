//! A cluster that comes and goes all the time leaves nothing behind.

use std::time::Duration;

use mcrt::{ClusterName, providers::Clusters, testing::alive_tasks};
use mcrt_tests::{eventually, proxy::Proxy, random::Random, running::cluster};
use tokio::time::sleep;

use crate::{
    Outcome, address, planes, through,
    work::{LIMIT, Work},
};

/// Half of the lives end before all is listed.
const LIVES: usize = 60;

#[tokio::test]
async fn a_cluster_that_comes_and_goes_leaves_no_task_and_no_socket() -> Outcome {
    let Some(planes) = planes().await? else {
        return Ok(());
    };
    let proxy = Proxy::to(address(&planes.good)).await?;
    let (work, clusters) = (Work::of("mcrt.dev/churn"), Clusters::new());
    let name: ClusterName = "churn".try_into()?;
    let kubeconfig = through(&planes.good, "churn", proxy.address());
    work.apply(&planes.good, "churn-object", "first").await?;
    let running = work.start(clusters.clone(), Vec::new());
    let mut random = Random::new();
    // What the manager runs by itself is there by then.
    sleep(Duration::from_millis(200)).await;
    // Tasks of the proxy come and go with connections.
    let tasks = alive_tasks();
    let mut runs = 0;
    for life in 0..LIVES {
        clusters.replace(cluster("churn", &kubeconfig));
        if life % 2 == 0 {
            runs = work.runs("churn", "churn-object").len().max(runs);
            work.until(&["churn".to_owned()], "churn-object", runs + 1).await;
        } else {
            sleep(random.millis(60)).await;
        }
        let engaged = running.handle().fleet().get(&name);
        clusters.remove(&name);
        eventually(LIMIT, "nothing left", async || {
            let connections = engaged.as_ref().map_or(0, mcrt::Cluster::connection_tasks);
            match (proxy.open(), connections, alive_tasks()) {
                (0, 0, now) if now <= tasks => Ok(()),
                left => Err(format!("{left:?} in life {life}, {tasks} tasks before")),
            }
        })
        .await;
        runs = work.runs("churn", "churn-object").len();
    }
    running.stop().await;
    Ok(())
}
