//! What is packed is what was sent, whatever the order of its words, their escapes and the space between them.
use crate::cache::{
    packed::{self, Packed},
    table::KeyRef,
};
use proptest::{collection::vec, option, prelude::*};
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// The members of an object in the order in which they are sent, each name once.
type Members = Vec<(String, Value)>;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9.-]{0,12}",
        // Quotes, controls, what takes several bytes, and what takes two escapes.
        vec(
            prop_oneof![any::<char>(), Just('"'), Just('\\'), Just('\u{7f}'), Just('😀')],
            0..8
        )
        .prop_map(String::from_iter),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|n| Value::from(f64::from(n) / 8.0)),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let members = vec((any_name(), inner.clone()), 0..4);
        prop_oneof![
            vec(inner, 0..4).prop_map(Value::from),
            members.prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Names of members, those that mean something elsewhere among them.
fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec!["metadata", "managedFields", "name", "namespace", "uid"])
            .prop_map(str::to_owned),
        text(),
    ]
}

fn metadata() -> impl Strategy<Value = Members> {
    let words = ["name", "namespace", "uid", "resourceVersion"].map(|name| {
        let word = option::of(text().prop_map(Value::from)).prop_map(|word| word.unwrap_or(Value::Null));
        option::of(word).prop_map(move |word| word.map(|word| (name.to_owned(), word)))
    });
    let managed =
        option::of(value()).prop_map(|fields| fields.map(|fields| ("managedFields".to_owned(), fields)));
    let others = vec(("[A-Z][a-z]{0,6}", value()), 0..3);
    (words, managed, others).prop_flat_map(|(words, managed, others)| {
        let named = words.into_iter().chain([managed]).flatten();
        Just(distinct(named.chain(others))).prop_shuffle()
    })
}

fn object() -> impl Strategy<Value = Members> {
    let metadata = prop_oneof![
        1 => Just(None),
        1 => Just(Some(None)),
        8 => metadata().prop_map(|metadata| Some(Some(metadata))),
    ];
    let others = vec((any_name(), value()), 0..4);
    (metadata, others).prop_flat_map(|(metadata, others)| {
        let others = others.into_iter().filter(|(name, _)| name != "metadata");
        let metadata =
            metadata.map(|metadata| ("metadata".to_owned(), metadata.map_or(Value::Null, ordered)));
        Just(distinct(metadata.into_iter().chain(others))).prop_shuffle()
    })
}

/// Members in an order that a map would not keep.
const ORDERED: &str = "\u{0}ordered";

fn ordered(members: Members) -> Value {
    let members = members
        .into_iter()
        .map(|(name, value)| Value::from(vec![Value::from(name), value]));
    let members = Value::Array(members.collect());
    Value::Object(Map::from_iter([(ORDERED.to_owned(), members)]))
}

fn distinct(members: impl Iterator<Item = (String, Value)>) -> Members {
    let mut all = Members::new();
    for (name, value) in members {
        if all.iter().all(|(known, _)| *known != name) {
            all.push((name, value));
        }
    }
    all
}

/// Writes JSON as nobody would: which character is escaped and where space stands follows the noise.
struct Writer {
    text: String,
    noise: std::iter::Cycle<std::vec::IntoIter<u8>>,
}

impl Writer {
    fn roll(&mut self, sides: u8) -> u8 {
        self.noise.next().unwrap() % sides
    }

    fn token(&mut self, token: &str) {
        for _ in 0..2 {
            let space = ["", "", "", " ", "\n\t"][usize::from(self.roll(5))];
            self.text.push_str(space);
        }
        self.text.push_str(token);
    }

    fn string(&mut self, string: &str) {
        self.token("\"");
        let often = [1, 4, 255][usize::from(self.roll(3))];
        for c in string.chars() {
            if c < ' ' || c == '"' || c == '\\' || self.roll(often) == often - 1 {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    write!(self.text, "\\u{unit:04x}").unwrap();
                }
            } else {
                self.text.push(c);
            }
        }
        self.text.push('"');
    }

    fn members<'a>(&mut self, members: impl Iterator<Item = (&'a str, &'a Value)>) {
        self.token("{");
        for (at, (name, value)) in members.enumerate() {
            if at > 0 {
                self.token(",");
            }
            self.string(name);
            self.token(":");
            self.value(value);
        }
        self.token("}");
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Object(map) => match map.get(ORDERED).and_then(Value::as_array) {
                Some(ordered) => {
                    self.members(ordered.iter().map(|pair| (pair[0].as_str().unwrap(), &pair[1])));
                }
                None => self.members(map.iter().map(|(name, value)| (&**name, value))),
            },
            Value::Array(items) => {
                self.token("[");
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        self.token(",");
                    }
                    self.value(item);
                }
                self.token("]");
            }
            Value::String(string) => self.string(string),
            other => self.token(&other.to_string()),
        }
    }
}

fn write(object: &Members, noise: Vec<u8>) -> String {
    let mut writer = Writer {
        text: String::new(),
        noise: noise.into_iter().cycle(),
    };
    writer.members(object.iter().map(|(name, value)| (&**name, value)));
    writer.text
}

/// The object without managed fields, which may be left as a null.
fn without_managed_fields(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn any_object_decodes_to_what_was_sent_without_managed_fields(
        object in object(),
        noise in vec(any::<u8>(), 1..64),
    ) {
        let text = write(&object, noise);
        let sent: Value = serde_json::from_str(&text).unwrap();
        let packed = Packed::of(serde_json::from_str(&text).unwrap()).unwrap();
        let kept: Value = packed.decode().unwrap();
        prop_assert!(kept["metadata"]["managedFields"].is_null());
        let unpacked: Value = packed::decode(serde_json::from_str(&text).unwrap()).unwrap();
        prop_assert_eq!(&unpacked, &kept);
        let sent = without_managed_fields(sent);
        prop_assert_eq!(&without_managed_fields(kept), &sent);
        let word = |name: &str| sent["metadata"][name].as_str();
        let key = KeyRef {
            namespace: word("namespace"),
            name: word("name").unwrap_or_default(),
        };
        prop_assert!(packed.key() == key, "{:?}", sent["metadata"]);
        prop_assert_eq!(packed.uid(), word("uid"));
        prop_assert_eq!(packed.version(), word("resourceVersion"));
    }
}
