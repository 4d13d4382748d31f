//! The fleet, from its start to the interrupt that ends it.

use std::net::{Ipv4Addr, SocketAddr};

use mcrt_sim::{Authority, Fleet, Listen, Listener, Server, User};

use crate::arguments::Arguments;
use crate::churn::churn;
use crate::kubeconfig::{self, Way};
use crate::load::{self, Loaded};

/// A cluster that is being served.
struct Served {
    server: Server,
    listener: Listener,
    way: Way,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), String> {
    let authority = if arguments.plain {
        None
    } else {
        Some(Authority::new("mcrt-sim").map_err(|error| format!("failed to make a certificate: {error}"))?)
    };
    let served = start(&arguments, authority.as_ref()).await?;
    if let Some(path) = &arguments.kubeconfig {
        let ways: Vec<_> = served.iter().map(|it| &it.way).collect();
        let kubeconfig = kubeconfig::kubeconfig(&ways, authority.as_ref().map(Authority::pem));
        kubeconfig::write(path, &kubeconfig)
            .map_err(|error| format!("failed to write {}: {error}", path.display()))?;
    }
    announce(&arguments, &served);
    let servers = served.iter().map(|it| it.server.clone()).collect();
    let life = async {
        match arguments.churn {
            Some(rate) => churn(servers, rate, arguments.seed).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = life => {}
        interrupted = tokio::signal::ctrl_c() => interrupted.map_err(|error| format!("failed to wait: {error}"))?,
    }
    end(served).await;
    Ok(())
}

async fn start(arguments: &Arguments, authority: Option<&Authority>) -> Result<Vec<Served>, String> {
    let common = match &arguments.load {
        Some(directory) => load::read(directory)?,
        None => Vec::new(),
    };
    let fleet = Fleet::new();
    let mut all = Vec::new();
    for number in 0..arguments.clusters {
        let server = prepare(arguments, number, &common)?;
        // As random as a UID is, which is what it is made of; the server listens on this machine only.
        let token = Server::new("token").uid();
        server.add_token(&token, User::admin("admin").group("system:masters"));
        let listener = listen(&server, arguments.port, number, authority).await?;
        let way = Way {
            name: server.name().to_owned(),
            url: listener.url().to_owned(),
            token,
        };
        all.push(Served {
            server: fleet.add(server),
            listener,
            way,
        });
    }
    Ok(all)
}

/// A cluster with all that is to be in it, before anybody sees it.
fn prepare(arguments: &Arguments, number: u16, common: &[Loaded]) -> Result<Server, String> {
    let server = Server::new(&format!("cluster-{}", u32::from(number) + 1));
    server.set_latency(arguments.latency);
    if let Some(version) = &arguments.kubernetes {
        server.set_version(version.as_str());
    }
    load::put(&server, common)?;
    let own = arguments
        .load
        .as_ref()
        .map(|directory| directory.join(server.name()));
    if let Some(own) = own.filter(|own| own.is_dir()) {
        load::put(&server, &load::read(&own)?)?;
    }
    Ok(server)
}

async fn listen(
    server: &Server,
    first: u16,
    number: u16,
    authority: Option<&Authority>,
) -> Result<Listener, String> {
    let port = match first {
        0 => 0,
        first => first
            .checked_add(number)
            .ok_or_else(|| format!("there are too few ports after {first} for so many clusters"))?,
    };
    let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut listen = Listen::new().on(addr);
    if let Some(authority) = authority {
        listen = listen.tls(authority);
    }
    let listening = server.listen_with(listen).await;
    listening.map_err(|error| format!("failed to listen on {addr} for {}: {error}", server.name()))
}

/// Says what is served, in a form that people can use at once.
fn announce(arguments: &Arguments, served: &[Served]) {
    for Served { server, listener, .. } in served {
        let objects = objects(server);
        println!(
            "{}  {}  {} kinds, {objects} objects",
            server.name(),
            listener.url(),
            server.kinds().len()
        );
    }
    if let Some(rate) = arguments.churn {
        println!(
            "churn: {rate} changes a second, label mcrt.dev/churn, seed {}",
            arguments.seed
        );
    }
    match (&arguments.kubeconfig, served.first()) {
        (Some(path), Some(first)) => {
            let (path, context) = (path.display(), first.server.name());
            println!(
                "kubeconfig: {path}; try: kubectl --kubeconfig {path} --context {context} get configmaps -A"
            );
        }
        _ => println!("no kubeconfig was asked for (--kubeconfig FILE), so nobody has a token"),
    }
    println!("serving until Ctrl-C");
}

fn objects(server: &Server) -> usize {
    let kinds = server.kinds();
    let counts = kinds.iter().map(|kind| {
        let api_version = match kind.group.as_str() {
            "" => kind.version.clone(),
            group => format!("{group}/{}", kind.version),
        };
        server
            .list(&api_version, &kind.kind, None)
            .map_or(0, |objects| objects.len())
    });
    counts.sum()
}

/// Closes every port and says what was asked for.
async fn end(served: Vec<Served>) {
    for Served { server, listener, .. } in served {
        listener.shutdown().await;
        let it = server.counters();
        println!(
            "{}  {} requests: {} gets, {} lists, {} watches, {} writes; refused: {} unauthorized, {} forbidden",
            server.name(),
            it.requests,
            it.gets,
            it.lists,
            it.watches,
            it.writes,
            it.unauthorized,
            it.forbidden
        );
    }
}
