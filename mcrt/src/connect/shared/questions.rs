//! Questions whose answer is the same for every member: asked once for all who ask at about the same time.
use super::super::{
    breaker::{Breaker, Probing, is_from_gateway},
    error::ConnectError,
    life::Ward,
    probe::classify,
    service::Answer,
    transport::{Housekeeping, Until},
};
use bytes::Bytes;
use futures::future::BoxFuture;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use http_body_util::{BodyExt, Full, Limited};
use kube::client::Body as KubeBody;
use parking_lot::Mutex;
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};
use tower::BoxError;

/// For how long an answer is given to those who ask later.
const FRESH: Duration = Duration::from_secs(1);
/// By when a question without a deadline of its own is to be answered.
const DEADLINE: Duration = Duration::from_secs(30);
/// Largest answer: kinds of a server with very many of them.
const MAX_ANSWER: usize = 32 << 20;
/// Probes in a row that have to fail before the server counts as down, and to succeed before it counts as back.
const FAILURES: u32 = 3;
const SUCCESSES: u32 = 2;

/// What is asked; who asks the same gets the same answer.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Question {
    method: Method,
    target: String,
    /// What the answer may depend on: form, language, and as whom it is asked. In the order of their names.
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
    probing: bool,
}

#[derive(Clone)]
struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

/// When it was over, and what came of it.
type Outcome = (Instant, Result<Reply, Arc<ConnectError>>);
type Flight = watch::Receiver<Option<Outcome>>;

/// The questions of all members of one server.
pub(super) struct Questions {
    /// Taken by `close`.
    client: Mutex<Option<kube::Client>>,
    breaker: Breaker,
    ward: Ward,
    flights: Mutex<HashMap<Question, Flight>>,
    probes: Mutex<Probes>,
}

/// How the last probes ended, in a row.
#[derive(Default)]
struct Probes {
    failures: u32,
    successes: u32,
}

impl Questions {
    pub(super) fn new(client: kube::Client, breaker: Breaker, ward: Ward) -> Self {
        Self {
            client: Mutex::new(Some(client)),
            breaker,
            ward,
            flights: Mutex::default(),
            probes: Mutex::default(),
        }
    }

    pub(super) fn close(&self) {
        *self.client.lock() = None;
    }

    pub(super) fn ask(
        self: Arc<Self>,
        request: Request<KubeBody>,
    ) -> BoxFuture<'static, Result<Answer, BoxError>> {
        Box::pin(async move {
            let until = request.extensions().get::<Until>().map(|until| until.0);
            let question = Question::of(request).await?;
            let mut flight = self.join(question, until);
            // A sender that is gone ended with the server.
            let over = flight.wait_for(Option::is_some).await;
            let outcome = over.map_err(|_| ConnectError::Ended)?.clone();
            match outcome {
                Some((_, Ok(reply))) => Ok(reply.answer()),
                Some((_, Err(error))) => Err(ConnectError::Shared(error).into()),
                None => Err(ConnectError::Ended.into()),
            }
        })
    }

    /// Who asks while the question is under way, or soon after it was answered, takes part in it.
    fn join(self: &Arc<Self>, question: Question, until: Option<Instant>) -> Flight {
        let now = Instant::now();
        let mut flights = self.flights.lock();
        flights.retain(|_, flight| is_current(flight, now));
        if let Some(flight) = flights.get(&question) {
            return flight.clone();
        }
        let (done, flight) = watch::channel(None);
        flights.insert(question.clone(), flight.clone());
        let this = Arc::clone(self);
        self.ward.spawn(async move {
            let until = by_when(question.probing, until, now);
            let outcome = this.put(question, until).await;
            done.send_replace(Some((Instant::now(), outcome)));
        });
        flight
    }

    async fn put(&self, question: Question, until: Instant) -> Result<Reply, Arc<ConnectError>> {
        let (probing, began) = (question.probing, Instant::now());
        let client = self.client.lock().clone().ok_or(ConnectError::Ended)?;
        let asked = timeout_at(until, send(client, question, until)).await;
        let outcome = asked.unwrap_or_else(|_| {
            let within = until.saturating_duration_since(began);
            Err(ConnectError::NoResponse { within })
        });
        if probing {
            self.note(&outcome);
        }
        outcome.map_err(Arc::new)
    }

    /// The word of those who probe, for the breaker of the server.
    fn note(&self, outcome: &Result<Reply, ConnectError>) {
        let alive = match outcome {
            Ok(reply) => !is_from_gateway(reply.status, &reply.headers),
            Err(error) if error.is_of_transport() => false,
            Err(_) => return,
        };
        let mut probes = self.probes.lock();
        *probes = if alive {
            Probes {
                failures: 0,
                successes: probes.successes.saturating_add(1),
            }
        } else {
            Probes {
                failures: probes.failures.saturating_add(1),
                successes: 0,
            }
        };
        if probes.failures >= FAILURES {
            self.breaker.open();
        } else if probes.successes >= SUCCESSES {
            self.breaker.close();
        }
    }
}

