//! Starts the controller; on the simulated fleet there are two teams to begin with.
use mcrt::Launch;
use team_tokens::TeamTokens;

#[tokio::main]
async fn main() -> mcrt::Result<()> {
    let launch = Launch::parse();
    #[cfg(feature = "sim")]
    let launch = launch.simulated(team_tokens::demo);
    launch
        .controller(TeamTokens {
            issuer: "mcrt".into(),
        })
        .run()
        .await
}
