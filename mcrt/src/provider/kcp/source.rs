//! The object that names the addresses: the slice of an export, or a type of workspaces.
use super::{
    Of,
    listing::{News, listing},
};
use crate::apis::kcp::{APIExportEndpointSlice, VirtualWorkspace, WorkspaceType, condition};
use futures::{StreamExt, stream::BoxStream};
use kube::{Client, runtime::watcher};

/// What is known of the addresses.
pub(super) enum Addresses {
    /// These, and what the object says that is wrong with it.
    These(Vec<String>, Option<String>),
    /// There is no such object.
    NoObject,
    /// It cannot be read.
    Failed(Option<u16>, String),
}

impl Of {
    /// How the object is called in texts.
    pub(super) fn object(&self) -> String {
        match self {
            Self::Slice(name) => format!("APIExportEndpointSlice `{name}`"),
            Self::Initializer(_) => format!("WorkspaceType `{}`", self.name()),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Slice(name) => name,
            Self::Initializer(name) => name.rsplit(':').next().unwrap_or(name),
        }
    }

    /// What has to be allowed to whoever reads the object.
    pub(super) fn right(&self) -> &'static str {
        match self {
            Self::Slice(_) => "get, list and watch on apiexportendpointslices",
            Self::Initializer(_) => "get, list and watch on workspacetypes",
        }
    }

    /// What has to be allowed to whoever looks behind an address.
    pub(super) fn right_of_content(&self) -> &'static str {
        match self {
            Self::Slice(_) => {
                "list, watch and whatever the controllers do on apiexports/content of the export"
            }
            Self::Initializer(_) => "initialize on the workspacetype",
        }
    }

    /// Follows the addresses, for ever.
    pub(super) fn addresses(&self, client: Client) -> BoxStream<'static, Addresses> {
        let config = watcher::Config::default().fields(&format!("metadata.name={}", self.name()));
        match self {
            Self::Slice(_) => listing::<APIExportEndpointSlice>(client, config)
                .map(|news| Addresses::of(news, of_slice))
                .boxed(),
            Self::Initializer(_) => listing::<WorkspaceType>(client, config)
                .map(|news| Addresses::of(news, of_type))
                .boxed(),
        }
    }
}

impl Addresses {
    fn of<K>(news: News<K>, read: fn(K) -> Self) -> Self {
        match news {
            News::All(all) => all.into_iter().next().map_or(Self::NoObject, read),
            News::There(one) => read(one),
            News::Gone(_) => Self::NoObject,
            News::Failed(code, reason) => Self::Failed(code, reason),
        }
    }
}

fn of_slice(slice: APIExportEndpointSlice) -> Addresses {
    let status = slice.status.unwrap_or_default();
    let broken = ["APIExportValid", "PartitionValid"].iter().find_map(|type_| {
        let said = condition(&status.conditions, type_).filter(|said| said.status == "False")?;
        let why = said.message.as_deref().or(said.reason.as_deref());
        Some(format!(
            "condition {type_} is False: {}",
            why.unwrap_or("it does not say why")
        ))
    });
    let endpoints = status.endpoints.into_iter();
    Addresses::These(endpoints.map(|endpoint| endpoint.url).collect(), broken)
}

fn of_type(kind: WorkspaceType) -> Addresses {
    let status = kind.status.unwrap_or_default();
    let all = status.virtual_workspaces.into_iter();
    let initializing = all.filter(VirtualWorkspace::is_initializing);
    let broken = (!kind.spec.initializer)
        .then(|| "spec.initializer is not set: nobody waits for it when a workspace is made".to_owned());
    Addresses::These(initializing.map(|one| one.url).collect(), broken)
}
