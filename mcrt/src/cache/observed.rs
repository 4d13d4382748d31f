//! The client of all watches of a cluster: takes the pulse of each where bytes arrive, as kube's watcher keeps
//! bookmarks and renewals to itself, and lets go of what an outage broke.
use super::pulse::{Pulse, SILENCE};
use crate::connect::{Housekeeping, Once};
use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response, StatusCode, header::RETRY_AFTER};
use http_body::{Body as HttpBody, Frame, SizeHint};
use kube::client::Body;
use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
};
use tokio_util::task::task_tracker::TaskTrackerToken;
use tower::{BoxError, Service};

tokio::task_local! {
    /// Whose requests are those that are made now.
    static PULSE: Arc<Pulse>;
}

/// A client for watches, which sends through the cluster's and takes the pulse of the watch that asks. One for all of
/// them: each client of kube's has a task and a queue, 12 KiB.
pub(super) fn observed(client: kube::Client, token: TaskTrackerToken) -> kube::Client {
    let namespace = client.default_namespace().to_owned();
    kube::Client::new(
        Observed {
            client,
            _token: token,
        },
        namespace,
    )
}

/// What is asked by an [`observed`] client meanwhile is asked by the watch of this pulse.
pub(super) fn asking<T>(pulse: Arc<Pulse>, events: impl Future<Output = T>) -> impl Future<Output = T> {
    PULSE.scope(pulse, events)
}

/// The breaker opened while this was under way.
#[derive(Debug, thiserror::Error)]
#[error("interrupted by an outage")]
pub(super) struct Interrupted;

struct Observed {
    client: kube::Client,
    /// `Client::new` spawns a task that owns this service: whoever waits for the token's tracker joins it.
    _token: TaskTrackerToken,
}

impl Service<Request<Body>> for Observed {
    type Response = Response<ObservedBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let client = self.client.clone();
        // Called by the task of kube's queue, but awaited by the watch.
        Box::pin(async move {
            let pulse = PULSE.try_with(Arc::clone)?;
            let begun = pulse.interruptions();
            let mut answer = pin!(send(client, Arc::clone(&pulse), request));
            poll_fn(|cx| {
                if pulse.interruptions() == begun {
                    answer.as_mut().poll(cx)
                } else {
                    Poll::Ready(Err(Interrupted.into()))
                }
            })
            .await
        })
    }
}

async fn send(
    client: kube::Client,
    pulse: Arc<Pulse>,
    mut request: Request<Body>,
) -> Result<Response<ObservedBody>, BoxError> {
    let begun = pulse.interruptions();
    request.extensions_mut().insert(Once);
    request.extensions_mut().insert(Housekeeping);
    // kube names the verb of its own requests in an extension.
    let watch = request.extensions().get::<&'static str>() == Some(&"watch");
    if watch {
        tokio::time::sleep(pulse.wait_before_watch()).await;
        pulse.watch_starts();
    }
    let response = tokio::time::timeout(SILENCE, client.send(request)).await??;
    // A refusal is a message too, but it does not make the store any fresher.
    let accepted = response.status().is_success();
    if accepted {
        pulse.beat();
    } else if let Some(seconds) = retry_after(&response) {
        pulse.retry_after(seconds);
    }
    if accepted && watch {
        pulse.watch_accepted();
    }
    Ok(response.map(|inner| ObservedBody {
        inner,
        pulse,
        begun,
        accepted,
        watch,
    }))
}

/// The seconds that a busy server asks for; dates are not understood.
fn retry_after<B>(response: &Response<B>) -> Option<u64> {
    let busy = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE];
    let wished = response.headers().get(RETRY_AFTER)?;
    busy.contains(&response.status())
        .then(|| wished.to_str().ok()?.parse().ok())?
}

/// A body whose frames are signs of life, and which an outage ends.
struct ObservedBody {
    inner: Body,
    pulse: Arc<Pulse>,
    begun: u64,
    accepted: bool,
    watch: bool,
}

impl HttpBody for ObservedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.pulse.interruptions() != self.begun {
            // A watch that ends in good order goes on from its last version; half a list must not look whole.
            return Poll::Ready((!self.watch).then(|| Err(Interrupted.into())));
        }
        let frame = Pin::new(&mut self.inner).poll_frame(cx);
        if self.accepted && matches!(&frame, Poll::Ready(Some(Ok(_)))) {
            self.pulse.beat();
        }
        frame.map(|frame| frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
