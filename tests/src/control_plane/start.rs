//! Starts the programs of a control plane, each when what it needs is ready.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, Config, config::Kubeconfig};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    net::TcpStream,
    time::{Instant, sleep, timeout},
};

use super::{
    Access, Assets, ControlPlane, Options, StartError, User, ports,
    process::{Keeper, Process},
    programs,
    users::{Tokens, kubeconfig},
};

/// For one program. It takes seconds on an idle machine; a loaded one with few cores takes a minute.
const LIMIT: Duration = Duration::from_mins(3);
/// Between two looks at whether a program is ready.
const PAUSE: Duration = Duration::from_millis(50);
/// For one look: an API server that has just begun to listen may let a request hang.
const LOOK: Duration = Duration::from_secs(5);
/// Whole starts, before a port that is always taken is believed to be another problem.
const TRIES: usize = 5;

pub(super) async fn start(assets: &Assets, options: &Options) -> Result<ControlPlane, StartError> {
    let mut tried = 1;
    loop {
        match start_once(assets, options).await {
            Err(error) if error.is_port_taken() && tried < TRIES => tried += 1,
            result => return result,
        }
    }
}

async fn start_once(assets: &Assets, options: &Options) -> Result<ControlPlane, StartError> {
    let folder = tempfile::Builder::new()
        .prefix("mcrt-control-plane-")
        .tempdir()
        .map_err(StartError::Files)?;
    let keeper = Keeper::start(folder.path()).map_err(|source| spawn_failed("sh", source))?;
    let tokens = Tokens::random().map_err(StartError::Files)?;
    let site = Site::new(&folder, assets, options)?;
    site.write_tokens(&tokens.file())?;

    let etcd = site.spawn_etcd(assets, &keeper)?;
    wait(&etcd, async || connect(site.etcd).await).await?;
    let api_server = site.spawn_api_server(&keeper)?;
    let access = site.access(&api_server, tokens).await?;
    wait_until_ready(&api_server, client(access.config(User::Admin))).await?;
    // It answers through this etcd, or through none: an etcd that lost its port has ended by now.
    ensure_running(&etcd)?;

    let controller_manager = if options.controllers {
        Some(site.start_controllers(assets, &keeper, &access).await?)
    } else {
        None
    };
    let api_server = Mutex::new(Some(api_server));
    Ok(ControlPlane {
        controller_manager,
        api_server,
        etcd,
        site,
        access,
        keeper,
        _folder: folder,
    })
}

/// Where a control plane is, and how its API server is started there, the first time and again.
#[derive(Debug)]
pub(super) struct Site {
    folder: PathBuf,
    program: PathBuf,
    etcd: SocketAddr,
    address: SocketAddr,
    prefix: String,
    arguments: Vec<String>,
}

