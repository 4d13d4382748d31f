//! Which clusters a controller works in: `clusters(labels = "env=prod", names("eu-*"), except("eu-test"))`.

use super::{Argument, Arguments, Vocabulary, selector};
use crate::sink::{Sink, error};
use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::{LitStr, Token, parse::Parser, punctuated::Punctuated};

/// A selection of clusters.
pub(crate) struct Pick {
    pub(crate) labels: Option<LitStr>,
    pub(crate) names: Vec<LitStr>,
    pub(crate) properties: Vec<(String, String)>,
    pub(crate) except: Except,
}

/// What is left out of it.
#[derive(Default)]
pub(crate) struct Except {
    pub(crate) names: Vec<LitStr>,
    pub(crate) labels: Option<LitStr>,
}

const EXAMPLE: &str = "labels = \"env=prod\", names(\"eu-*\"), except(\"eu-test\")";

const PICK: Vocabulary = Vocabulary {
    known: &["labels", "names", "properties", "except"],
    repeatable: &[],
    refused: &[(
        "on",
        "`on` belongs to a kind: `clusters` selects among the clusters of the fleet, and the host is a place",
    )],
};

const EXCEPT: Vocabulary = Vocabulary {
    known: &["labels"],
    repeatable: &[],
    refused: &[(
        "names",
        "names stand in `except` as they are: `except(\"eu-test\", \"*-old\")`",
    )],
};

impl Pick {
    /// Reads the argument `clusters`.
    pub(crate) fn read(argument: &Argument) -> syn::Result<Self> {
        let list = argument.list(EXAMPLE)?;
        if let Some(TokenTree::Literal(literal)) = list.clone().into_iter().next() {
            let text = format!("names stand in `names`: `clusters(names({literal}))`");
            return Err(error(literal, text));
        }
        let mut sink = Sink::default();
        let list = Arguments::read(list.clone(), &PICK, &mut sink);
        let pick = Self {
            labels: list.one("labels", selector::labels, &mut sink),
            names: list.one("names", names, &mut sink).unwrap_or_default(),
            properties: list.one("properties", properties, &mut sink).unwrap_or_default(),
            except: list.one("except", Except::read, &mut sink).unwrap_or_default(),
        };
        pick.check(&mut sink);
        sink.finish(pick)
    }

    fn check(&self, sink: &mut Sink) {
        for excepted in &self.except.names {
            let name = excepted.value();
            if self.names.iter().any(|named| named.value() == name) {
                sink.at(
                    excepted,
                    format!("`{name}` stands in `names` too: leave it out of both"),
                );
            }
        }
    }
}

impl Except {
    /// Names stand in the list as they are, beside `labels = "..."`.
    fn read(argument: &Argument) -> syn::Result<Self> {
        let list = argument.list("\"eu-test\", labels = \"canary\"")?;
        let mut sink = Sink::default();
        let (literals, rest) = parted(list);
        let names = sink.take(checked(argument, &literals)).unwrap_or_default();
        let list = Arguments::read(rest, &EXCEPT, &mut sink);
        let labels = list.one("labels", selector::labels, &mut sink);
        sink.finish(Self { names, labels })
    }
}

/// The pieces of a list that begin with a literal, and the others.
fn parted(list: &TokenStream) -> (TokenStream, TokenStream) {
    let (mut literals, mut rest) = (TokenStream::new(), TokenStream::new());
    let trees: Vec<_> = list.clone().into_iter().collect();
    let is_comma = |tree: &TokenTree| matches!(tree, TokenTree::Punct(comma) if comma.as_char() == ',');
    for piece in trees.split(is_comma).filter(|piece| !piece.is_empty()) {
        let kind = match piece.first() {
            Some(TokenTree::Literal(_)) => &mut literals,
            _ => &mut rest,
        };
        let piece = piece.iter();
        kind.extend(quote!(#(#piece)* ,));
    }
    (literals, rest)
}

/// Reads `names("eu-*", "prod")`.
fn names(argument: &Argument) -> syn::Result<Vec<LitStr>> {
    checked(argument, argument.list("\"eu-*\", \"prod\"")?)
}

fn checked(argument: &Argument, list: &TokenStream) -> syn::Result<Vec<LitStr>> {
    let mut sink = Sink::default();
    let mut kept: Vec<LitStr> = Vec::new();
    for name in strings(argument, list, "\"eu-*\", \"prod\"")? {
        let text = name.value();
        if let Some(why) = fault(&text) {
            sink.at(
                &name,
                format!("`{}` names no cluster: {why}", text.escape_debug()),
            );
        } else if kept.iter().any(|earlier| earlier.value() == text) {
            sink.at(&name, format!("`{text}` is given twice"));
        } else {
            kept.push(name);
        }
    }
    sink.finish(kept)
}

/// Why no cluster can have such a name.
pub(crate) fn fault(name: &str) -> Option<&'static str> {
    match name {
        "" => Some("it is empty"),
        _ if name.len() > 253 => Some("it is longer than 253 bytes"),
        _ if name.chars().any(char::is_control) => Some("it has a control character"),
        _ => None,
    }
}

/// Reads `properties("region=eu")`.
fn properties(argument: &Argument) -> syn::Result<Vec<(String, String)>> {
    let example = "\"region=eu\"";
    let mut sink = Sink::default();
    let mut kept: Vec<(String, String)> = Vec::new();
    for property in strings(argument, argument.list(example)?, example)? {
        let text = property.value();
        match text.split_once('=') {
            None | Some(("", _)) => sink.at(
                &property,
                format!("`{text}` is not of the form `name=value`, such as {example}"),
            ),
            Some((name, _)) if kept.iter().any(|(earlier, _)| earlier == name) => {
                sink.at(&property, format!("the property `{name}` is given twice"));
            }
            Some((name, value)) => kept.push((name.to_owned(), value.to_owned())),
        }
    }
    sink.finish(kept)
}

fn strings(argument: &Argument, list: &TokenStream, example: &str) -> syn::Result<Vec<LitStr>> {
    let read = Punctuated::<LitStr, Token![,]>::parse_terminated.parse2(list.clone());
    let key = argument.name();
    read.map(|strings| strings.into_iter().collect())
        .map_err(|_| error(list, format!("`{key}` takes string literals: `{key}({example})`")))
}
