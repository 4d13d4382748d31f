//! When what a program gave expires.
use super::{
    super::exec::{Failure, read},
    V1, plugin,
};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// 2030-01-01T00:00:00Z
fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_hours(525_960)
}

fn lasts(status: &serde_json::Value) -> Result<Option<Duration>, Failure> {
    let credential = serde_json::json!({"apiVersion": V1, "kind": "ExecCredential", "status": status});
    read(&plugin("p"), credential.to_string().as_bytes(), now()).map(|given| given.lasts)
}

fn token_until(time: &str) -> Result<Option<Duration>, Failure> {
    lasts(&serde_json::json!({"token": "abc", "expirationTimestamp": time}))
}

#[test]
fn times_may_have_fractions_and_offsets() {
    for (time, expected) in [
        ("2030-01-01T00:10:00Z", 600_000),
        ("2030-01-01T00:00:10.25Z", 10_250),
        ("2030-01-01T00:00:10.123456789Z", 10_123),
        ("2030-01-01T02:00:10+02:00", 10_000),
        ("2029-12-31T19:00:10-05:00", 10_000),
        ("2030-01-01t00:00:10z", 10_000),
    ] {
        assert_eq!(
            token_until(time).unwrap().unwrap().as_millis(),
            expected,
            "{time}"
        );
    }
    assert_eq!(token_until("").unwrap(), None);
    for none in [
        "2030-01-01",
        "2030-01-01T00:10:00",
        "1893456000",
        "2030-13-01T00:00:00Z",
        "never",
    ] {
        assert_eq!(token_until(none), Err(Failure::Expiry), "{none}");
    }
    assert_eq!(token_until("2030-01-01T00:00:00Z"), Err(Failure::Expired));
    assert_eq!(token_until("2029-12-31T23:59:59Z"), Err(Failure::Expired));
}

#[test]
fn the_sooner_end_counts_of_the_time_that_is_given_and_the_certificate_s() {
    let mut params = CertificateParams::new(vec!["client".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_after = date_time_ymd(2030, 1, 2);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap().pem();
    let given = |time: Option<&str>| {
        lasts(&serde_json::json!({
            "clientCertificateData": certificate,
            "clientKeyData": key.serialize_pem(),
            "expirationTimestamp": time,
        }))
    };
    let day = Duration::from_hours(24);
    assert_eq!(given(None).unwrap(), Some(day));
    assert_eq!(given(Some("2030-01-01T01:00:00Z")).unwrap(), Some(day / 24));
    assert_eq!(given(Some("2031-01-01T01:00:00Z")).unwrap(), Some(day));
}
