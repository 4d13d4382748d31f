//! What makes a part of a server a cluster.
use super::path;
use http::{Method, Uri};
use std::fmt;

/// Where kcp serves the logical clusters of a virtual workspace, all of them together.
const ALL_WORKSPACES: &str = "/clusters/*";

/// What the clusters of a server are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Division {
    Namespaces,
    Workspaces,
}

/// What becomes of a member's request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// It goes out, below this prefix.
    Own(String),
    /// Its answer is the same for every member: it is asked once for all of them.
    Together,
    /// It leaves the member's part of the server.
    Refused(String),
}

impl Division {
    /// Below which the server is asked for all clusters together.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Namespaces => "",
            Self::Workspaces => ALL_WORKSPACES,
        }
    }

    pub(super) fn route(self, key: &str, method: &Method, uri: &Uri) -> Route {
        let outcome = path::segments(uri.path()).and_then(|segments| {
            let segments: Vec<&str> = segments.iter().map(|segment| &**segment).collect();
            match self {
                Self::Namespaces => namespaced(key, method, &segments),
                Self::Workspaces => in_workspace(key, method, &segments),
            }
        });
        outcome.unwrap_or_else(|reason| {
            Route::Refused(format!(
                "cluster {key:?} is one of the {self} of a server: {method} {}: {reason}",
                uri.path()
            ))
        })
    }
}

impl fmt::Display for Division {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Namespaces => "namespaces",
            Self::Workspaces => "workspaces",
        })
    }
}

fn namespaced(key: &str, method: &Method, segments: &[&str]) -> Result<Route, &'static str> {
    let own = || Ok(Route::Own(String::new()));
    let rest = match segments {
        ["api", _, "namespaces", namespace, rest @ ..] if *namespace == key => Some((true, rest)),
        ["apis", _, _, "namespaces", namespace, rest @ ..] if *namespace == key => Some((false, rest)),
        _ => None,
    };
    match rest {
        // The namespace itself, its status and its finalizers are not in it.
        Some((core, [] | ["status" | "finalize"])) => {
            return if core && reads(method) {
                own()
            } else {
                Err("the namespace itself can be read only")
            };
        }
        Some(_) => return own(),
        None => {}
    }
    if let Some(route) = of_server(method, segments) {
        return Ok(route);
    }
    match segments {
        ["healthz" | "livez" | "readyz" | "openapi", ..] | [] if reads(method) => own(),
        ["apis", "authorization.k8s.io", _, "selfsubjectaccessreviews"] if *method == Method::POST => {
            Ok(Route::Together)
        }
        ["apis", "authorization.k8s.io", _, "selfsubjectrulesreviews"]
        | ["apis", "authentication.k8s.io", _, "selfsubjectreviews"]
            if *method == Method::POST =>
        {
            own()
        }
        _ => Err("outside of the namespace: nothing but the objects in it can be reached"),
    }
}

fn in_workspace(key: &str, method: &Method, segments: &[&str]) -> Result<Route, &'static str> {
    let of_a_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '.' | '_');
    if key.is_empty() || matches!(key, "." | "..") || !key.chars().all(of_a_name) {
        return Err("no name of a logical cluster");
    }
    let own = Route::Own(format!("/clusters/{key}"));
    Ok(of_server(method, segments).unwrap_or(own))
}

/// What is asked of the server as a whole: whether it is ready, its version, the kinds that it serves.
fn of_server(method: &Method, segments: &[&str]) -> Option<Route> {
    let asks = matches!(
        segments,
        ["readyz" | "livez" | "version" | "api" | "apis"] | ["api" | "apis", _] | ["apis", _, _]
    );
    (asks && *method == Method::GET).then_some(Route::Together)
}

fn reads(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}
