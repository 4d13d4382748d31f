//! The form an answer is to have, read from the `Accept` header.

use crate::refusal::status::Status;

/// What objects are answered as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The objects themselves.
    Whole,
    /// `PartialObjectMetadata`, for one object and for the events of a watch.
    Metadata,
    /// `PartialObjectMetadataList`, for a list.
    MetadataList,
    /// `Table`.
    Table,
    /// Nothing that the server knows how to write.
    None,
}

impl Form {
    /// The first form in the header that can be served; JSON is the only encoding.
    pub(crate) fn read(accept: &str) -> Self {
        if accept.trim().is_empty() {
            return Self::Whole;
        }
        let mut forms = accept.split(',').filter_map(Self::of_clause);
        forms.next().unwrap_or(Self::None)
    }

    fn of_clause(clause: &str) -> Option<Self> {
        let mut parts = clause.split(';').map(str::trim);
        // A real server takes no `application/*` either.
        if !matches!(parts.next()?, "application/json" | "*/*") {
            return None;
        }
        let parameters: Vec<_> = parts.filter_map(|part| part.split_once('=')).collect();
        let parameter = |name: &str| {
            let found = parameters.iter().find(|(known, _)| *known == name);
            found.map_or("", |(_, value)| *value)
        };
        let kind = parameter("as");
        let known = parameter("g") == "meta.k8s.io" && parameter("v") == "v1";
        match kind {
            "" => Some(Self::Whole),
            "Table" if known => Some(Self::Table),
            "PartialObjectMetadata" if known => Some(Self::Metadata),
            "PartialObjectMetadataList" if known => Some(Self::MetadataList),
            _ => None,
        }
    }

    /// Refuses what the server cannot write.
    pub(crate) fn check(self) -> Result<(), Status> {
        if self == Self::None {
            return Err(Status::no_such_form(
                "only the following media types are accepted: application/json",
            ));
        }
        Ok(())
    }

    /// Refuses a form for lists where the answer is none, and the other way round.
    pub(crate) fn check_list(self, is_list: bool) -> Result<(), Status> {
        match (self, is_list) {
            (Self::Metadata, true) => Err(Status::no_such_form(
                "you requested PartialObjectMetadata, but the requested object is a list",
            )),
            (Self::MetadataList, false) => Err(Status::no_such_form(
                "you requested PartialObjectMetadataList, but the requested object is not a list",
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_form_that_can_be_served_is_taken() {
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        assert_eq!(Form::read(kubectl), Form::Table);
        assert_eq!(
            Form::read("application/vnd.kubernetes.protobuf, */*;q=0.5"),
            Form::Whole
        );
        assert_eq!(Form::read("application/vnd.kubernetes.protobuf"), Form::None);
        assert_eq!(
            Form::read("application/json;as=Table;v=v9;g=meta.k8s.io"),
            Form::None
        );
        assert_eq!(Form::read(""), Form::Whole);
    }

    proptest! {
        #[test]
        fn any_header_is_read(accept in ".*") {
            let _ = Form::read(&accept);
        }
    }
}
