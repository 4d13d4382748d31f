//! A controller whose declarations fit together: all that the generated code is made from.

use super::{Subject, args::Args};
use crate::{
    names::{kebab, type_text},
    parse::{Backoff, KindDecl, Pick, Place, Predicate, Watch, is_controller_name},
    sink::Sink,
};
use proc_macro2::{Ident, TokenStream};
use std::time::Duration;
use syn::{Expr, Lit, LitStr, Path, Type, parse_quote};

/// A checked controller.
pub(crate) struct Model {
    pub(crate) krate: Path,
    pub(crate) name: String,
    pub(crate) primary: Declaration,
    pub(crate) owned: Vec<Declaration>,
    pub(crate) watched: Vec<Declaration>,
    pub(crate) used: Vec<Use>,
    pub(crate) provider: Option<Expr>,
    pub(crate) clusters: Option<Pick>,
    pub(crate) settings: Settings,
}

/// A kind that is watched.
pub(crate) struct Declaration {
    pub(crate) ty: Type,
    pub(crate) place: Place,
    pub(crate) form: Form,
    pub(crate) labels: Option<LitStr>,
    pub(crate) fields: Option<LitStr>,
    pub(crate) namespaces: Vec<LitStr>,
    pub(crate) predicate: Option<Predicate>,
    pub(crate) optional: bool,
}

/// A kind that is not watched, only called for.
pub(crate) struct Use {
    pub(crate) ty: Type,
    pub(crate) place: Place,
    pub(crate) verbs: Vec<Ident>,
}

/// What of an object is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Full,
    Metadata,
}

/// Numbers and names that the runtime has defaults for.
pub(crate) struct Settings {
    pub(crate) concurrency: Option<u32>,
    pub(crate) per_cluster: Option<u32>,
    pub(crate) resync: Option<Duration>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) field_manager: Option<LitStr>,
    pub(crate) error_policy: Option<(Backoff, TokenStream)>,
}

impl Model {
    /// Checks the rules that need more than one argument.
    pub(crate) fn check(subject: &Subject, args: Args, sink: &mut Sink) -> Option<Self> {
        let name = args
            .name
            .map_or_else(|| default_name(&subject.ident, sink), |name| name.value());
        check_cap(args.concurrency, args.per_cluster.as_ref(), sink);
        let primary = Declaration::new(args.primary?, Place::Fleet, Form::Full);
        let owned = args
            .owned
            .into_iter()
            .map(|decl| Declaration::new(decl, primary.place, Form::Metadata));
        let watched = args
            .watched
            .into_iter()
            .map(|decl| Declaration::new(decl, Place::Fleet, Form::Full));
        let model = Self {
            krate: args.krate.unwrap_or_else(|| parse_quote!(::mcrt)),
            name,
            owned: owned.collect(),
            watched: watched.collect(),
            used: args.used.into_iter().map(Use::new).collect(),
            provider: args.provider,
            clusters: args.clusters,
            settings: Settings {
                concurrency: args.concurrency,
                per_cluster: args.per_cluster.map(|(count, _)| count),
                resync: args.resync,
                timeout: args.timeout,
                field_manager: args.field_manager,
                error_policy: args.error_policy,
            },
            primary,
        };
        model.check_ownership(sink);
        model.check_repeated(sink);
        model.check_repeated_uses(sink);
        Some(model)
    }

    /// `for`, `owns`, `watches`, in this order, each with its word.
    pub(crate) fn declarations(&self) -> impl Iterator<Item = (&'static str, &Declaration)> {
        let owned = self.owned.iter().map(|owned| ("owns", owned));
        let watched = self.watched.iter().map(|watched| ("watches", watched));
        [("for", &self.primary)].into_iter().chain(owned).chain(watched)
    }

    fn check_ownership(&self, sink: &mut Sink) {
        for owned in self
            .owned
            .iter()
            .filter(|owned| owned.place != self.primary.place)
        {
            let (kind, on, home) = (
                type_text(&owned.ty),
                owned.place.word(),
                self.primary.place.word(),
            );
            let text = if owned.place.overlaps(self.primary.place) {
                format!("`owns` is where `for` is, on `{home}`: leave `on = {on}` out")
            } else {
                format!(
                    "`owns` on `{on}` cannot work when `for` is on `{home}`: owner references do not cross clusters; write `watches({kind}, on = {on})` and a `#[map]` function"
                )
            };
            sink.at(&owned.ty, text);
        }
    }

    fn check_repeated(&self, sink: &mut Sink) {
        let mut seen: Vec<(&str, &Declaration, String)> = Vec::new();
        for (word, decl) in self.declarations() {
            let kind = type_text(&decl.ty);
            let same_kind = || seen.iter().filter(|(_, _, text)| *text == kind);
            if let Some((first, ..)) = same_kind().find(|(_, first, _)| first.place.overlaps(decl.place)) {
                let text = format!(
                    "`{kind}` is already declared by `{first}`: a second declaration needs a name, and `as = ...` is not available yet"
                );
                sink.at(&decl.ty, text);
            } else if let Some((_, first, _)) =
                same_kind().find(|(first, ..)| *first == "watches" && word == "watches")
            {
                let text = format!(
                    "`{kind}` is already watched on `{}`: two watches of one kind need names, and `as = ...` is not available yet; write one `watches({kind}, on = all)`",
                    first.place.word()
                );
                sink.at(&decl.ty, text);
            }
            seen.push((word, decl, kind));
        }
    }

    fn check_repeated_uses(&self, sink: &mut Sink) {
        for (at, used) in self.used.iter().enumerate() {
            let kind = type_text(&used.ty);
            let same = |earlier: &&Use| type_text(&earlier.ty) == kind && earlier.place.overlaps(used.place);
            if self.used.iter().take(at).any(|earlier| same(&earlier)) {
                sink.at(
                    &used.ty,
                    format!("`{kind}` is already declared by `uses`: write one with all its verbs"),
                );
            }
        }
    }
}

impl Declaration {
    fn new(decl: KindDecl<Watch>, place: Place, form: Form) -> Self {
        let Watch {
            labels,
            fields,
            namespaces,
            predicate,
            metadata_only,
            full,
            optional,
        } = decl.options;
        let form = match (metadata_only, full) {
            (true, _) => Form::Metadata,
            (_, true) => Form::Full,
            _ => form,
        };
        Self {
            ty: decl.ty,
            place: decl.on.unwrap_or(place),
            form,
            labels,
            fields,
            namespaces,
            predicate,
            optional,
        }
    }
}

impl Use {
    fn new(decl: KindDecl<Vec<Ident>>) -> Self {
        Self {
            ty: decl.ty,
            place: decl.on.unwrap_or(Place::Fleet),
            verbs: decl.options,
        }
    }
}

fn default_name(ident: &Ident, sink: &mut Sink) -> String {
    let name = kebab(ident);
    if !is_controller_name(&name) {
        sink.at(
            ident,
            format!("`{name}` is not a controller name: choose one with `name = \"...\"`"),
        );
    }
    name
}

fn check_cap(concurrency: Option<u32>, per_cluster: Option<&(u32, Lit)>, sink: &mut Sink) {
    if let (Some(all), Some((one, literal))) = (concurrency, per_cluster)
        && *one > all
    {
        sink.at(
            literal,
            format!("`per_cluster` is larger than `concurrency`, which is {all}"),
        );
    }
}
