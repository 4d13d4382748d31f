//! Requests as they go over the wire.

use std::pin::Pin;

use form_urlencoded::Serializer;
use http::{
    Method, Request, Response,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, USER_AGENT},
};
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::Value;

use super::{Answer, Bed, Watch};

/// Content types of patches.
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";
pub(crate) const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// Longer bodies are cut where a failure shows them.
const SHOWN: usize = 4000;

/// A request under way to its server; awaiting it gives the answer.
pub(crate) struct Ask<'a> {
    bed: &'a Bed,
    method: Method,
    path: String,
    query: Vec<(String, String)>,
    headers: Vec<(HeaderName, String)>,
    token: Option<String>,
    body: Vec<u8>,
}

impl Bed {
    /// Reads a path, which may carry a query.
    pub(crate) fn get(&self, path: impl Into<String>) -> Ask<'_> {
        self.ask(Method::GET, path)
    }

    /// Creates.
    pub(crate) fn post(&self, path: impl Into<String>, body: Value) -> Ask<'_> {
        self.ask(Method::POST, path).json(&body)
    }

    /// Replaces.
    pub(crate) fn put(&self, path: impl Into<String>, body: Value) -> Ask<'_> {
        self.ask(Method::PUT, path).json(&body)
    }

    /// Patches; the type is one of the constants of this module.
    pub(crate) fn patch(&self, path: impl Into<String>, patch_type: &str, body: Value) -> Ask<'_> {
        self.ask(Method::PATCH, path)
            .json(&body)
            .header(CONTENT_TYPE, patch_type)
    }

    /// Applies for a field manager, without force.
    pub(crate) fn apply(&self, path: impl Into<String>, manager: &str, body: Value) -> Ask<'_> {
        self.patch(path, APPLY, body).query("fieldManager", manager)
    }

    /// Deletes, without options.
    pub(crate) fn delete(&self, path: impl Into<String>) -> Ask<'_> {
        self.ask(Method::DELETE, path)
    }

    /// Any request, of the administrator unless the request says otherwise.
    pub(crate) fn ask(&self, method: Method, path: impl Into<String>) -> Ask<'_> {
        Ask {
            bed: self,
            method,
            path: path.into(),
            query: Vec::new(),
            headers: vec![(USER_AGENT, "conformance/1.0".to_owned())],
            token: Some(self.admin.clone()),
            body: Vec::new(),
        }
    }
}

impl Ask<'_> {
    /// Adds a parameter to the query.
    #[must_use]
    pub(crate) fn query(mut self, name: &str, value: impl ToString) -> Self {
        self.query.push((name.to_owned(), value.to_string()));
        self
    }

    /// Sets a header.
    #[must_use]
    pub(crate) fn header(mut self, name: HeaderName, value: &str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Says what form the answer is to have.
    #[must_use]
    pub(crate) fn accept(self, media_types: &str) -> Self {
        self.header(ACCEPT, media_types)
    }

    /// Carries JSON.
    #[must_use]
    pub(crate) fn json(self, body: &Value) -> Self {
        self.header(CONTENT_TYPE, "application/json")
            .body(body.to_string())
    }

    /// Carries whatever bytes.
    #[must_use]
    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sends another token.
    #[must_use]
    pub(crate) fn token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// Sends no token.
    #[must_use]
    pub(crate) fn anonymously(mut self) -> Self {
        self.token = None;
        self
    }

    /// Sends the token of the user `limited`, who may do what roles in the namespace allow and nothing else.
    #[must_use]
    pub(crate) fn by_limited(self) -> Self {
        let token = self.bed.limited.clone();
        self.token(&token)
    }

    /// Sends it and gives the lines of the answer as they come, for watches.
    pub(crate) async fn follow(self) -> Watch {
        let (bed, shown) = (self.bed, self.to_string());
        let response = self.send().await;
        let code = response.status().as_u16();
        bed.note(format!("{shown}\n-> {code}, followed"));
        Watch::new(shown, code, response.into_body())
    }

    async fn answer(self) -> Answer {
        let (bed, shown) = (self.bed, self.to_string());
        let (head, body) = self.send().await.into_parts();
        let body = body.collect().await;
        let body = body.unwrap_or_else(|error| panic!("{shown}\nthe body broke off: {error}"));
        let answer = Answer::new(shown, head, body.to_bytes());
        bed.note(answer.to_string());
        answer
    }

    async fn send(self) -> Response<Body> {
        let (bed, shown, target) = (self.bed, self.to_string(), self.target());
        let mut request = Request::builder().method(self.method).uri(target);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        if let Some(token) = self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(Body::from(self.body));
        let request = request.unwrap_or_else(|error| panic!("{shown}\nis no request: {error}"));
        let response = bed.client.send(request).await;
        response.unwrap_or_else(|error| panic!("{shown}\nno answer: {error}"))
    }

    fn target(&self) -> String {
        let query = Serializer::new(String::new()).extend_pairs(&self.query).finish();
        match (query.is_empty(), self.path.contains('?')) {
            (true, _) => self.path.clone(),
            (false, false) => format!("{}?{query}", self.path),
            (false, true) => format!("{}&{query}", self.path),
        }
    }
}

/// As a failure shows it.
impl std::fmt::Display for Ask<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.target())?;
        for (name, value) in self.headers.iter().filter(|(name, _)| *name != USER_AGENT) {
            write!(f, "\n{name}: {value}")?;
        }
        if !self.body.is_empty() {
            write!(f, "\n{}", shorten(&self.body))?;
        }
        Ok(())
    }
}

impl<'a> IntoFuture for Ask<'a> {
    type Output = Answer;
    type IntoFuture = Pin<Box<dyn Future<Output = Answer> + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.answer())
    }
}

/// Text of a body, cut if it is long.
pub(super) fn shorten(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    match text.char_indices().nth(SHOWN) {
        None => text.into_owned(),
        Some((end, _)) => format!("{} ... ({} bytes)", &text[..end], body.len()),
    }
}
