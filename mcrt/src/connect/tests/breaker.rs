//! When a breaker opens, and what it does to requests.
use super::super::{
    Access, Breaker, Circuit, ConnectError, Life, Limited, Transport, TransportSettings, Validity, probe,
};
use http::{Method, Request, Response};
use http_body_util::Empty;
use kube::client::Body;
use parking_lot::Mutex;
use std::{
    convert::Infallible,
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, timeout};
use tower::{BoxError, Service};

/// What a server does with each request from now on.
#[derive(Clone, Debug)]
enum Does {
    Answer(u16),
    AnswerJson(u16),
    Break,
    FailOfOurs,
    Hang,
}

/// A server in this process, which counts.
#[derive(Clone)]
struct Fake {
    does: Arc<Mutex<Does>>,
    asked: Arc<AtomicUsize>,
}

impl Service<Request<Body>> for Fake {
    type Response = Response<Empty<bytes::Bytes>>;
    type Error = BoxError;
    type Future = futures::future::BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let does = self.does.lock().clone();
        Box::pin(async move {
            let answer = Response::builder();
            match does {
                Does::Answer(status) => Ok(answer.status(status).body(Empty::new()).unwrap()),
                Does::AnswerJson(status) => {
                    let answer = answer.header("content-type", "application/json");
                    Ok(answer.status(status).body(Empty::new()).unwrap())
                }
                Does::Break => Err(io::Error::from(io::ErrorKind::ConnectionReset).into()),
                Does::FailOfOurs => Err(ConnectError::TokenFile {
                    path: "token".into(),
                    reason: "not there".to_owned(),
                }
                .into()),
                Does::Hang => std::future::pending::<Result<_, Infallible>>()
                    .await
                    .map_err(Into::into),
            }
        })
    }
}

struct Bed {
    fake: Fake,
    transport: Transport,
    _life: Life,
}

impl Bed {
    fn new() -> Self {
        let fake = Fake {
            does: Arc::new(Mutex::new(Does::Answer(200))),
            asked: Arc::default(),
        };
        let life = Life::new();
        let access = Access::service("fake", fake.clone());
        let transport = access.connect(&TransportSettings::default(), &life).unwrap();
        Self {
            fake,
            transport,
            _life: life,
        }
    }

    fn does(&self, does: Does) {
        *self.fake.does.lock() = does;
    }

    fn breaker(&self) -> &Breaker {
        self.transport.breaker()
    }

    async fn ask(&self) -> Result<(), kube::Error> {
        self.ask_by(Method::GET).await
    }

    async fn ask_by(&self, method: Method) -> Result<(), kube::Error> {
        let request = Request::builder().method(method).uri("/api");
        let request = request.body(Body::empty()).unwrap();
        self.transport.client().send(request).await.map(drop)
    }

    async fn ask_often(&self, times: usize) {
        for _ in 0..times {
            let _ = self.ask().await;
        }
    }
}

fn is_refusal(error: &kube::Error) -> bool {
    matches!(
        ConnectError::within(error),
        Some(ConnectError::BreakerOpen { .. })
    )
}

