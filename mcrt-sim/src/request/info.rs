//! What a request asks for, read from its method, path, query and headers.

use std::fmt;
use std::sync::Arc;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, Method, request::Parts};

use crate::request::accept::Form;
use crate::request::path;
use crate::state::view::View;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Reads one object.
    Get,
    /// Reads a collection.
    List,
    /// Follows a collection.
    Watch,
    /// Creates an object.
    Create,
    /// Replaces an object.
    Update,
    /// Changes an object, server-side apply included.
    Patch,
    /// Deletes an object.
    Delete,
    /// Deletes a collection.
    DeleteCollection,
    /// Anything that is not about a resource: health, version, discovery.
    Raw,
}

/// A request as hooks see it, before it is answered.
#[derive(Clone)]
pub struct RequestInfo {
    verb: Verb,
    method: Method,
    base: String,
    path: String,
    group: String,
    version: String,
    plural: String,
    namespace: Option<String>,
    name: Option<String>,
    subresource: Option<String>,
    query: Vec<(String, String)>,
    token: Option<String>,
    accept: String,
    content_type: String,
    agent: String,
    user: Arc<str>,
    view: Option<View>,
}

impl RequestInfo {
    /// Reads a request whose path begins with that many bytes that lead to the server.
    pub(crate) fn read(parts: &Parts, base: usize) -> Self {
        let (base, path) = parts.uri.path().split_at(base);
        let header = |name| text(&parts.headers, name).to_owned();
        let query = parts.uri.query().unwrap_or_default();
        let mut info = Self {
            verb: Verb::Raw,
            method: parts.method.clone(),
            base: base.to_owned(),
            path: path.to_owned(),
            group: String::new(),
            version: String::new(),
            plural: String::new(),
            namespace: None,
            name: None,
            subresource: None,
            query: form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
            token: header(AUTHORIZATION).strip_prefix("Bearer ").map(str::to_owned),
            accept: header(ACCEPT),
            content_type: header(CONTENT_TYPE),
            agent: header(USER_AGENT),
            user: Arc::from(""),
            view: None,
        };
        info.read_path();
        info
    }

    /// Takes the path apart; leaves the verb `Raw` if it is about no resource.
    fn read_path(&mut self) {
        let Some(parts) = path::read(&self.path) else {
            return;
        };
        if parts.watch {
            self.query.push(("watch".to_owned(), "true".to_owned()));
        }
        self.group = parts.group;
        self.version = parts.version;
        self.plural = parts.plural;
        self.namespace = parts.namespace;
        self.name = parts.name;
        self.subresource = parts.subresource;
        if let Some(name) = parts.watch.then(|| self.name.take()).flatten() {
            self.query
                .push(("fieldSelector".to_owned(), format!("metadata.name={name}")));
        }
        if parts.whole {
            self.verb = self.read_verb();
        }
    }

    fn read_verb(&self) -> Verb {
        let watch = self.flag("watch");
        match (&self.method, self.name.is_some()) {
            // A path that names an object reads it, whatever else the query says.
            (&Method::GET | &Method::HEAD, true) => Verb::Get,
            (&Method::GET | &Method::HEAD, false) if watch => Verb::Watch,
            (&Method::GET | &Method::HEAD, false) => Verb::List,
            (&Method::POST, _) => Verb::Create,
            (&Method::PUT, _) => Verb::Update,
            (&Method::PATCH, _) => Verb::Patch,
            (&Method::DELETE, true) => Verb::Delete,
            (&Method::DELETE, false) => Verb::DeleteCollection,
            _ => Verb::Raw,
        }
    }

    /// What the request does.
    pub fn verb(&self) -> Verb {
        self.verb
    }

    /// The path without the query, and without what comes before the server's own paths.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What comes before: `/clusters/root:org` for a workspace that is reached through a [`Kcp`](crate::Kcp), else
    /// nothing.
    pub fn base_path(&self) -> &str {
        &self.base
    }

