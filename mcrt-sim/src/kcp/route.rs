//! Paths that lead to a workspace, or to several at once.

use crate::request::path::decode;

/// Where a path leads.
#[derive(Debug, PartialEq)]
pub(crate) enum Route {
    /// To one workspace.
    Workspace(String),
    /// To what binds an export, by its workspace and its name.
    Export(String, String, Within),
    /// To what waits for an initializer.
    Initializer(String, Within),
    /// To none of them.
    Nowhere,
}

/// Which of the workspaces.
#[derive(Debug, PartialEq)]
pub(crate) enum Within {
    /// All at once.
    All,
    One(String),
}

/// Reads a path; with the route comes how long the part is that leads there.
pub(crate) fn read(path: &str) -> (Route, usize) {
    let mut end = 0;
    let segments: Vec<_> = path
        .split('/')
        .skip(1)
        .map(|segment| {
            end += 1 + segment.len();
            (decode(segment).into_owned(), end)
        })
        .collect();
    let names: Vec<_> = segments.iter().map(|(name, _)| name.as_str()).collect();
    let (route, taken) = match *names.as_slice() {
        ["clusters", one, ..] => (Route::Workspace(one.to_owned()), 2),
        ["services", "apiexport", cluster, export, "clusters", which, ..] => {
            let within = Within::of(which);
            (Route::Export(cluster.to_owned(), export.to_owned(), within), 6)
        }
        [
            "services",
            "initializingworkspaces",
            initializer,
            "clusters",
            which,
            ..,
        ] => {
            let within = Within::of(which);
            (Route::Initializer(initializer.to_owned(), within), 5)
        }
        _ => return (Route::Nowhere, 0),
    };
    (route, segments[taken - 1].1)
}

impl Within {
    fn of(which: &str) -> Self {
        match which {
            "*" => Self::All,
            one => Self::One(one.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_workspaces_and_leave_the_servers_own_path() {
        let table = [
            (
                "/clusters/root:org:ws/api/v1",
                Route::Workspace("root:org:ws".into()),
                "/api/v1",
            ),
            ("/clusters/abc", Route::Workspace("abc".into()), ""),
            (
                "/services/apiexport/r/e/clusters/*/apis/a/v1/b",
                Route::Export("r".into(), "e".into(), Within::All),
                "/apis/a/v1/b",
            ),
            (
                "/services/apiexport/root%3Aorg/e/clusters/%2A/version",
                Route::Export("root:org".into(), "e".into(), Within::All),
                "/version",
            ),
            (
                "/services/initializingworkspaces/root:t/clusters/abc/api",
                Route::Initializer("root:t".into(), Within::One("abc".into())),
                "/api",
            ),
            (
                "/services/apiexport/r/e/readyz",
                Route::Nowhere,
                "/services/apiexport/r/e/readyz",
            ),
            ("/readyz", Route::Nowhere, "/readyz"),
            ("", Route::Nowhere, ""),
        ];
        for (path, route, rest) in table {
            let (found, base) = read(path);
            assert_eq!(found, route, "{path}");
            assert_eq!(&path[base..], rest, "{path}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_path_is_read(path in "/?(clusters|services|apiexport|[*:%/a-z0-9é])*") {
            let (_, base) = read(&path);
            assert!(path.is_char_boundary(base));
        }
    }
}
