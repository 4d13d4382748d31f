//! What must hold of vetting, whatever it is given: for tests, and for the fuzz target.
use super::super::{
    access::Access,
    connection::{Connection, Credentials, Trust},
    kubeconfig::{MAX_KUBECONFIG, parse_one},
    policy::Policy,
};
use std::{
    path::Path,
    time::{Duration, Instant},
};

/// What kubeconfigs of these tests have for a token, a key or a password.
pub(crate) const SECRET: &str = "PLANTEDSECRET";
/// The one program that may run, where any may.
const COMMAND: &str = "plugin";
/// The one directory whose files may be read, where any may.
const DIRECTORY: &str = "/proc/self";
/// Far more than a megabyte takes in a debug build on a busy machine; work that grows out of hand takes minutes.
const LONGEST: Duration = Duration::from_secs(20);

/// The opt-ins that the bits of a number stand for.
fn policy(bits: u8) -> Policy {
    let opt_ins: [fn(Policy) -> Policy; 7] = [
        |policy| policy.allow_command(COMMAND),
        |policy| policy.allow_files_under(DIRECTORY),
        Policy::allow_proxies,
        Policy::allow_plain_http,
        Policy::allow_insecure_tls,
        Policy::allow_impersonation,
        Policy::allow_local_servers,
    ];
    let wanted = opt_ins
        .into_iter()
        .enumerate()
        .filter(|(bit, _)| bits & (1 << bit) != 0);
    wanted.fold(Policy::strict(), |policy, (_, allow)| allow(policy))
}

/// Vets a text by the policy that the first byte stands for, and asserts what must hold of the outcome.
pub(crate) fn vetting_holds(data: &[u8]) {
    let Some((bits, text)) = data.split_first() else {
        return;
    };
    let policy = policy(*bits);
    let begun = Instant::now();
    let vetted = Connection::from_bytes(text, None, &policy);
    let took = begun.elapsed();
    assert!(took < LONGEST, "vetting took {took:?}");
    let shown = match &vetted {
        Ok(connection) => format!("{connection:?} {:?}", Access::from(connection.clone())),
        Err(error) => format!("{error} {error:?}"),
    };
    assert!(
        !shown.contains(SECRET) || is_named(text),
        "shows a secret: {shown}"
    );
    if let Ok(connection) = vetted {
        assert!(text.len() as u64 <= MAX_KUBECONFIG);
        assert_allowed(&connection, &policy);
    }
}

fn assert_allowed(connection: &Connection, policy: &Policy) {
    match &connection.credentials {
        Credentials::TokenFile(path) => assert!(policy.file(path).is_ok(), "reads a file"),
        Credentials::Exec(plugin) => {
            assert!(policy.allows_command(&plugin.command), "runs a program");
            assert!(plugin.command == Path::new(COMMAND), "runs another program");
            assert!(
                plugin.env.iter().all(|(name, _)| name != "PATH"),
                "chooses a program"
            );
        }
        Credentials::None | Credentials::Token(_) | Credentials::Basic(..) => {}
    }
    match &connection.trust {
        Trust::Anyone => assert!(policy.insecure_tls, "believes anyone"),
        Trust::File(..) => unreachable!("reads a file for as long as it lives"),
        Trust::System | Trust::Authorities(_) => {}
    }
    let scheme = connection.server.scheme_str();
    assert!(
        scheme == Some("https") || policy.plain_http && scheme == Some("http"),
        "shows tokens"
    );
    assert!(connection.proxy.is_none() || policy.proxies, "takes a proxy");
    assert!(
        connection.impersonate.is_none() || policy.impersonation,
        "acts as somebody else"
    );
    let host = connection.server.host().unwrap_or_default();
    let local = host.ends_with("localhost") || host.starts_with("127.") || host == "[::1]";
    assert!(!local || policy.local_servers, "talks to this machine");
}

/// Whether the secret is where messages may repeat it: in a name or an address.
fn is_named(text: &[u8]) -> bool {
    let Ok(kubeconfig) = parse_one(text) else {
        return false;
    };
    let contexts = kubeconfig.contexts.iter().flat_map(|named| {
        let context = named.context.as_ref();
        let names = context.map(|context| [Some(&context.cluster), context.user.as_ref()]);
        names.into_iter().flatten().flatten().chain([&named.name])
    });
    let servers = kubeconfig
        .clusters
        .iter()
        .filter_map(|named| named.cluster.as_ref()?.server.as_ref());
    let mut shown = contexts.chain(servers).chain(&kubeconfig.current_context);
    shown.any(|name| name.contains(SECRET))
}