/// One who joins may wait for longer than whoever asked first: each gives up by itself. Probes are alike, and their word
/// counts when it is due.
fn by_when(probing: bool, until: Option<Instant>, now: Instant) -> Instant {
    let latest = now + DEADLINE;
    match until {
        Some(until) if probing => until,
        until => until.unwrap_or(latest).max(latest),
    }
}

fn matters(name: &HeaderName) -> bool {
    [ACCEPT, CONTENT_TYPE, AUTHORIZATION].contains(name) || name.as_str().starts_with("impersonate-")
}

fn is_current(flight: &Flight, now: Instant) -> bool {
    match &*flight.borrow() {
        Some((over, _)) => now < *over + FRESH,
        // One whose task is gone is never over.
        None => flight.has_changed().is_ok(),
    }
}

async fn send(client: kube::Client, question: Question, until: Instant) -> Result<Reply, ConnectError> {
    let answer = client.send(question.request(until)).await.map_err(classify)?;
    let (head, body) = answer.into_parts();
    let body = Limited::new(body, MAX_ANSWER).collect().await;
    // A server that answers a probe is alive, whatever becomes of the body.
    let body = match body {
        Ok(body) => body.to_bytes(),
        Err(_) if question.probing => Bytes::new(),
        Err(error) => return Err(classify(kube::Error::Service(error))),
    };
    Ok(Reply {
        status: head.status,
        headers: head.headers,
        body,
    })
}

impl Question {
    async fn of(request: Request<KubeBody>) -> Result<Self, BoxError> {
        let probing = request.extensions().get::<Probing>().is_some();
        let (head, body) = request.into_parts();
        let headers = head.headers.iter().filter(|(name, _)| matters(name));
        let mut headers: Vec<_> = headers
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        headers.sort_by(|(one, _), (other, _)| one.as_str().cmp(other.as_str()));
        let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
        Ok(Self {
            target: target.to_owned(),
            headers,
            method: head.method,
            body: body.collect().await?.to_bytes(),
            probing,
        })
    }

    fn request(&self, until: Instant) -> Request<KubeBody> {
        let mut request = Request::new(KubeBody::from(self.body.to_vec()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self
            .target
            .parse()
            .expect("it was the path and query of a request");
        for (name, value) in &self.headers {
            request.headers_mut().append(name, value.clone());
        }
        request.extensions_mut().insert(Until(until));
        request.extensions_mut().insert(Housekeeping);
        if self.probing {
            request.extensions_mut().insert(Probing);
        }
        request
    }
}

impl Reply {
    fn answer(self) -> Answer {
        let body = Full::new(self.body).map_err(BoxError::from).boxed_unsync();
        let mut answer = Response::new(body);
        *answer.status_mut() = self.status;
        *answer.headers_mut() = self.headers;
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect::{Access, Life, SharedServer, TransportSettings};
    use std::convert::Infallible;
    use tower::service_fn;

    #[test]
    fn whoever_asks_first_sets_no_deadline_for_those_who_join() {
        let now = Instant::now();
        let (soon, late) = (now + Duration::from_secs(1), now + DEADLINE * 2);
        assert_eq!(by_when(false, Some(soon), now), now + DEADLINE);
        assert_eq!(by_when(false, Some(late), now), late);
        assert_eq!(by_when(false, None, now), now + DEADLINE);
        assert_eq!(
            by_when(true, Some(soon), now),
            soon,
            "a probe is due when it is due"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_as_another_user_is_not_given_the_answer_of_the_first() {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        let service = service_fn(move |request: Request<KubeBody>| {
            let user = request.headers().get("impersonate-user");
            let user = user
                .and_then(|user| user.to_str().ok())
                .unwrap_or("nobody")
                .to_owned();
            seen.lock().push(user.clone());
            async move { Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(user)))) }
        });
        let (life, settings) = (Life::new(), TransportSettings::default());
        let server = SharedServer::namespaces(Access::service("one", service));
        let member = |key: &str| server.member(key).connect(&settings, &life).unwrap().client();
        let ask = async |client: kube::Client, user: Option<&'static str>| {
            let mut request = Request::new(KubeBody::empty());
            *request.uri_mut() = "/version".parse().unwrap();
            if let Some(user) = user {
                request
                    .headers_mut()
                    .insert("impersonate-user", HeaderValue::from_static(user));
            }
            let answer = client.send(request).await.unwrap();
            answer.into_body().collect().await.unwrap().to_bytes()
        };
        let (a, b) = (member("a"), member("b"));
        assert_eq!(ask(a.clone(), Some("ann")).await, "ann");
        assert_eq!(ask(b.clone(), Some("bob")).await, "bob");
        assert_eq!(ask(b, None).await, "nobody");
        assert_eq!(ask(a, None).await, "nobody");
        assert_eq!(
            *asked.lock(),
            ["ann", "bob", "nobody"],
            "the last answer was there already"
        );
        life.end().await;
    }
}