#[tokio::test(start_paused = true)]
async fn it_opens_after_failures_in_a_row_and_then_nothing_but_probes_goes_out() {
    let bed = Bed::new();
    bed.does(Does::Break);
    bed.ask_often(4).await;
    bed.does(Does::Answer(500));
    bed.ask_often(1).await;
    bed.does(Does::Break);
    bed.ask_often(4).await;
    assert!(bed.breaker().circuit().is_closed(), "an answer came in between");
    bed.ask_often(1).await;
    assert!(matches!(bed.breaker().circuit(), Circuit::Open { .. }));
    let asked = bed.fake.asked.load(Ordering::SeqCst);
    bed.does(Does::Answer(200));
    assert!(is_refusal(&bed.ask().await.unwrap_err()));
    assert_eq!(bed.fake.asked.load(Ordering::SeqCst), asked);
    probe(&bed.transport.client(), Duration::from_secs(3))
        .await
        .unwrap();
    assert!(
        !bed.breaker().circuit().is_closed(),
        "who probes says what it means"
    );
    bed.breaker().close();
    bed.ask().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn answers_of_the_server_and_faults_of_ours_do_not_count_pages_of_a_gateway_do() {
    let bed = Bed::new();
    for does in [
        Does::Answer(500),
        Does::Answer(429),
        Does::Answer(401),
        Does::AnswerJson(503),
        Does::FailOfOurs,
    ] {
        bed.does(does.clone());
        bed.ask_often(20).await;
        assert!(bed.breaker().circuit().is_closed(), "{does:?}");
    }
    bed.does(Does::Answer(502));
    bed.ask_often(5).await;
    assert!(!bed.breaker().circuit().is_closed());
}

#[tokio::test(start_paused = true)]
async fn requests_whose_callers_go_away_count_as_nothing() {
    let bed = Bed::new();
    bed.does(Does::Hang);
    for _ in 0..20 {
        assert!(timeout(Duration::from_millis(10), bed.ask()).await.is_err());
    }
    assert!(bed.breaker().circuit().is_closed());
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_an_answer_fails_when_it_opens() {
    let bed = Bed::new();
    bed.does(Does::Hang);
    let began = Instant::now();
    let opening = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        bed.breaker().open();
    };
    let (asked, ()) = futures::future::join(bed.ask(), opening).await;
    assert!(is_refusal(&asked.unwrap_err()));
    assert_eq!(began.elapsed().as_secs(), 1);
}

#[tokio::test(start_paused = true)]
async fn it_stays_open_while_either_reason_holds() {
    let bed = Bed::new();
    let mut changes = bed.breaker().changes();
    bed.breaker().suspend();
    let suspended = bed.breaker().circuit();
    assert!(changes.has_changed().unwrap());
    changes.mark_unchanged();
    bed.breaker().open();
    bed.breaker().release();
    assert_eq!(bed.breaker().circuit(), suspended);
    assert!(!changes.has_changed().unwrap(), "it was open all along");
    bed.breaker().close();
    assert!(bed.breaker().circuit().is_closed());
}

fn is_not_ours(asked: &Result<(), kube::Error>) -> bool {
    let error = asked.as_ref().err().and_then(|error| ConnectError::within(error));
    matches!(error, Some(ConnectError::NotOurs))
}

#[tokio::test(start_paused = true)]
async fn past_the_time_of_a_replica_nothing_is_sent_or_nothing_written() {
    for (what, reads) in [(Limited::All, false), (Limited::Writes, true)] {
        let bed = Bed::new();
        let validity = Validity::default();
        bed.transport.breaker().limit(validity.clone(), what);
        validity.set(Some(Instant::now() + Duration::from_secs(9)));
        assert!(bed.ask_by(Method::PATCH).await.is_ok(), "{what:?}");
        tokio::time::sleep(Duration::from_secs(9)).await;
        assert!(is_not_ours(&bed.ask_by(Method::PATCH).await), "{what:?}");
        assert_eq!(bed.ask().await.is_ok(), reads, "{what:?}");
        assert!(
            bed.transport.breaker().circuit().is_closed(),
            "it says nothing of the cluster"
        );
        validity.set(None);
        assert!(bed.ask_by(Method::PATCH).await.is_ok(), "{what:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_waits_to_be_sent_is_given_up_when_the_time_is_over() {
    let bed = Bed::new();
    bed.does(Does::Hang);
    let validity = Validity::default();
    bed.transport.breaker().limit(validity.clone(), Limited::All);
    let mut asking = std::pin::pin!(bed.ask());
    assert!(timeout(Duration::from_secs(1), &mut asking).await.is_err());
    validity.set(Some(Instant::now()));
    // Whatever wakes it: it is not driven any more.
    assert!(is_not_ours(
        &timeout(Duration::from_mins(5), asking).await.unwrap()
    ));
}
