//! As whom requests are made.
use super::{
    super::{connection::Impersonate, error::Rejected},
    field::At,
    nonempty,
};
use http::HeaderValue;
use kube::config::AuthInfo;

const AS: &str = "acts as somebody else: remove it, or allow it with `Policy::allow_impersonation`";

pub(super) fn impersonate(user: &AuthInfo, at: &At<'_>) -> Result<Option<Impersonate>, Rejected> {
    let name = nonempty(user.impersonate.as_ref());
    let uid = nonempty(user.impersonate_uid.as_ref());
    let groups = user.impersonate_groups.as_deref().unwrap_or_default();
    let extra = user.impersonate_user_extra.iter().flatten();
    let mut extra: Vec<(String, Vec<String>)> =
        extra.map(|(key, values)| (key.clone(), values.clone())).collect();
    // A map of the parser's has no order, and the same words must make the same connection.
    extra.sort();
    let given = [
        (".as", name.is_some()),
        (".as-uid", uid.is_some()),
        (".as-groups", !groups.is_empty()),
        (".as-user-extra", !extra.is_empty()),
    ];
    let Some((field, _)) = given.into_iter().find(|(_, given)| *given) else {
        return Ok(None);
    };
    at.allow(at.policy.impersonation, field, AS)?;
    let Some(name) = name else {
        return Err(at.invalid(field, "has no `as` beside it, which it belongs to"));
    };
    let fits = |field, values: Vec<&str>| {
        let fits = |value: &&str| !value.is_empty() && HeaderValue::from_str(value).is_ok();
        if values.iter().all(fits) {
            return Ok(());
        }
        Err(at.invalid(field, "is empty, or has characters that no header can carry"))
    };
    fits(".as", vec![name])?;
    fits(".as-uid", uid.into_iter().collect())?;
    fits(".as-groups", groups.iter().map(String::as_str).collect())?;
    if extra.iter().any(|(key, _)| key.is_empty()) {
        return Err(at.invalid(".as-user-extra", "has a key without a name"));
    }
    let values = extra.iter().flat_map(|(_, values)| values);
    fits(".as-user-extra", values.map(String::as_str).collect())?;
    Ok(Some(Impersonate {
        user: name.to_owned(),
        uid: uid.map(str::to_owned),
        groups: groups.to_vec(),
        extra,
    }))
}
