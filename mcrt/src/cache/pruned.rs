//! A kind decoded without `metadata.managedFields`, which would be most of its memory.
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, core::DynamicResourceScope};
use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, IgnoredAny, MapAccess, Visitor, value::CowStrDeserializer},
    forward_to_deserialize_any,
};
use std::{borrow::Cow, fmt};

/// An object that was decoded without its managed fields.
///
/// Its scope is called dynamic so that one `Api` constructor serves kinds of both scopes.
#[derive(Clone)]
pub(super) struct Pruned<K>(pub(super) K);

/// kube asks for `Debug` and logs with it; an object's content must not get there.
impl<K> fmt::Debug for Pruned<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pruned(..)")
    }
}

impl<K: Resource> Resource for Pruned<K> {
    type DynamicType = K::DynamicType;
    type Scope = DynamicResourceScope;

    fn kind(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(dt)
    }
    fn group(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::group(dt)
    }
    fn version(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::version(dt)
    }
    fn api_version(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::api_version(dt)
    }
    fn plural(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(dt)
    }
    fn url_path(dt: &Self::DynamicType, namespace: Option<&str>) -> String {
        K::url_path(dt, namespace)
    }
    fn metadata_api() -> bool {
        K::metadata_api()
    }
    fn meta(&self) -> &ObjectMeta {
        self.0.meta()
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.meta_mut()
    }
}

impl<'de, K: Deserialize<'de>> Deserialize<'de> for Pruned<K> {
    fn deserialize<D: Deserializer<'de>>(inner: D) -> Result<Self, D::Error> {
        K::deserialize(Filter {
            inner,
            level: Level::Object,
        })
        .map(Self)
    }
}

/// Where in the object the filter stands. Below metadata it steps aside.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    Object,
    Metadata,
}

/// Wraps a deserializer, its visitor, its map and the seed of a value in turn, down to the metadata.
struct Filter<T> {
    inner: T,
    level: Level,
}

macro_rules! wrap_visitor {
    ($($method:ident($($arg:ident: $ty:ty),*))*) => { $(
        fn $method<V: Visitor<'de>>(self, $($arg: $ty,)* visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method($($arg,)* Filter { inner: visitor, level: self.level })
        }
    )* };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Filter<D> {
    type Error = D::Error;

    wrap_visitor! {
        deserialize_any()
        deserialize_map()
        deserialize_option()
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_newtype_struct(name: &'static str)
    }

    // An object and its metadata are maps: whoever asks for anything else gets what is there, or an error.
    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct enum identifier ignored_any
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Filter<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }
    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(FilteredMap {
            inner,
            level: self.level,
            enters_metadata: false,
        })
    }
    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Filter {
            inner,
            level: self.level,
        })
    }
    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(Filter {
            inner,
            level: self.level,
        })
    }
    fn visit_none<E: de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }
    fn visit_unit<E: de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Filter<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Filter {
            inner,
            level: self.level,
        })
    }
}

struct FilteredMap<A> {
    inner: A,
    level: Level,
    enters_metadata: bool,
}

/// A key, borrowed from the text where it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de, A: MapAccess<'de>> MapAccess<'de> for FilteredMap<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let key = loop {
            let Some(Key(key)) = self.inner.next_key()? else {
                return Ok(None);
            };
            if self.level == Level::Metadata && key == "managedFields" {
                self.inner.next_value::<IgnoredAny>()?;
            } else {
                break key;
            }
        };
        self.enters_metadata = self.level == Level::Object && key == "metadata";
        seed.deserialize(CowStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        if self.enters_metadata {
            self.inner.next_value_seed(Filter {
                inner: seed,
                level: Level::Metadata,
            })
        } else {
            self.inner.next_value_seed(seed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::{DynamicObject, ObjectList, PartialObjectMeta, WatchEvent};
    use serde::de::DeserializeOwned;

    const OBJECT: &str = r#"{
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:data": {"f:k": {}}}}],
            "name": "a", "namespace": "x", "labels": {"managedFields": "kept", "metadata": "kept too"}
        },
        "data": {"managedFields": "a value", "k": "line\none"}
    }"#;

    fn decode<K: DeserializeOwned>(text: &str) -> K {
        let Pruned(object) = serde_json::from_str(text).unwrap();
        object
    }

    fn check_metadata(meta: &ObjectMeta) {
        assert_eq!(meta.managed_fields, None);
        assert_eq!(meta.name.as_deref(), Some("a"));
        assert_eq!(meta.labels.as_ref().unwrap()["managedFields"], "kept");
    }

    #[test]
    fn managed_fields_of_a_typed_object_are_skipped_and_nothing_else() {
        let text = OBJECT.replace("line\none", "line\\none");
        let object: ConfigMap = decode(&text);
        check_metadata(&object.metadata);
        assert_eq!(object.data.as_ref().unwrap()["managedFields"], "a value");
        let mut whole: ConfigMap = serde_json::from_str(&text).unwrap();
        whole.metadata.managed_fields = None;
        assert_eq!(object, whole);
    }

    #[test]
    fn managed_fields_of_a_dynamic_object_and_of_bare_metadata_are_skipped() {
        let text = OBJECT.replace("line\none", "one");
        let object: DynamicObject = decode(&text);
        check_metadata(&object.metadata);
        assert_eq!(object.types.unwrap().kind, "ConfigMap");
        assert_eq!(object.data["data"]["managedFields"], "a value");
        let object: PartialObjectMeta<ConfigMap> = decode(&text);
        check_metadata(&object.metadata);
    }

    #[test]
    fn lists_and_watch_events_decode_pruned_objects_whatever_the_order_of_their_fields() {
        let object = OBJECT.replace("line\none", "one");
        let list = format!(r#"{{"items": [{object}, {object}], "metadata": {{"resourceVersion": "7"}}}}"#);
        let list: ObjectList<Pruned<DynamicObject>> = serde_json::from_str(&list).unwrap();
        list.iter().for_each(|o| check_metadata(o.meta()));
        for event in [
            format!(r#"{{"type": "ADDED", "object": {object}}}"#),
            format!(r#"{{"object": {object}, "type": "ADDED"}}"#),
        ] {
            let Ok(WatchEvent::<Pruned<ConfigMap>>::Added(object)) = serde_json::from_str(&event) else {
                panic!("an event");
            };
            check_metadata(object.meta());
        }
    }

    #[test]
    fn debug_output_of_an_object_says_nothing_of_its_content() {
        let object: Pruned<ConfigMap> = serde_json::from_str(&OBJECT.replace("line\none", "one")).unwrap();
        assert_eq!(format!("{object:?}"), "Pruned(..)");
    }

    #[test]
    fn what_is_not_an_object_is_refused() {
        for text in ["[]", "7", "\"a\"", "null", "{\"metadata\": 7}"] {
            assert!(serde_json::from_str::<Pruned<ConfigMap>>(text).is_err(), "{text}");
        }
    }
}