    /// The API group; empty for the core group and for paths that are not about a resource.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The version inside the group.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The resource, for example `configmaps`.
    pub fn plural(&self) -> &str {
        &self.plural
    }

    /// The namespace in the path.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The object's name in the path.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The subresource in the path, for example `status`.
    pub fn subresource(&self) -> Option<&str> {
        self.subresource.as_deref()
    }

    /// The page a list continues from.
    pub fn continue_token(&self) -> Option<&str> {
        self.query("continue").filter(|token| !token.is_empty())
    }

    /// The version a list or watch asks for.
    pub fn resource_version(&self) -> Option<&str> {
        self.query("resourceVersion")
            .filter(|version| !version.is_empty())
    }

    /// The bearer token that came with the request.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// The name of the user that the token belongs to; empty if it belongs to nobody.
    pub fn user(&self) -> &str {
        &self.user
    }

    pub(crate) fn set_user(&mut self, user: Arc<str>) {
        self.user = user;
    }

    /// Lets a read see the past.
    pub(crate) fn set_view(&mut self, view: Option<View>) {
        self.view = view;
    }

    /// The past that a read is to see.
    pub(crate) fn view(&self) -> Option<View> {
        self.view
    }

    /// Lets a watch start earlier than it asks for, if it asks for a version.
    pub(crate) fn start_earlier(&mut self, versions: u64) {
        for (name, value) in &mut self.query {
            if name == "resourceVersion"
                && let Ok(asked @ 1..) = value.parse::<u64>()
            {
                *value = asked.saturating_sub(versions).max(1).to_string();
            }
        }
    }

    /// A parameter of the query.
    pub fn query(&self, name: &str) -> Option<&str> {
        self.query
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// All values of a parameter of the query.
    pub(crate) fn query_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.query.iter().filter(move |(known, _)| known == name);
        named.map(|(_, value)| value.as_str())
    }

    /// Whether the answer is to carry metadata only.
    pub fn metadata_only(&self) -> bool {
        matches!(self.form(), Form::Metadata | Form::MetadataList)
    }

    /// The User-Agent header.
    pub fn user_agent(&self) -> &str {
        &self.agent
    }

    /// The form that the answer is to have.
    pub(crate) fn form(&self) -> Form {
        Form::read(&self.accept)
    }

    /// Whether the answer may have this form, for what is not about objects.
    pub(crate) fn accepts(&self, parameter: &str) -> bool {
        self.accept.contains(parameter)
    }

    pub(crate) fn method(&self) -> &Method {
        &self.method
    }

    /// Whether the client takes JSON in some form.
    pub(crate) fn takes_json(&self) -> bool {
        let mut offers = self
            .accept
            .split(',')
            .map(|offer| offer.split(';').next().unwrap_or_default().trim());
        self.accept.is_empty()
            || offers.any(|offer| matches!(offer, "application/json" | "application/*" | "*/*"))
    }

    pub(crate) fn content_type(&self) -> &str {
        &self.content_type
    }

    /// Whether a parameter is there and does not say no; everything else says yes.
    pub(crate) fn flag(&self, name: &str) -> bool {
        let value = self.query(name).map(str::to_ascii_lowercase);
        value.is_some_and(|value| !matches!(value.as_str(), "0" | "false"))
    }

    /// Who writes: the field manager, else the first word of the user agent.
    pub(crate) fn manager(&self) -> &str {
        let agent = self.agent.split('/').next().filter(|agent| !agent.is_empty());
        self.query("fieldManager")
            .filter(|manager| !manager.is_empty())
            .or(agent)
            .unwrap_or("unknown")
    }
}

fn text(headers: &HeaderMap, name: http::HeaderName) -> &str {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

/// Tokens stay out of it, in whatever form a test prints a request.
impl fmt::Debug for RequestInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestInfo")
            .field("verb", &self.verb)
            .field("path", &self.path)
            .field("query", &self.query)
            .finish_non_exhaustive()
    }
}