impl Site {
    fn new(folder: &TempDir, assets: &Assets, options: &Options) -> Result<Self, StartError> {
        let name = folder.path().file_name().unwrap_or_default();
        Ok(Self {
            folder: folder.path().to_owned(),
            program: assets.api_server.clone(),
            etcd: ports::free().map_err(StartError::Ports)?,
            address: ports::free().map_err(StartError::Ports)?,
            prefix: name.to_string_lossy().into_owned(),
            arguments: options.api_server_arguments.clone(),
        })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn spawn_etcd(&self, assets: &Assets, keeper: &Keeper) -> Result<Process, StartError> {
        self.spawn(
            "etcd",
            &mut programs::etcd(&assets.etcd, &self.folder, self.etcd),
            keeper,
        )
    }

    pub(super) fn spawn_api_server(&self, keeper: &Keeper) -> Result<Process, StartError> {
        let server = programs::ApiServer {
            folder: &self.folder,
            etcd: self.etcd,
            address: self.address,
            prefix: &self.prefix,
            extra: &self.arguments,
        };
        self.spawn("kube-apiserver", &mut server.command(&self.program), keeper)
    }

    async fn start_controllers(
        &self,
        assets: &Assets,
        keeper: &Keeper,
        access: &Access,
    ) -> Result<Process, StartError> {
        let Some(program) = &assets.controller_manager else {
            return Err(StartError::NoControllerManager {
                api_server: assets.api_server.clone(),
            });
        };
        let token = access.token(User::ControllerManager);
        let own = kubeconfig(
            &access.server_url,
            &access.ca_pem,
            &token,
            &["controllers".to_owned()],
        );
        write(&programs::controllers_kubeconfig(&self.folder), &own)?;
        write(&programs::ca(&self.folder), &access.ca_pem)?;
        let mut command = programs::controller_manager(program, &self.folder);
        let process = self.spawn("kube-controller-manager", &mut command, keeper)?;
        let config_maps = Api::<ConfigMap>::namespaced(client(access.config(User::Admin)), "default");
        wait(&process, async || {
            match config_maps.get_opt("kube-root-ca.crt").await {
                Ok(Some(_)) => Ok(()),
                Ok(None) => Err("no root CA published".to_owned()),
                Err(error) => Err(error.to_string()),
            }
        })
        .await?;
        Ok(process)
    }

    fn spawn(
        &self,
        name: &'static str,
        command: &mut Command,
        keeper: &Keeper,
    ) -> Result<Process, StartError> {
        let log = self.folder.join(format!("{name}.log"));
        keeper
            .spawn(name, command, &log)
            .map_err(|source| spawn_failed(name, source))
    }

    /// Reads the certificate that the API server made for itself, as soon as it did.
    async fn access(&self, api_server: &Process, tokens: Tokens) -> Result<Access, StartError> {
        let ca_pem = wait(api_server, async || certificate_authority(&self.folder)).await?;
        let server_url = format!("https://{}", self.address);
        let kubeconfig = kubeconfig(&server_url, &ca_pem, "", &["test".to_owned()]);
        let config = config(&kubeconfig)?;
        Ok(Access {
            server_url,
            ca_pem,
            tokens: Mutex::new(tokens),
            config,
        })
    }

    pub(super) fn write_tokens(&self, file: &str) -> Result<(), StartError> {
        write(&programs::tokens(&self.folder), file)
    }

    /// Asks etcd, in JSON, for its revision and then to drop what is older.
    pub(super) async fn compact(&self) -> kube::Result<()> {
        let server = format!("http://{}", self.etcd);
        let server = server
            .parse()
            .map_err(|error: http::uri::InvalidUri| kube::Error::HttpError(error.into()))?;
        let etcd = Client::try_from(Config::new(server))?;
        let status = ask(&etcd, "/v3/maintenance/status", &json!({})).await?;
        let compaction = json!({"revision": status["header"]["revision"], "physical": true});
        ask(&etcd, "/v3/kv/compaction", &compaction).await?;
        Ok(())
    }
}

async fn ask(etcd: &Client, path: &str, body: &Value) -> kube::Result<Value> {
    let request = http::Request::post(path)
        .body(body.to_string().into_bytes())
        .map_err(kube::Error::HttpError)?;
    etcd.request(request).await
}

/// Waits until an API server says that it is ready.
pub(super) async fn wait_until_ready(process: &Process, client: Client) -> Result<(), StartError> {
    wait(process, async || {
        let request = http::Request::get("/readyz")
            .body(Vec::new())
            .map_err(|error| error.to_string())?;
        client
            .request_text(request)
            .await
            .map(drop)
            .map_err(|error| error.to_string())
    })
    .await
}

/// Looks until it finds what it waits for, until the program ends, or until it took too long.
async fn wait<T>(
    process: &Process,
    mut look: impl AsyncFnMut() -> Result<T, String>,
) -> Result<T, StartError> {
    let started = Instant::now();
    loop {
        let last = match timeout(LOOK, look()).await {
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(wrong)) => wrong,
            Err(_) => format!("no answer within {LOOK:?}"),
        };
        ensure_running(process)?;
        let waited = started.elapsed();
        if waited > LIMIT {
            return Err(StartError::NotReady {
                program: process.name(),
                waited,
                last,
                log: process.last_lines(),
            });
        }
        sleep(PAUSE).await;
    }
}

fn ensure_running(process: &Process) -> Result<(), StartError> {
    match process.exited() {
        Some(status) => Err(StartError::Ended {
            program: process.name(),
            status,
            log: process.last_lines(),
        }),
        None => Ok(()),
    }
}

async fn connect(address: SocketAddr) -> Result<(), String> {
    TcpStream::connect(address)
        .await
        .map(drop)
        .map_err(|error| error.to_string())
}

/// The authority is the last certificate of the chain; the key is written after it, so then it is whole.
fn certificate_authority(folder: &Path) -> Result<String, String> {
    const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
    let folder = programs::certificates(folder);
    if !folder.join("apiserver.key").is_file() {
        return Err("no certificate yet".to_owned());
    }
    let chain = fs::read_to_string(folder.join("apiserver.crt")).map_err(|error| error.to_string())?;
    let start = chain.rfind(BEGIN).ok_or("a file without a certificate")?;
    Ok(chain[start..].to_owned())
}

fn config(yaml: &str) -> Result<Config, StartError> {
    let kubeconfig = Kubeconfig::from_yaml(yaml).map_err(StartError::Kubeconfig)?;
    let mut config = Config::try_from(kubeconfig).map_err(StartError::Kubeconfig)?;
    // Whatever proxy the environment names, it does not lead to our loopback.
    config.proxy_url = None;
    Ok(config)
}

pub(super) fn client(config: Config) -> Client {
    Client::try_from(config)
        .expect("the certificate is the one the API server made, and the rest is plain text")
}

fn write(path: &Path, content: &str) -> Result<(), StartError> {
    fs::write(path, content).map_err(StartError::Files)
}

fn spawn_failed(program: &'static str, source: std::io::Error) -> StartError {
    StartError::Spawn { program, source }
}
