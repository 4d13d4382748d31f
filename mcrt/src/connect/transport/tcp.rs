//! Sockets that notice dead peers, straight to the server or through an HTTP proxy.
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderValue, Uri};
use hyper_util::client::legacy::connect::{HttpConnector, proxy::Tunnel};
use std::{fmt::Write as _, time::Duration};
use tokio::net::TcpStream;
use tower::{BoxError, ServiceExt as _};

/// Dead peers are noticed after 20 s of silence and three probes 5 s apart: within a deadline or two.
const KEEPALIVE: (Duration, Duration, u32) = (Duration::from_secs(20), Duration::from_secs(5), 3);
/// How long sent bytes may stay unacknowledged; the kernel's own limit is about 15 minutes.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

/// Opens sockets.
pub(super) struct Tcp {
    direct: HttpConnector,
    proxy: Option<Tunnel<HttpConnector>>,
}

impl Tcp {
    pub(super) fn new(proxy: Option<&Uri>) -> Self {
        let direct = connector();
        let proxy = proxy.map(|proxy| {
            let tunnel = Tunnel::new(proxy.clone(), direct.clone());
            match credentials(proxy) {
                Some(header) => tunnel.with_auth(header),
                None => tunnel,
            }
        });
        Self { direct, proxy }
    }

    /// Whether there is a proxy between here and the server.
    pub(super) fn is_proxied(&self) -> bool {
        self.proxy.is_some()
    }

    pub(super) async fn connect(&self, server: &Uri) -> Result<TcpStream, BoxError> {
        let stream = match &self.proxy {
            Some(tunnel) => tunnel.clone().oneshot(server.clone()).await?,
            None => self.direct.clone().oneshot(server.clone()).await?,
        };
        Ok(stream.into_inner())
    }
}

fn connector() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let (idle, interval, retries) = KEEPALIVE;
    tcp.set_keepalive(Some(idle));
    tcp.set_keepalive_interval(Some(interval));
    tcp.set_keepalive_retries(Some(retries));
    #[cfg(target_os = "linux")]
    tcp.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
    tcp
}

/// `user:password@` of a proxy's address.
fn credentials(proxy: &Uri) -> Option<HeaderValue> {
    let (user, _) = proxy.authority()?.as_str().rsplit_once('@')?;
    let mut header = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(unescape(user)))).ok()?;
    header.set_sensitive(true);
    Some(header)
}

fn unescape(text: &str) -> Vec<u8> {
    let (bytes, mut at) = (text.as_bytes(), 0);
    let mut out = Vec::with_capacity(bytes.len());
    while let Some(&byte) = bytes.get(at) {
        let escaped = (byte == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(escaped.unwrap_or(byte));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    out
}

/// An error and all its causes, in one line.
pub(super) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    for cause in std::iter::successors(error.source(), |error| error.source()) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            // Writing to a string cannot fail.
            _ = write!(text, ": {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_of_a_proxy_goes_into_a_header_that_is_marked_as_secret() {
        let header = credentials(&"http://user:p%40ss@proxy.test:3128".parse().unwrap()).unwrap();
        assert_eq!(
            header.to_str().unwrap(),
            format!("Basic {}", STANDARD.encode("user:p@ss"))
        );
        assert!(header.is_sensitive());
        assert!(credentials(&"http://proxy.test:3128".parse().unwrap()).is_none());
    }
}
