//! An API server of config maps in memory, with a rule that may decide any request otherwise.
use bytes::Bytes;
use futures::StreamExt;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    convert::Infallible,
    sync::Arc,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// What a rule decides.
pub(super) enum Verdict {
    Serve,
    Fail(u16, &'static str),
    Hang,
}

/// A request, as rules see it.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) watch: bool,
    pub(super) namespace: Option<String>,
    query: HashMap<String, String>,
}

impl Call {
    /// Whether it asks for the first page of a list.
    pub(super) fn starts_list(&self) -> bool {
        !self.watch && !self.query.contains_key("continue")
    }
}

#[derive(Clone)]
pub(super) struct Server(Arc<Mutex<State>>);

struct State {
    version: u64,
    oldest: u64,
    objects: BTreeMap<(String, String), Value>,
    log: Vec<(u64, Value)>,
    watches: Vec<(Option<String>, mpsc::UnboundedSender<Bytes>)>,
    calls: Vec<Call>,
    rule: Arc<dyn Fn(&Call) -> Verdict + Send + Sync>,
}

impl Server {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            version: 1,
            oldest: 0,
            objects: BTreeMap::new(),
            log: Vec::new(),
            watches: Vec::new(),
            calls: Vec::new(),
            rule: Arc::new(|_| Verdict::Serve),
        })))
    }

    /// A server that holds these objects, each `namespace/name`.
    pub(super) fn with(keys: &[&str]) -> Self {
        let server = Self::new();
        keys.iter().for_each(|key| server.put(key, "1"));
        server
    }

    pub(super) fn client(&self) -> kube::Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.answer(&request).await) }
        });
        kube::Client::new(service, "default")
    }

    /// Creates or changes an object: its data is `value: ..` and its label `team` is the value too.
    pub(super) fn put(&self, key: &str, value: &str) {
        let mut state = self.0.lock();
        state.version += 1;
        let (namespace, name) = key.split_once('/').unwrap();
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": name, "namespace": namespace, "uid": format!("uid-{name}"),
                "resourceVersion": state.version.to_string(), "labels": {"team": value},
                "managedFields": [{"manager": "test", "fieldsV1": {"f:data": {}}}],
            },
            "data": {"value": value},
        });
        let known = state.objects.insert((namespace.into(), name.into()), object.clone());
        state.publish(if known.is_some() { "MODIFIED" } else { "ADDED" }, object);
    }

    pub(super) fn delete(&self, key: &str) {
        let mut state = self.0.lock();
        state.version += 1;
        let (namespace, name) = key.split_once('/').unwrap();
        let mut object = state.objects.remove(&(namespace.into(), name.into())).unwrap();
        object["metadata"]["resourceVersion"] = state.version.to_string().into();
        state.publish("DELETED", object);
    }

    /// Ends every watch in good order.
    pub(super) fn disconnect(&self) {
        self.0.lock().watches.clear();
    }

    /// Forgets all versions before now.
    pub(super) fn compact(&self) {
        let mut state = self.0.lock();
        state.oldest = state.version;
        state.log.clear();
    }

    /// Says a bookmark on every watch.
    pub(super) fn bookmark(&self) {
        let mut state = self.0.lock();
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"resourceVersion": state.version.to_string()}});
        let line = line("BOOKMARK", &object);
        state.watches.retain(|(_, watch)| watch.send(line.clone()).is_ok());
    }

    pub(super) fn rule(&self, rule: impl Fn(&Call) -> Verdict + Send + Sync + 'static) {
        self.0.lock().rule = Arc::new(rule);
    }

    pub(super) fn count(&self, of: impl Fn(&Call) -> bool) -> usize {
        self.0.lock().calls.iter().filter(|call| of(call)).count()
    }

    pub(super) fn lists(&self) -> usize {
        self.count(Call::starts_list)
    }

    pub(super) fn open_watches(&self) -> usize {
        let mut state = self.0.lock();
        state.watches.retain(|(_, watch)| !watch.is_closed());
        state.watches.len()
    }

    async fn answer(&self, request: &Request<Body>) -> Answer {
        let call = read(request);
        let rule = {
            let mut state = self.0.lock();
            state.calls.push(call.clone());
            Arc::clone(&state.rule)
        };
        match rule(&call) {
            Verdict::Serve if call.watch => self.watch(&call),
            Verdict::Serve => self.list(&call),
            Verdict::Fail(code, reason) => status(code, reason),
            Verdict::Hang => std::future::pending().await,
        }
    }

    fn list(&self, call: &Call) -> Answer {
        let state = self.0.lock();
        let limit = call.query.get("limit").map_or(usize::MAX, |limit| limit.parse().unwrap());
        let after = call.query.get("continue").cloned().unwrap_or_default();
        let mut rest = state
            .objects
            .iter()
            .filter(|((namespace, _), _)| call.namespace.as_ref().is_none_or(|wanted| wanted == namespace))
            .filter(|((namespace, name), _)| format!("{namespace}_{name}") > after)
            .peekable();
        let (mut items, mut last) = (Vec::new(), String::new());
        while items.len() < limit
            && let Some(((namespace, name), object)) = rest.next()
        {
            items.push(object);
            last = format!("{namespace}_{name}");
        }
        let next = if rest.peek().is_some() { last } else { String::new() };
        let metadata = json!({"resourceVersion": state.version.to_string(), "continue": next});
        whole(200, &json!({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": metadata, "items": items}))
    }

    fn watch(&self, call: &Call) -> Answer {
        let mut state = self.0.lock();
        let from: u64 = call.query["resourceVersion"].parse().unwrap();
        let (watch, lines) = mpsc::unbounded_channel();
        if from < state.oldest {
            let gone = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "too old resource version", "reason": "Expired", "code": 410});
            watch.send(line("ERROR", &gone)).unwrap();
        } else {
            let missed = state.log.iter().filter(|(version, _)| *version > from);
            for (_, event) in missed.filter(|(_, event)| concerns(call.namespace.as_deref(), event)) {
                watch.send(format!("{event}\n").into()).unwrap();
            }
            state.watches.push((call.namespace.clone(), watch));
        }
        let frames = UnboundedReceiverStream::new(lines).map(|line| Ok(Frame::data(line)));
        Response::new(StreamBody::new(frames).boxed_unsync())
    }
}

