//! Where the API server of a vcluster is reached.
use http::Uri;
use std::{fmt, net::IpAddr, sync::Arc};

/// Where the API servers of vclusters are reached.
#[derive(Clone, Default)]
pub enum Address {
    /// At `https://NAME.NAMESPACE:443` where the kubeconfig names a server on this machine, as it does by default; else
    /// as the kubeconfig says. For controllers in the host.
    #[default]
    Service,
    /// As the kubeconfig says.
    AsWritten,
    /// At what this makes of the namespace and the name of the vcluster, such as of its ingress. The certificate of the
    /// server may lack that name: see [`Vcluster::tls_server_name`](crate::Vcluster::tls_server_name).
    Of(Arc<dyn Fn(&str, &str) -> String + Send + Sync>),
}

impl Address {
    /// At what this makes of the namespace and the name of the vcluster.
    pub fn of(address: impl Fn(&str, &str) -> String + Send + Sync + 'static) -> Self {
        Self::Of(Arc::new(address))
    }

    /// The address of one vcluster whose kubeconfig names this server.
    pub(crate) fn server(&self, written: &str, namespace: &str, name: &str) -> String {
        match self {
            Self::Service if is_local(written) => format!("https://{name}.{namespace}:443"),
            Self::Service | Self::AsWritten => written.to_owned(),
            Self::Of(address) => address(namespace, name),
        }
    }
}

fn is_local(server: &str) -> bool {
    let Ok(uri) = server.parse::<Uri>() else {
        return false;
    };
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Service => "Service",
            Self::AsWritten => "AsWritten",
            Self::Of(_) => "Of(..)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_on_this_machine_are_replaced_and_no_others() {
        for (written, server) in [
            ("https://localhost:8443", "https://db.team:443"),
            ("https://LOCALHOST/", "https://db.team:443"),
            ("https://127.0.0.1:10443/", "https://db.team:443"),
            ("https://[::1]:8443", "https://db.team:443"),
            ("https://db.example.com", "https://db.example.com"),
            ("https://10.0.0.1:443/", "https://10.0.0.1:443/"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(Address::Service.server(written, "team", "db"), server);
            assert_eq!(Address::AsWritten.server(written, "team", "db"), written);
        }
        let ingress = Address::of(|namespace, name| format!("https://{name}-{namespace}.example.com"));
        assert_eq!(
            ingress.server("https://localhost", "team", "db"),
            "https://db-team.example.com"
        );
    }
}
