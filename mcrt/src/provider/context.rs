//! What a provider may use while it runs.
use crate::{
    cache::CacheSettings,
    connect::{Access, ConnectError, Life, TransportSettings},
};

/// What a provider may use while it runs: the way to the host, and the manners of the fleet.
#[derive(Clone, Debug, Default)]
pub struct ProviderContext {
    host: Option<Access>,
    transport: TransportSettings,
    caches: CacheSettings,
}

impl ProviderContext {
    /// For whoever runs a provider without a manager, such as a test. The default has no host.
    pub fn new(host: Option<Access>, transport: TransportSettings, caches: CacheSettings) -> Self {
        Self {
            host,
            transport,
            caches,
        }
    }

    /// How to reach the host; there is one for a provider that [needs it](super::Provider::needs_host).
    pub fn host(&self) -> Option<&Access> {
        self.host.as_ref()
    }

    /// How the fleet treats its connections.
    pub fn transport(&self) -> &TransportSettings {
        &self.transport
    }

    /// How the fleet watches.
    pub fn caches(&self) -> &CacheSettings {
        &self.caches
    }

    /// A client for the host, whose tasks belong to `life`. Dials nothing.
    ///
    /// # Errors
    /// If there is no host, or no client can be built for it; the text is one for [`Change::Failed`](super::Change::Failed).
    pub fn host_client(&self, life: &Life) -> Result<kube::Client, String> {
        let host = self.host.as_ref().ok_or("there is no host to read")?;
        host.client(&self.transport, life)
            .map_err(|error: ConnectError| format!("cannot build a client for the host: {error}"))
    }
}
