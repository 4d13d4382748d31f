//! Certificates that have expired.
use super::{super::tls::data, *};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};

/// A certificate that signs itself, and its key.
fn until(year: i32, authority: bool) -> (String, String) {
    let mut params = CertificateParams::new(vec!["a.test".to_owned()]).unwrap();
    params.not_after = date_time_ymd(year, 3, 1);
    if authority {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    let key = KeyPair::generate().unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

#[test]
fn an_expired_client_certificate_is_named_with_its_day() {
    let (certificate, key) = until(2024, false);
    let user = [
        data("client-certificate-data", &certificate),
        data("client-key-data", &key),
    ];
    let error = strict(&[], &[&user[0], &user[1]]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "context `c`: users[u].user.client-certificate-data: expired on 2024-03-01: have a new one issued"
    );
}

#[test]
fn an_authority_counts_as_expired_when_all_of_its_bundle_are() {
    let (old, older, present) = (until(2024, true).0, until(2020, true).0, until(2100, true).0);
    let bundle = |pems: &[&str]| data("certificate-authority-data", &pems.concat());
    let error = strict(&[&bundle(&[&old, &older])], &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "context `c`: clusters[k].cluster.certificate-authority-data: expired on 2024-03-01: give the present one"
    );
    strict(&[&bundle(&[&old, &present])], &[]).unwrap();
}

#[test]
fn a_key_of_another_certificate_is_named() {
    let (certificate, other) = (until(2100, false).0, until(2100, false).1);
    let certificate = data("client-certificate-data", &certificate);
    for (key, reason) in [
        (other, "not the key of the client certificate beside it"),
        (other_kind(), "not a usable RSA, ECDSA or Ed25519 key"),
    ] {
        let error = strict(&[], &[&certificate, &data("client-key-data", &key)]).unwrap_err();
        let said = format!("context `c`: users[u].user.client-key-data: {reason}");
        assert_eq!(error.to_string(), said);
    }
}

/// A key in PEM that is none.
fn other_kind() -> String {
    "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n".to_owned()
}
