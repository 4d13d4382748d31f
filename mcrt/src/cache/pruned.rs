//! An object on its way into a cache, without `metadata.managedFields`, which would be most of its memory.
use super::{
    kept::Kept,
    packed::{self, Packed},
    scope::Cacheable,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, core::DynamicResourceScope};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt, sync::Arc};

/// An object that came in. It was decoded once, so that what does not fit its type is refused at the border.
///
/// Its scope is called dynamic so that one `Api` constructor serves kinds of both scopes.
#[derive(Clone)]
pub(super) enum Pruned<K> {
    /// A whole object, and of its metadata the version alone: kube's watcher reads that and nothing else. What is
    /// written there changes nothing.
    Whole(Packed, Box<ObjectMeta>),
    /// The metadata of an object.
    Metadata(K),
}

impl<K: Cacheable> Pruned<K> {
    /// The form to be kept.
    pub(super) fn into_kept(self) -> Kept<K> {
        match self {
            Self::Whole(packed, _) => Kept::Packed(packed),
            Self::Metadata(mut object) => {
                tidy(object.meta_mut());
                Kept::Decoded(Arc::new(object))
            }
        }
    }
}

/// The copy of a whole object, the data of a Secret too, that `kubectl apply` writes into its metadata.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Decoding grows lists by doubling; objects are kept for long. Who asked for metadata alone gets no data by a back
/// door. A whole object stays as it is: whoever writes it back would take the annotation from kubectl.
fn tidy(meta: &mut ObjectMeta) {
    if let Some(annotations) = &mut meta.annotations {
        annotations.remove(LAST_APPLIED);
        if annotations.is_empty() {
            meta.annotations = None;
        }
    }
    if let Some(owners) = &mut meta.owner_references {
        owners.shrink_to_fit();
    }
    if let Some(finalizers) = &mut meta.finalizers {
        finalizers.shrink_to_fit();
    }
}

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
        match self {
            Self::Whole(_, meta) => meta,
            Self::Metadata(object) => object.meta(),
        }
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Self::Whole(_, meta) => meta,
            Self::Metadata(object) => object.meta_mut(),
        }
    }
}

/// Reads the text of the object, and so only from text: a watch event has to say its type before its object, as those
/// of API servers do.
impl<'de, K: Resource + DeserializeOwned> Deserialize<'de> for Pruned<K> {
    fn deserialize<D: Deserializer<'de>>(text: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(text)?;
        if K::metadata_api() {
            let object = packed::decode(text).map_err(D::Error::custom)?;
            return Ok(Self::Metadata(object));
        }
        let packed = Packed::of(text).map_err(D::Error::custom)?;
        // What comes of it is not kept: a page of decoded objects is many times its text, and few are looked into.
        let _: K = packed.decode().map_err(D::Error::custom)?;
        let version = packed.version().map(str::to_owned);
        let meta = ObjectMeta {
            resource_version: version,
            ..ObjectMeta::default()
        };
        Ok(Self::Whole(packed, Box::new(meta)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::ObjectKey;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::{DynamicObject, ObjectList, PartialObjectMeta, WatchEvent};

    const OBJECT: &str = r#"{
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:data": {"f:k": {}}}}],
            "name": "a", "namespace": "x", "labels": {"managedFields": "kept", "metadata": "kept too"}
        },
        "data": {"managedFields": "a value", "k": "line\none"}
    }"#;

    fn decode<K: Cacheable>(text: &str) -> K {
        let pruned: Pruned<K> = serde_json::from_str(text).unwrap();
        let object = pruned.into_kept().object();
        K::clone(&object)
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
    fn lists_and_watch_events_decode_pruned_objects() {
        let object = OBJECT.replace("line\none", "one");
        let list = format!(r#"{{"items": [{object}, {object}], "metadata": {{"resourceVersion": "7"}}}}"#);
        let list: ObjectList<Pruned<DynamicObject>> = serde_json::from_str(&list).unwrap();
        assert_eq!(list.items.len(), 2);
        for object in list.items {
            check_metadata(&object.into_kept().object().metadata);
        }
        let event = format!(r#"{{"type": "ADDED", "object": {object}}}"#);
        let Ok(WatchEvent::<Pruned<ConfigMap>>::Added(object)) = serde_json::from_str(&event) else {
            panic!("an event");
        };
        check_metadata(&object.into_kept().object().metadata);
    }

    #[test]
    fn a_watch_event_that_says_its_object_before_its_type_is_an_error_that_shows_nothing() {
        let object = OBJECT.replace("line\none", "hunter2");
        let event = format!(r#"{{"object": {object}, "type": "ADDED"}}"#);
        let error = serde_json::from_str::<WatchEvent<Pruned<ConfigMap>>>(&event).unwrap_err();
        assert!(
            error.is_data() && !error.to_string().contains("hunter2"),
            "{error}"
        );
        let event = r#"{"object": {"kind": "Status", "code": 410, "reason": "Expired"}, "type": "ERROR"}"#;
        let event = serde_json::from_str::<WatchEvent<Pruned<ConfigMap>>>(event).unwrap();
        assert!(matches!(event, WatchEvent::Error(status) if status.code == 410));
    }

    #[test]
    fn the_words_of_the_key_are_found_behind_managed_fields_and_where_they_are_escaped() {
        for metadata in [
            r#""name": "a", "managedFields": [{}], "namespace": "x", "uid": "u", "resourceVersion": "7""#,
            r#""resourceVersion": "7", "managedFields": [], "uid": "u", "namespace": "x", "name": "a""#,
            r#""managedFields": null, "name": "\u0061", "namespace": "x", "uid": "\u0075", "resourceVersion": "7""#,
        ] {
            let text = format!(r#"{{"data": {{"k": "\u00e9"}}, "metadata": {{{metadata}}}}}"#);
            let object: Pruned<ConfigMap> = serde_json::from_str(&text).unwrap();
            assert_eq!(object.meta().resource_version.as_deref(), Some("7"), "{metadata}");
            let kept = object.into_kept();
            assert_eq!(
                ObjectKey::from(kept.key()),
                ObjectKey::namespaced("x", "a"),
                "{metadata}"
            );
            assert_eq!(kept.uid(), Some("u"), "{metadata}");
            assert_eq!(kept.object().data.as_ref().unwrap()["k"], "\u{e9}");
        }
    }

    #[test]
    fn a_metadata_watch_keeps_no_copy_of_the_object_that_an_annotation_holds() {
        let text = format!(r#"{{"metadata": {{"name": "a", "annotations": {{"{LAST_APPLIED}": "{{}}"}}}}}}"#);
        let object: PartialObjectMeta<ConfigMap> = decode(&text);
        assert_eq!(object.metadata.annotations, None);
        let object: ConfigMap = decode(&text);
        assert!(object.metadata.annotations.unwrap().contains_key(LAST_APPLIED));
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

    #[test]
    fn the_error_about_an_object_that_does_not_fit_its_type_says_nothing_of_its_content() {
        let text = r#"{"metadata": {"name": "a"}, "data": {"password": ["hunter2"]}}"#;
        let error = serde_json::from_str::<Pruned<ConfigMap>>(text).unwrap_err();
        assert!(
            error.is_data() && !error.to_string().contains("hunter2"),
            "{error}"
        );
    }
}