impl State {
    fn publish(&mut self, kind: &str, object: Value) {
        let event = json!({"type": kind, "object": object});
        for (namespace, watch) in &self.watches {
            if concerns(namespace.as_deref(), &event) {
                let _ = watch.send(format!("{event}\n").into());
            }
        }
        self.log.push((self.version, event));
    }
}

fn concerns(namespace: Option<&str>, event: &Value) -> bool {
    namespace.is_none_or(|namespace| event["object"]["metadata"]["namespace"] == namespace)
}

fn line(kind: &str, object: &Value) -> Bytes {
    format!("{}\n", json!({"type": kind, "object": object})).into()
}

fn whole(code: u16, body: &Value) -> Answer {
    let body = Full::new(Bytes::from(body.to_string())).boxed_unsync();
    Response::builder().status(code).body(body).unwrap()
}

fn status(code: u16, reason: &str) -> Answer {
    whole(
        code,
        &json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": format!("scripted: {reason}"), "reason": reason, "code": code}),
    )
}

fn read(request: &Request<Body>) -> Call {
    let query: HashMap<String, String> = request
        .uri()
        .query()
        .unwrap_or_default()
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.replace("%2F", "/")))
        .collect();
    let namespace = request.uri().path().split("/namespaces/").nth(1).and_then(|rest| rest.split('/').next());
    Call { watch: query.get("watch").is_some_and(|watch| watch == "true"), namespace: namespace.map(str::to_owned), query }
}
