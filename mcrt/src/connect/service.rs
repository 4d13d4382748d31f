//! A cluster that is reached through a tower service, which can be replaced while its client lives.
use super::{access::Access, error::Rejected};
use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response, Uri, uri::PathAndQuery};
use http_body_util::{BodyExt, combinators::UnsyncBoxBody};
use kube::client::Body as KubeBody;
use parking_lot::Mutex;
use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
};
use tower::{BoxError, Service, ServiceExt, util::BoxService};

pub(super) type Answer = Response<UnsyncBoxBody<Bytes, BoxError>>;
type Made = BoxService<Request<KubeBody>, Answer, BoxError>;
type Make = Arc<dyn Fn() -> Made + Send + Sync>;

/// A cluster reached through a tower service, any that `kube::Client::new` takes.
///
/// The identity stands for the address: a service with another identity is another cluster. The revision stands for
/// what else the service holds, such as a token: with another revision it takes the place of the earlier service
/// behind the same client.
#[derive(Clone)]
pub struct ServiceAccess {
    pub(super) identity: String,
    pub(super) revision: u64,
    make: Make,
    /// What it is at another address: its own identity, and the address.
    moved: Option<Box<(String, Uri)>>,
}

impl ServiceAccess {
    /// A service of revision 0.
    pub fn new<S, B>(identity: impl Into<String>, service: S) -> Self
    where
        S: Service<Request<KubeBody>, Response = Response<B>> + Clone + Send + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        // The mutex only makes services shareable that are not `Sync`; it is held for one clone.
        let service = Mutex::new(service);
        Self {
            identity: identity.into(),
            revision: 0,
            moved: None,
            make: Arc::new(move || {
                let service = service.lock().clone();
                let answers = service.map_response(|answer: Response<B>| {
                    answer.map(|body| body.map_err(Into::into).boxed_unsync())
                });
                BoxService::new(answers.map_err(Into::into))
            }),
        }
    }

    /// Sets the revision.
    #[must_use]
    pub fn revision(self, revision: u64) -> Self {
        Self { revision, ..self }
    }

    /// The same service, asked as if it were a server at this address: its requests carry the address, and the path in
    /// it before their own.
    pub(super) fn at(self, address: &str) -> Result<Self, Rejected> {
        let uri: Option<Uri> = address.parse().ok();
        let uri =
            uri.filter(|uri| uri.scheme().is_some() && uri.authority().is_some() && uri.query().is_none());
        let origin = self.moved.map_or(self.identity, |moved| moved.0);
        let Some(uri) = uri else {
            return Err(Rejected::Invalid {
                context: origin,
                field: "the address given instead".to_owned(),
                reason: "not an address".to_owned(),
            });
        };
        Ok(Self {
            identity: format!("{} of {origin}", address.trim_end_matches('/')),
            revision: self.revision,
            make: self.make,
            moved: Some(Box::new((origin, uri))),
        })
    }

    fn made(&self) -> Make {
        let make = Arc::clone(&self.make);
        let Some(base) = self.moved.as_ref().map(|moved| moved.1.clone()) else {
            return make;
        };
        Arc::new(move || {
            let base = base.clone();
            BoxService::new(make().map_request(move |request| below(&base, request)))
        })
    }
}

/// A request below an address.
fn below(base: &Uri, mut request: Request<KubeBody>) -> Request<KubeBody> {
    let asked = request.uri().path_and_query().map_or("/", PathAndQuery::as_str);
    let path = format!("{}{asked}", base.path().trim_end_matches('/'));
    let mut parts = base.clone().into_parts();
    // Two good paths, one behind the other, are a good path.
    if let Ok(path) = path.parse() {
        parts.path_and_query = Some(path);
        if let Ok(uri) = Uri::from_parts(parts) {
            *request.uri_mut() = uri;
        }
    }
    request
}

impl From<ServiceAccess> for Access {
    fn from(service: ServiceAccess) -> Self {
        Self::Service(service)
    }
}

impl fmt::Debug for ServiceAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Service").field(&self.identity).finish()
    }
}

/// The service behind a client: requests go to whichever is there when they are sent.
#[derive(Clone)]
pub(super) struct Slot(Arc<Mutex<(u64, Make)>>);

impl Slot {
    pub(super) fn new(access: &ServiceAccess) -> Self {
        Self(Arc::new(Mutex::new((access.revision, access.made()))))
    }

    /// Puts another service in place; false if it is of the same revision.
    pub(super) fn replace(&self, access: &ServiceAccess) -> bool {
        let mut now = self.0.lock();
        let other = now.0 != access.revision;
        if other {
            *now = (access.revision, access.made());
        }
        other
    }
}

impl Service<Request<KubeBody>> for Slot {
    type Response = Answer;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Answer, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<KubeBody>) -> Self::Future {
        let make = Arc::clone(&self.0.lock().1);
        Box::pin(async move { make().oneshot(request).await })
    }
}
