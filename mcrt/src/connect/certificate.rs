//! What certificates say of themselves.
use rustls::{
    CertificateError,
    pki_types::{CertificateDer, pem::PemObject},
};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use x509_cert::{
    certificate::{CertificateInner, Raw},
    der::{DateTime, Decode, asn1::ObjectIdentifier},
    ext::pkix::ExtendedKeyUsage,
};

/// What a certificate may be used for: to serve TLS, and anything.
const USES: [ObjectIdentifier; 2] = [
    ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1"),
    ObjectIdentifier::new_unwrap("2.5.29.37.0"),
];

/// The certificates of a PEM text, in DER; none if there is none or one of them is damaged.
pub(super) fn certificates(pem: &[u8]) -> Option<Vec<Vec<u8>>> {
    let parsed: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let all: Vec<_> = parsed.ok()?.iter().map(|der| der.as_ref().to_vec()).collect();
    (!all.is_empty()).then_some(all)
}

/// When a certificate in DER expires. `None` if that cannot be read: then only the server can tell.
pub(super) fn not_after(der: &[u8]) -> Option<SystemTime> {
    // `Raw`: serial numbers that break RFC 5280 are in use, and TLS does not mind them.
    let certificate = CertificateInner::<Raw>::from_der(der).ok()?;
    let end = certificate.tbs_certificate().validity().not_after;
    UNIX_EPOCH.checked_add(end.to_unix_duration())
}

/// Whether a certificate in DER is good for a server now, by what it says itself; `None` if that cannot be read.
pub(super) fn serves(der: &[u8], now: SystemTime) -> Option<Result<(), CertificateError>> {
    let certificate = CertificateInner::<Raw>::from_der(der).ok()?;
    let certificate = certificate.tbs_certificate();
    let at = |time: Duration| UNIX_EPOCH.checked_add(time);
    let validity = certificate.validity();
    let begin = at(validity.not_before.to_unix_duration())?;
    let end = at(validity.not_after.to_unix_duration())?;
    let uses = certificate.get_extension::<ExtendedKeyUsage>().ok()?;
    // One that says nothing of its use may be used for anything.
    let may = uses.is_none_or(|(_, uses)| uses.0.iter().any(|used| USES.contains(used)));
    Some(match now {
        now if now < begin => Err(CertificateError::NotValidYet),
        now if now > end => Err(CertificateError::Expired),
        _ if !may => Err(CertificateError::InvalidPurpose),
        _ => Ok(()),
    })
}

/// When it expired, if it has: a date, for messages.
pub(super) fn expired(der: &[u8], now: SystemTime) -> Option<String> {
    let end = not_after(der)?;
    (end < now).then(|| date(end))
}

fn date(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    match DateTime::from_unix_duration(since) {
        Ok(time) => format!("{}-{:02}-{:02}", time.year(), time.month(), time.day()),
        Err(_) => "a day long past".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    fn until(year: i32, month: u8, day: u8) -> Vec<u8> {
        let mut params = CertificateParams::new(vec!["a.test".to_owned()]).unwrap();
        params.not_after = date_time_ymd(year, month, day);
        let key = KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn the_end_of_a_certificate_is_read_to_the_second() {
        for (der, end) in [
            (until(2024, 2, 29), 1_709_164_800),
            // Written as generalized time, unlike years before 2050.
            (until(2051, 1, 1), 2_556_144_000),
        ] {
            assert_eq!(not_after(&der), Some(UNIX_EPOCH + Duration::from_secs(end)));
        }
    }

    #[test]
    fn one_that_has_expired_says_on_which_day() {
        let now = UNIX_EPOCH + Duration::from_secs(1_709_164_801);
        assert_eq!(expired(&until(2024, 2, 29), now).as_deref(), Some("2024-02-29"));
        assert_eq!(expired(&until(2024, 3, 1), now), None);
    }

    #[test]
    fn what_is_no_certificate_has_no_end() {
        assert_eq!(not_after(b""), None);
        assert_eq!(not_after(&until(2024, 2, 29)[..100]), None);
    }
}
