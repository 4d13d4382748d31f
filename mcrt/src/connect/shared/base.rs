//! A server while it has members: its connections, its breaker, and what the caches share.
use super::{
    super::{
        access::{Access, Secret},
        breaker::Breaker,
        error::ConnectError,
        guard,
        life::Life,
        service::{Answer, Slot},
        settings::TransportSettings,
    },
    division::Division,
    questions::Questions,
};
use futures::future::BoxFuture;
use http::{Request, Uri, uri::PathAndQuery};
use kube::client::Body as KubeBody;
use parking_lot::Mutex;
use std::{
    any::Any,
    sync::Arc,
    task::{Context, Poll},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::{BoxError, Service};

/// One server while it has members.
pub(crate) struct Base {
    division: Division,
    life: Life,
    breaker: Breaker,
    secret: Secret,
    /// Where requests go out.
    way: Slot,
    /// Asks for all members together.
    client: Mutex<Option<kube::Client>>,
    pub(super) questions: Arc<Questions>,
    /// What the caches of the members share. Ends before the connections do.
    common: Mutex<Common>,
}

enum Common {
    None,
    Some(Arc<dyn Any + Send + Sync>),
    Ended,
}

impl Base {
    pub(super) fn start(
        access: &Access,
        division: Division,
        settings: &TransportSettings,
    ) -> Result<Self, ConnectError> {
        let (life, breaker) = (Life::new(), Breaker::new(settings.breaker));
        let (way, namespace, secret) = access.way(settings, &life)?;
        let together = Below {
            prefix: division.prefix(),
            way: way.clone(),
        };
        let client = guard::client(together, namespace, settings, &breaker, &life)?;
        let questions = Questions::new(client.clone(), breaker.clone(), life.ward().clone());
        Ok(Self {
            division,
            life,
            breaker,
            secret,
            way,
            client: Mutex::new(Some(client)),
            questions: Arc::new(questions),
            common: Mutex::new(Common::None),
        })
    }

    pub(crate) fn division(&self) -> Division {
        self.division
    }

    /// A client that reads all clusters together; none once the last member has left.
    pub(crate) fn client(&self) -> Option<kube::Client> {
        self.client.lock().clone()
    }

    /// Open while the server is not reachable, whichever members are suspended.
    pub(crate) fn breaker(&self) -> &Breaker {
        &self.breaker
    }

    /// Whose tasks end with the connections.
    pub(crate) fn tasks_of(&self) -> (TaskTracker, CancellationToken) {
        (self.life.ward().tracker().clone(), self.life.token().clone())
    }

    /// What the caches of the members share, made by the first who asks; none once the last member has left.
    pub(crate) fn common<T: Any + Send + Sync>(&self, make: impl FnOnce() -> Option<T>) -> Option<Arc<T>> {
        let mut common = self.common.lock();
        if matches!(*common, Common::None) {
            *common = Common::Some(Arc::new(make()?));
        }
        match &*common {
            Common::Some(shared) => Arc::clone(shared).downcast().ok(),
            Common::None | Common::Ended => None,
        }
    }

    pub(in crate::connect) fn replace_material(&self, access: &Access) -> Result<bool, ConnectError> {
        self.secret.replace(access)
    }

    pub(super) fn tasks(&self) -> usize {
        self.life.tasks()
    }

    /// Sends a member's own request, below a prefix.
    pub(super) fn send(
        &self,
        prefix: &str,
        request: Request<KubeBody>,
    ) -> BoxFuture<'static, Result<Answer, BoxError>> {
        Below {
            prefix,
            way: self.way.clone(),
        }
        .call(request)
    }

    /// Ends all that runs for the server, watches first.
    pub(super) async fn end(&self) {
        self.let_go();
        // Boxed: the life of a server may hold a share of another one.
        Box::pin(self.life.end()).await;
    }

    /// The same, without waiting.
    pub(super) fn abandon(&self) {
        self.let_go();
        self.life.token().cancel();
    }

    fn let_go(&self) {
        let common = std::mem::replace(&mut *self.common.lock(), Common::Ended);
        drop(common);
        self.questions.close();
        *self.client.lock() = None;
    }
}

/// A service below a prefix of its paths.
#[derive(Clone)]
struct Below<'a> {
    prefix: &'a str,
    way: Slot,
}

impl Service<Request<KubeBody>> for Below<'_> {
    type Response = Answer;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Answer, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<KubeBody>) -> Self::Future {
        if !self.prefix.is_empty() {
            match below(self.prefix, request.uri()) {
                Ok(uri) => *request.uri_mut() = uri,
                Err(error) => return Box::pin(std::future::ready(Err(error.into()))),
            }
        }
        self.way.call(request)
    }
}

fn below(prefix: &str, uri: &Uri) -> Result<Uri, http::Error> {
    let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(format!("{prefix}{path}").parse::<PathAndQuery>()?);
    Ok(Uri::from_parts(parts)?)
}
