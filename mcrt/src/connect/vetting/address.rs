//! Addresses: of the API server, and of the proxy before it.
use super::{super::error::Rejected, field::At, nonempty};
use http::{Uri, uri::Authority};
use kube::config::Cluster;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const PLAIN: &str = "has no TLS, which shows tokens to the network: give an address that begins with https://, or allow \
                     it with `Policy::allow_plain_http`";
const LOCAL: &str = "is on the controller's own machine or link: give the address that others use, or allow it with \
                     `Policy::allow_local_servers`";
const PROXY: &str = "goes through a proxy: remove it, or allow it with `Policy::allow_proxies`";
const NO_ADDRESS: &str = "not an address";

pub(super) fn server(cluster: &Cluster, at: &At<'_>) -> Result<Uri, Rejected> {
    let field = ".server";
    let Some(server) = nonempty(cluster.server.as_ref()) else {
        return Err(at.invalid(field, "missing: give the address of the API server"));
    };
    let uri = address(server, at, field)?;
    if uri
        .authority()
        .is_some_and(|authority| authority.as_str().contains('@'))
    {
        return Err(at.invalid(
            field,
            "has a user in it: use the fields of `user` for credentials",
        ));
    }
    if uri.query().is_some() {
        return Err(at.invalid(field, "has a query, which no API server takes"));
    }
    match uri.scheme_str() {
        Some("https") => {}
        Some("http") => at.allow(at.policy.plain_http, field, PLAIN)?,
        _ => return Err(at.invalid(field, "must begin with https:// or http://")),
    }
    Ok(uri)
}

pub(super) fn proxy(cluster: &Cluster, at: &At<'_>) -> Result<Option<Uri>, Rejected> {
    let field = ".proxy-url";
    let Some(proxy) = nonempty(cluster.proxy_url.as_ref()) else {
        return Ok(None);
    };
    // Going around a proxy that the file asks for would reach another network.
    at.allow(at.policy.proxies, field, PROXY)?;
    let uri = address(proxy, at, field)?;
    if uri.scheme_str() != Some("http") {
        return Err(at.invalid(
            field,
            "must begin with http://: other kinds of proxies are not supported",
        ));
    }
    Ok(Some(uri))
}

fn address(text: &str, at: &At<'_>, field: &'static str) -> Result<Uri, Rejected> {
    let uri: Uri = text.parse().map_err(|_| at.invalid(field, NO_ADDRESS))?;
    let authority = uri.authority().ok_or_else(|| at.invalid(field, NO_ADDRESS))?;
    let local = is_local(authority).ok_or_else(|| at.invalid(field, NO_ADDRESS))?;
    at.allow(at.policy.local_servers || !local, field, LOCAL)?;
    Ok(uri)
}

/// Whether an address stays on this machine or its link; `None` where it is none.
fn is_local(authority: &Authority) -> Option<bool> {
    let host = authority.host();
    let after_user = authority.as_str().rsplit('@').next()?;
    let port = after_user.strip_prefix(host)?;
    let good_port = port.is_empty() || port.strip_prefix(':')?.parse::<u16>().is_ok_and(|port| port > 0);
    if !good_port {
        return None;
    }
    if let Some(address) = host.strip_prefix('[') {
        let address: Ipv6Addr = address.strip_suffix(']')?.parse().ok()?;
        return Some(is_local_ip(address.to_canonical()));
    }
    if let Ok(address) = host.parse::<Ipv4Addr>() {
        return Some(is_local_ip(address.into()));
    }
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let last = name.rsplit('.').next()?;
    // Resolvers take `127.1`, `0x7f.1` and `2130706433` for addresses.
    let number = last.starts_with("0x") || last.chars().all(|c| c.is_ascii_digit());
    if last.is_empty() || number || !name.chars().all(fits) {
        return None;
    }
    Some(last == "localhost")
}

fn is_local_ip(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            address.is_loopback()
                || address.is_link_local()
                || address.octets()[0] == 0
                || address.is_broadcast()
        }
        IpAddr::V6(address) => {
            let embedded = match address.segments() {
                // ::/96, and NAT64's 64:ff9b::/96.
                [0 | 0x64, 0 | 0xff9b, 0, 0, 0, 0, high, low] => {
                    Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
                }
                _ => None,
            };
            address.is_loopback()
                || address.is_unspecified()
                || address.is_unicast_link_local()
                || embedded.is_some_and(|address| is_local_ip(address.into()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_and_its_link_are_known_in_every_spelling() {
        let table = [
            ("127.0.0.1", Some(true)),
            ("127.8.8.8:6443", Some(true)),
            ("0.0.0.0", Some(true)),
            ("169.254.169.254", Some(true)),
            ("localhost", Some(true)),
            ("LocalHost.:6443", Some(true)),
            ("kind.localhost", Some(true)),
            ("[::1]", Some(true)),
            ("[::]:443", Some(true)),
            ("[fe80::1]", Some(true)),
            ("[::ffff:127.0.0.1]", Some(true)),
            ("[::127.0.0.1]", Some(true)),
            ("[64:ff9b::169.254.169.254]", Some(true)),
            ("10.0.0.1", Some(false)),
            ("192.168.1.1:6443", Some(false)),
            ("[2001:db8::1]", Some(false)),
            ("[64:ff9b::8.8.8.8]", Some(false)),
            ("a.test", Some(false)),
            ("a-1.b_2.test.:6443", Some(false)),
            ("notlocalhost", Some(false)),
            ("1password.com", Some(false)),
            ("127.1", None),
            ("2130706433", None),
            ("0x7f.0.0.1", None),
            ("0x7f000001", None),
            ("0177.0.0.01", None),
            ("a.0x1", None),
            ("u:p@127.0.0.1", Some(true)),
            ("127.0.0.1@a.test:1", Some(false)),
            ("a.test:0", None),
            ("a.test:99999", None),
            (".", None),
            ("[::1", None),
        ];
        for (address, local) in table {
            let authority = address.parse::<Authority>().ok();
            assert_eq!(authority.as_ref().and_then(is_local), local, "{address}");
        }
    }
}
