//! What users may ask about themselves: who they are and what they may do.

use serde_json::{Value, json};

use crate::access::roles::Granted;
use crate::access::rule::{Deed, Rule};
use crate::access::tokens::Caller;
use crate::access::user::User;
use crate::api::answer::Answer;
use crate::refusal::status::Status;
use crate::request::info::{RequestInfo, Verb};
use crate::server::Inner;
use crate::state::object::now;

/// Answers a review, if the request is one.
pub(crate) fn answer(
    server: &Inner,
    caller: &Caller,
    info: &RequestInfo,
    body: &[u8],
) -> Option<Result<Answer, Status>> {
    let whole = info.verb() == Verb::Create && info.name().is_none() && info.namespace().is_none();
    if !whole || info.version() != "v1" {
        return None;
    }
    let review = match (info.group(), info.plural()) {
        ("authentication.k8s.io", "selfsubjectreviews") => who,
        ("authorization.k8s.io", "selfsubjectaccessreviews") => may_i,
        ("authorization.k8s.io", "selfsubjectrulesreviews") => what_may_i,
        ("authorization.k8s.io", "subjectaccessreviews") => may_they,
        _ => return None,
    };
    Some(review_of(server, &caller.user(), body, review))
}

type Review = fn(&Inner, &User, &mut Value) -> Result<(), Status>;

fn review_of(server: &Inner, user: &User, body: &[u8], review: Review) -> Result<Answer, Status> {
    let mut value: Value = serde_json::from_slice(body)
        .ok()
        .filter(Value::is_object)
        .ok_or_else(|| Status::bad_request("the body of the request is not a JSON object"))?;
    if !value["metadata"].is_object() {
        value["metadata"] = json!({});
    }
    review(server, user, &mut value)?;
    Ok(Answer::Json(201, value.to_string().into_bytes()))
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "a review like the others, which can fail"
)]
fn who(_: &Inner, user: &User, review: &mut Value) -> Result<(), Status> {
    review["kind"] = "SelfSubjectReview".into();
    review["apiVersion"] = "authentication.k8s.io/v1".into();
    review["metadata"]["creationTimestamp"] = now().into();
    review["status"] = json!({"userInfo": {"username": &*user.name, "groups": user.groups}});
    Ok(())
}

fn may_i(server: &Inner, user: &User, review: &mut Value) -> Result<(), Status> {
    review["kind"] = "SelfSubjectAccessReview".into();
    review["apiVersion"] = "authorization.k8s.io/v1".into();
    check(review)?;
    review["status"] = verdict(server, user, &review["spec"]);
    Ok(())
}

fn may_they(server: &Inner, _: &User, review: &mut Value) -> Result<(), Status> {
    review["kind"] = "SubjectAccessReview".into();
    review["apiVersion"] = "authorization.k8s.io/v1".into();
    check(review)?;
    let spec = &review["spec"];
    let name = spec["user"].as_str().unwrap_or_default();
    let known = server.tokens.named(name);
    let mut user = known.map_or_else(|| User::new(name), |known| (*known).clone());
    // A review speaks of the groups that it names, whatever the user is in.
    let groups = spec["groups"].as_array().into_iter().flatten();
    user.groups = groups.filter_map(Value::as_str).map(str::to_owned).collect();
    review["status"] = verdict(server, &user, spec);
    Ok(())
}

fn check(review: &Value) -> Result<(), Status> {
    let spec = &review["spec"];
    if spec["resourceAttributes"].is_object() == spec["nonResourceAttributes"].is_object() {
        let kind = review["kind"].as_str().unwrap_or_default();
        let why =
            "Invalid value: exactly one of nonResourceAttributes or resourceAttributes must be specified";
        return Err(Status::invalid("authorization.k8s.io", kind, "", "spec", why));
    }
    Ok(())
}

fn verdict(server: &Inner, user: &User, spec: &Value) -> Value {
    let deed = Deed::of_review(spec);
    match Granted::to(user, &deed.namespace, &server.store()).allows(&deed) {
        Ok(()) => json!({"allowed": true}),
        Err(reason) if reason.is_empty() => json!({"allowed": false}),
        Err(reason) => json!({"allowed": false, "reason": reason}),
    }
}

fn what_may_i(server: &Inner, user: &User, review: &mut Value) -> Result<(), Status> {
    let Some(namespace) = review["spec"]["namespace"].as_str().filter(|it| !it.is_empty()) else {
        return Err(Status::bad_request("no namespace on request"));
    };
    let granted = Granted::to(user, namespace, &server.store());
    let here = |rule: &&Rule| rule.namespace.as_deref().is_none_or(|within| within == namespace);
    let rules: Vec<_> = granted.rules.iter().filter(here).collect();
    let about = |rules: &[&Rule], paths: bool| {
        let rules = rules.iter().filter(|rule| rule.paths.is_empty() != paths);
        rules.map(|rule| shown(rule)).collect::<Vec<_>>()
    };
    let status = json!({
        "resourceRules": about(&rules, false), "nonResourceRules": about(&rules, true), "incomplete": false,
    });
    review["kind"] = "SelfSubjectRulesReview".into();
    review["apiVersion"] = "authorization.k8s.io/v1".into();
    review["status"] = status;
    Ok(())
}

fn shown(rule: &Rule) -> Value {
    if !rule.paths.is_empty() {
        return json!({"verbs": rule.verbs, "nonResourceURLs": rule.paths});
    }
    let mut shown = json!({"verbs": rule.verbs, "apiGroups": rule.groups, "resources": rule.resources});
    if !rule.names.is_empty() {
        shown["resourceNames"] = json!(rule.names);
    }
    shown
}
