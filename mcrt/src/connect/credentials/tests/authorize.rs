//! What the layer does about an answer of 401.
use super::super::{super::authorize::Authorize, Material};
use crate::connect::{
    Connection, CredentialSettings, Life,
    tests::{kubeconfig, yaml},
};
use http::{Method, Request, Response, StatusCode};
use kube::client::Body;
use parking_lot::Mutex;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tower::{BoxError, Service, ServiceExt};

/// Takes one token; remembers method, token and body of every request.
#[derive(Clone)]
struct Strict {
    takes: Arc<Mutex<String>>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Strict {
    fn new(token: &str) -> Self {
        Self {
            takes: Arc::new(Mutex::new(token.to_owned())),
            seen: Arc::default(),
        }
    }

    fn service(
        &self,
    ) -> impl Service<Request<Body>, Response = Response<()>, Error = Infallible, Future: Send>
    + Clone
    + Send
    + use<> {
        let strict = self.clone();
        tower::service_fn(move |request: Request<Body>| {
            let strict = strict.clone();
            async move {
                let token =
                    request.headers()["authorization"].to_str().unwrap()["Bearer ".len()..].to_owned();
                let known = token == *strict.takes.lock();
                let method = request.method().clone();
                let body = request.into_body().collect_bytes().await.unwrap();
                let body = String::from_utf8_lossy(&body).into_owned();
                strict.seen.lock().push(format!("{method} {token} {body}"));
                let mut answer = Response::new(());
                if !known {
                    *answer.status_mut() = StatusCode::UNAUTHORIZED;
                }
                Ok(answer)
            }
        })
    }

    fn seen(&self) -> Vec<String> {
        std::mem::take(&mut self.seen.lock())
    }
}

async fn ask(
    service: impl Service<Request<Body>, Response = Response<()>, Error = BoxError>,
    body: Body,
) -> StatusCode {
    let request = Request::builder()
        .method(Method::PATCH)
        .uri("/a")
        .body(body)
        .unwrap();
    service.oneshot(request).await.unwrap().status()
}

#[tokio::test(start_paused = true)]
async fn a_refused_request_is_sent_again_once_with_what_the_file_holds_now() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    std::fs::write(&path, "old").unwrap();
    let file = format!("tokenFile: {}", path.display());
    let yaml = yaml("https://a.test", &[], &[&file]);
    let connection = Connection::from_kubeconfig(&kubeconfig(&yaml), "c").unwrap();
    let material = Material::new(&connection, &CredentialSettings::default(), &Life::new()).unwrap();
    let server = Strict::new("old");
    let service = Authorize::new(server.service(), material);
    assert_eq!(ask(service.clone(), b"x".to_vec().into()).await, StatusCode::OK);
    assert_eq!(server.seen(), ["PATCH old x"]);

    *server.takes.lock() = "new".to_owned();
    std::fs::write(&path, "new").unwrap();
    assert_eq!(ask(service.clone(), b"y".to_vec().into()).await, StatusCode::OK);
    assert_eq!(server.seen(), ["PATCH old y", "PATCH new y"]);

    *server.takes.lock() = "other".to_owned();
    assert_eq!(
        ask(service.clone(), b"z".to_vec().into()).await,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(server.seen(), ["PATCH new z"], "nothing else to show");

    tokio::time::advance(Duration::from_secs(31)).await;
    std::fs::write(&path, "third").unwrap();
    assert_eq!(
        ask(service.clone(), b"z".to_vec().into()).await,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(
        server.seen(),
        ["PATCH new z", "PATCH third z"],
        "once more, not for ever"
    );

    tokio::time::advance(Duration::from_secs(31)).await;
    std::fs::write(&path, "other").unwrap();
    assert_eq!(ask(service, Body::empty()).await, StatusCode::OK);
}
