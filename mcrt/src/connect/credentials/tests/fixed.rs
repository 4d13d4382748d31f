//! Material that only a provider replaces.
use super::super::Material;
use crate::connect::{
    Access, Connection, CredentialSettings, Life,
    tests::{
        kubeconfig,
        tls::{Authority, data},
        yaml,
    },
};

fn connection(user: &[&str]) -> Connection {
    Connection::from_kubeconfig(&kubeconfig(&yaml("https://a.test", &[], user)), "c").unwrap()
}

fn material(user: &[&str]) -> Material {
    Material::new(&connection(user), &CredentialSettings::default(), &Life::new()).unwrap()
}

async fn header(material: &Material) -> String {
    let header = material.header().await.unwrap().unwrap();
    assert!(header.is_sensitive());
    header.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_replaced_token_shows_in_the_next_request_and_to_those_that_the_last_one_failed() {
    let material = material(&["token: one"]);
    let one = material.header().await.unwrap();
    assert!(!material.refused(one.as_ref(), 0).await, "nothing to refresh");
    assert!(material.replace(&connection(&["token: two"])).unwrap());
    assert!(!material.replace(&connection(&["token: two"])).unwrap());
    assert!(material.refused(one.as_ref(), 0).await);
    assert_eq!(header(&material).await, "Bearer two");
    assert_eq!(material.generation(), 0, "connections stay");
}

#[tokio::test]
async fn a_replaced_certificate_shows_in_the_next_handshake_and_counts() {
    let authority = Authority::new();
    let pair = || {
        let (certificate, key) = authority.sign("client");
        let user = [
            data("client-certificate-data", &certificate),
            data("client-key-data", &key),
        ];
        connection(&[&user[0], &user[1]])
    };
    let first = pair();
    let material = Material::new(&first, &CredentialSettings::default(), &Life::new()).unwrap();
    let shown = material.certificate().unwrap();
    assert!(!material.replace(&first).unwrap());
    assert_eq!(material.generation(), 0);
    assert!(material.replace(&pair()).unwrap());
    assert_eq!(material.generation(), 1);
    assert_ne!(material.certificate().unwrap().cert, shown.cert);
    assert!(material.shows_certificates());
}

#[tokio::test]
async fn material_that_cannot_be_used_leaves_the_last_good_in_place() {
    let authority = Authority::new();
    let ((one, _), (two, key)) = (authority.sign("client"), authority.sign("client"));
    let user = [
        data("client-certificate-data", &two),
        data("client-key-data", &key),
    ];
    let good = connection(&[&user[0], &user[1]]);
    let material = Material::new(&good, &CredentialSettings::default(), &Life::new()).unwrap();
    // Vetting lets no such pair pass.
    let mut mixed = good.clone();
    mixed.identity.as_mut().unwrap().certificate = one.into_bytes();
    let error = material.replace(&mixed).unwrap_err();
    assert_eq!(
        error.to_string(),
        "context `c`: client certificate: the key is not that of the certificate"
    );
    assert_eq!(material.generation(), 0);
    assert!(material.certificate().is_some());
}

#[test]
fn secrets_are_no_part_of_the_identity_and_the_kind_of_user_is() {
    let identity = |user: &[&str]| Access::from(connection(user)).identity();
    let fingerprint = |user: &[&str]| Access::from(connection(user)).fingerprint();
    assert_eq!(identity(&["token: x"]), identity(&["token: y"]));
    assert_ne!(fingerprint(&["token: x"]), fingerprint(&["token: y"]));
    let basic = |user: &str, password: &str| [format!("username: {user}"), format!("password: {password}")];
    let [one, other, another] = [basic("a", "x"), basic("a", "y"), basic("b", "x")];
    assert_eq!(identity(&[&one[0], &one[1]]), identity(&[&other[0], &other[1]]));
    assert_ne!(
        identity(&[&one[0], &one[1]]),
        identity(&[&another[0], &another[1]])
    );
    assert_ne!(identity(&["token: x"]), identity(&[]));
    assert_ne!(identity(&["token: x"]), identity(&[&one[0], &one[1]]));
}

#[tokio::test]
async fn nothing_secret_is_printed() {
    let material = material(&["token: SECRET"]);
    let header = material.header().await.unwrap();
    assert!(!format!("{material:?}{header:?}").contains("SECRET"));
}
