//! What a transport has to bring to kube's watcher, which has no deadlines of its own: for the headers of an answer,
//! and for each part of a list.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures::{FutureExt as _, future::BoxFuture};
use http::{Request, Response};
use http_body::Frame;
use mcrt_sim::{Body, Server, Service};
use tokio::time::{Instant, Sleep, sleep, timeout};
use tower::BoxError;

const DEADLINE: Duration = Duration::from_secs(30);

/// A client of a server that gives up on silence, but for that of a watch.
pub(crate) fn client(server: &Server) -> kube::Client {
    kube::Client::new(Patient(server.service()), "default")
}

struct Patient(Service);

impl tower::Service<Request<kube::client::Body>> for Patient {
    type Response = Response<Bounded>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        let watch = request
            .uri()
            .query()
            .is_some_and(|query| query.contains("watch=true"));
        let answer = self.0.call(request);
        async move {
            let answer = timeout(DEADLINE, answer).await??;
            Ok(answer.map(|body| Bounded {
                body,
                silence: (!watch).then(|| Box::pin(sleep(DEADLINE))),
            }))
        }
        .boxed()
    }
}

/// A body that fails when nothing of it comes for too long.
struct Bounded {
    body: Body,
    silence: Option<Pin<Box<Sleep>>>,
}

impl http_body::Body for Bounded {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            if let Some(silence) = &mut self.silence {
                silence.as_mut().reset(Instant::now() + DEADLINE);
            }
            return Poll::Ready(frame);
        }
        match &mut self.silence {
            Some(silence) => silence
                .as_mut()
                .poll(cx)
                .map(|()| Some(Err("the body of the answer stopped coming".into()))),
            None => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}
