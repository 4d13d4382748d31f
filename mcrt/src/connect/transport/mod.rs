//! The HTTP transport of a connection: what lies between the breaker and the wire.
//!
//! ```text
//! guard, breaker | bounded (retries, budget, deadlines) -> impersonation -> base URI -> authorization -> pool
//!                                    pool -> dial (one deadline): [proxy] -> TCP -> TLS -> HTTP/2 or HTTP/1.1
//! ```
mod bounded;
mod budget;
mod call;
mod crypto;
mod deadlines;
mod dial;
mod impersonate;
mod pinned;
mod pool;
mod retry;
mod stream;
mod tally;
mod tcp;
mod tls;

use super::{
    authorize::Authorize, breaker::Breaker, connection::Connection, credentials::Material,
    error::ConnectError, guard, life::Life, service::ServiceAccess, settings::TransportSettings,
};
use impersonate::Impersonating;
use kube::client::middleware::BaseUriLayer;
use pool::Pool;
use std::sync::Arc;
use tower::{Layer, ServiceBuilder};

pub(super) use bounded::Bounded;
pub(super) use call::Call;
pub(crate) use call::{Housekeeping, Once};
pub(super) use crypto::install_crypto;
pub(super) use deadlines::Until;
pub(super) use retry::copy_of;
pub(super) use tally::Tallied;

/// What lies behind the client of a connection.
type Wire = Impersonating<<BaseUriLayer as Layer<Authorize<Pool>>>::Service>;

/// Builds the client of a connection. Dials nothing.
pub(super) fn client(
    connection: &Connection,
    material: &Material,
    settings: &TransportSettings,
    breaker: &Breaker,
    life: &Life,
) -> Result<kube::Client, ConnectError> {
    let service = wire(connection, material, settings, life)?;
    guard::client(service, connection.namespace.clone(), settings, breaker, life)
}

/// What lies behind the client of a connection, as a service.
pub(super) fn service(
    connection: &Connection,
    material: &Material,
    settings: &TransportSettings,
    life: &Life,
) -> Result<ServiceAccess, ConnectError> {
    let wire = wire(connection, material, settings, life)?;
    Ok(ServiceAccess::new(connection.server(), wire))
}

fn wire(
    connection: &Connection,
    material: &Material,
    settings: &TransportSettings,
    life: &Life,
) -> Result<Wire, ConnectError> {
    let pool = Pool::new(connection, material, settings, life.ward())?;
    let headers = Arc::new(impersonate::headers(connection.impersonate.as_ref())?);
    Ok(ServiceBuilder::new()
        .layer_fn(|inner| Impersonating::new(inner, Arc::clone(&headers)))
        .layer(BaseUriLayer::new(connection.server.clone()))
        .layer_fn(|inner| Authorize::new(inner, material.clone()))
        .service(pool))
}
