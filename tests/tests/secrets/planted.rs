//! The secrets: where each is planted, and how it is found in whatever form.

use std::fmt::Write as _;

use k8s_openapi::ByteString;

/// One secret: its place and its value. Values are letters and digits, so that no escaping hides them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planted(&'static str, pub(crate) &'static str);

pub(crate) const TOKEN: Planted = Planted("users[].user.token", "Zq7TokenInlineKw3");
pub(crate) const REFUSED: Planted = Planted("a token that the server refuses", "Zq7TokenRefusedKw3");
pub(crate) const PASSWORD: Planted = Planted("users[].user.password", "Zq7PasswordKw3");
pub(crate) const TOKEN_FILE: Planted = Planted("the content of a token file", "Zq7TokenInFileKw3");
pub(crate) const REJECTED: Planted = Planted("a kubeconfig that is refused", "Zq7FieldRefusedKw3");
pub(crate) const BROKEN: Planted = Planted("a kubeconfig that is no YAML", "Zq7FieldBrokenKw3");
pub(crate) const DATA: Planted = Planted("data of a Secret", "Zq7SecretDataKw3");
pub(crate) const ANNOTATION: Planted = Planted("an annotation of a Secret", "Zq7AnnotationKw3");
pub(crate) const UNDECODABLE: Planted = Planted("a Secret that does not decode", "Zq7UndecodableKw3");
pub(crate) const PAGE: Planted = Planted("the page of a proxy", "Zq7ProxyPageKw3");
pub(crate) const NONSENSE: Planted = Planted("an answer that is no JSON", "Zq7NonsenseKw3");
pub(crate) const PROGRAM_TOKEN: Planted = Planted("the token of a program", "Zq7ProgramTokenKw3");
pub(crate) const PROGRAM_ARGUMENT: Planted = Planted("an argument of a program", "Zq7ProgramArgumentKw3");
pub(crate) const PROGRAM_ENVIRONMENT: Planted = Planted("the environment of a program", "Zq7ProgramEnvKw3");
pub(crate) const PROGRAM_ERRORS: Planted = Planted("what a program says on stderr", "Zq7ProgramStderrKw3");
pub(crate) const PROGRAM_NONSENSE: Planted = Planted("what a program prints", "Zq7ProgramStdoutKw3");

const FIXED: [Planted; 16] = [
    PROGRAM_TOKEN,
    PROGRAM_ARGUMENT,
    PROGRAM_ENVIRONMENT,
    PROGRAM_ERRORS,
    PROGRAM_NONSENSE,
    TOKEN,
    REFUSED,
    PASSWORD,
    TOKEN_FILE,
    REJECTED,
    BROKEN,
    DATA,
    ANNOTATION,
    UNDECODABLE,
    PAGE,
    NONSENSE,
];

/// What is printed, with what must not be in it.
pub(crate) struct Printed<'a> {
    pub(crate) text: &'a str,
    /// Lines of the private key, as PEM has them.
    pub(crate) key: &'a [String],
}

impl Printed<'_> {
    /// Where secrets show: the place, the form, and the line without the secret's own characters.
    pub(crate) fn leaks(&self) -> Vec<String> {
        let mut leaks = Vec::new();
        for Planted(place, secret) in FIXED {
            for (form, needle) in forms(secret) {
                leaks.extend(self.with(&needle).map(|line| format!("{place}, {form}: {line}")));
            }
        }
        for line in self.key {
            leaks.extend(self.with(line).map(|line| format!("a private key: {line}")));
        }
        leaks
    }

    fn with(&self, needle: &str) -> impl Iterator<Item = &str> {
        self.text.lines().filter(move |line| line.contains(needle))
    }
}

/// As it is, in base64 wherever it lies in what is encoded, as the numbers of its bytes, and in hexadecimal.
fn forms(secret: &str) -> Vec<(&'static str, String)> {
    let numbers: Vec<_> = secret.bytes().map(|byte| byte.to_string()).collect();
    let mut hexadecimal = String::new();
    for byte in secret.bytes() {
        // Writing to a string cannot fail.
        let _ = write!(hexadecimal, "{byte:02x}");
    }
    let mut forms = vec![
        ("as it is", secret.to_owned()),
        ("in numbers", numbers.join(", ")),
        ("in hexadecimal", hexadecimal),
    ];
    forms.extend((0..3).map(|before| ("in base64", inside_base64(secret, before))));
    forms
}

/// The characters that stand for nothing but the secret, when so many bytes modulo three come before it.
fn inside_base64(secret: &str, before: usize) -> String {
    let bytes = [&vec![0; before][..], secret.as_bytes()].concat();
    let first = (before * 8).div_ceil(6);
    let last = bytes.len() * 8 / 6;
    base64(&bytes)[first..last].to_owned()
}

/// In base64, as objects hold bytes.
pub(crate) fn base64(bytes: &[u8]) -> String {
    let json = serde_json::to_value(ByteString(bytes.to_vec())).unwrap();
    json.as_str().unwrap().to_owned()
}

#[test]
fn a_secret_is_found_in_every_form() {
    let basic = base64(format!("somebody:{}", PASSWORD.1).as_bytes());
    let forms = [
        format!("Authorization: Bearer {}", TOKEN.1),
        format!("Authorization: Basic {basic}"),
        format!("{:?}", DATA.1.as_bytes()),
        base64(DATA.1.as_bytes()),
        base64(format!("x{}y", DATA.1).as_bytes()),
        base64(format!("xy{}", DATA.1).as_bytes()),
    ];
    for text in &forms {
        let found = Printed { text, key: &[] }.leaks();
        assert_eq!(found.len(), 1, "{text}: {found:?}");
    }
    let text = "Authorization: Bearer ***, 90, 113";
    assert!(Printed { text, key: &[] }.leaks().is_empty());
}
