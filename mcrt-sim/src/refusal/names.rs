//! The grammar of names, labels and annotations, with the sentences by which a real server refuses them.

/// What the names of a kind's objects have to look like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum NameRule {
    /// Labels with dots in between; most kinds.
    Subdomain,
    /// One label; namespaces, services.
    Label,
    /// One label that does not start with a digit; services.
    LetterFirst,
    /// Anything that fits into a path; RBAC.
    Segment,
}

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
     start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
     end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LETTER_FIRST: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
     character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation \
     is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const KEY_NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
     character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
     start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
     validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
     'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

impl NameRule {
    /// The rule for the objects of a kind.
    pub(crate) fn of(group: &str, plural: &str) -> Self {
        match (group, plural) {
            ("", "namespaces") => Self::Label,
            ("", "services") => Self::LetterFirst,
            ("rbac.authorization.k8s.io", _) => Self::Segment,
            _ => Self::Subdomain,
        }
    }

    /// What is wrong with a name; of the start of a generated one, a last dash is overlooked.
    pub(crate) fn check(self, name: &str, is_prefix: bool) -> Vec<String> {
        let masked = name
            .strip_suffix('-')
            .filter(|_| is_prefix && name.len() > 1)
            .map(|name| format!("{name}a"));
        let name = masked.as_deref().unwrap_or(name);
        match self {
            Self::Subdomain => subdomain(name),
            Self::Label if name.contains('.') => vec!["must not contain dots".to_owned()],
            Self::Label => label(name, LABEL, |_| true),
            Self::LetterFirst => label(name, LETTER_FIRST, |first| first.is_ascii_lowercase()),
            Self::Segment => segment(name),
        }
    }
}

fn subdomain(name: &str) -> Vec<String> {
    let mut wrong = too_long(name, 253, "characters");
    if !name.split('.').all(is_label) {
        wrong.push(SUBDOMAIN.to_owned());
    }
    wrong
}

fn label(name: &str, sentence: &str, first: impl Fn(u8) -> bool) -> Vec<String> {
    let mut wrong = too_long(name, 63, "characters");
    if !is_label(name) || !name.bytes().next().is_some_and(first) {
        wrong.push(sentence.to_owned());
    }
    wrong
}

fn segment(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    let found = ['/', '%'].into_iter().filter(|letter| name.contains(*letter));
    found
        .map(|letter| format!("may not contain '{letter}'"))
        .collect()
}

/// What is wrong with the key of a label.
pub(crate) fn label_key(key: &str) -> Vec<String> {
    let parts: Vec<_> = key.split('/').collect();
    let mut wrong = Vec::new();
    let name = match parts.as_slice() {
        [name] => name,
        ["", name] => {
            wrong.push("prefix part must be non-empty".to_owned());
            name
        }
        [prefix, name] => {
            wrong.extend(
                subdomain(prefix)
                    .into_iter()
                    .map(|why| format!("prefix part {why}")),
            );
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {KEY_NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    }
    wrong.extend(
        too_long(name, 63, "bytes")
            .into_iter()
            .map(|why| format!("name part {why}")),
    );
    if !is_word(name) {
        wrong.push(format!("name part {KEY_NAME}"));
    }
    wrong
}

/// What is wrong with the value of a label.
pub(crate) fn label_value(value: &str) -> Vec<String> {
    let mut wrong = too_long(value, 63, "bytes");
    if !(value.is_empty() || is_word(value)) {
        wrong.push(VALUE.to_owned());
    }
    wrong
}

/// What is wrong with the key of an annotation: as for labels, in any case.
pub(crate) fn annotation_key(key: &str) -> Vec<String> {
    label_key(&key.to_lowercase())
}

/// What is wrong with a key in the data of a `ConfigMap` or a `Secret`.
pub(crate) fn data_key(key: &str) -> Vec<String> {
    let mut wrong = too_long(key, 253, "characters");
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if key.is_empty() || !key.bytes().all(letter) {
        wrong.push(CONFIG_KEY.to_owned());
    } else if matches!(key, "." | "..") {
        wrong.push(format!("must not be '{key}'"));
    } else if key.starts_with("..") {
        wrong.push("must not start with '..'".to_owned());
    }
    wrong
}

fn too_long(text: &str, limit: usize, unit: &str) -> Vec<String> {
    let long = (text.len() > limit).then(|| format!("must be no more than {limit} {unit}"));
    long.into_iter().collect()
}

fn is_label(text: &str) -> bool {
    let letter = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    is_enclosed(text, letter, |byte| letter(byte) || *byte == b'-')
}

fn is_word(text: &str) -> bool {
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    is_enclosed(text, u8::is_ascii_alphanumeric, inner)
}

/// Whether a text is not empty and consists of inner letters between two outer ones.
fn is_enclosed(text: &str, outer: impl Fn(&u8) -> bool, inner: impl Fn(&u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    let ends = |byte: Option<&u8>| byte.is_some_and(&outer);
    ends(bytes.first()) && ends(bytes.last()) && bytes.iter().all(inner)
}
