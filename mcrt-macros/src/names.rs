//! Names made from names: of controllers, request types, index constants; and the nearest known word.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident};
use syn::{Type, ext::IdentExt};

/// `TeamTokens` as `team-tokens`, `HTTPRoutes` as `http-routes`.
pub(crate) fn kebab(ident: &Ident) -> String {
    let letters: Vec<char> = ident.unraw().to_string().chars().collect();
    let mut name = String::new();
    for (at, letter) in letters.iter().enumerate() {
        if *letter == '_' {
            name.push('-');
            continue;
        }
        let before = at.checked_sub(1).and_then(|before| letters.get(before));
        let after = letters.get(at + 1);
        let starts_word = letter.is_uppercase()
            && before.is_some_and(|b| {
                b.is_lowercase()
                    || b.is_ascii_digit()
                    || (b.is_uppercase() && after.is_some_and(|a| a.is_lowercase()))
            });
        if starts_word {
            name.push('-');
        }
        name.extend(letter.to_lowercase());
    }
    name.trim_matches('-').to_owned()
}

/// `TeamTokens` as `TeamTokensRequest`.
pub(crate) fn request_alias(ident: &Ident) -> Ident {
    format_ident!("{}Request", ident.unraw(), span = ident.span())
}

/// `by_team` as `BY_TEAM`.
pub(crate) fn constant(ident: &Ident) -> Ident {
    Ident::new(&ident.unraw().to_string().to_uppercase(), ident.span())
}

/// A type as a user would write it: `v1::Secret`, `Cell<u8>`.
pub(crate) fn type_text(ty: &Type) -> String {
    ty.to_token_stream().to_string().replace(' ', "")
}

/// The tokens with `Self` written out, for code that stands outside the impl block.
pub(crate) fn without_self(tokens: impl ToTokens, self_ty: &Type) -> TokenStream {
    let replace = |tree| match tree {
        TokenTree::Ident(ident) if ident == "Self" => self_ty.to_token_stream(),
        TokenTree::Group(group) => {
            let mut inner = Group::new(group.delimiter(), without_self(group.stream(), self_ty));
            inner.set_span(group.span());
            TokenTree::Group(inner).into()
        }
        other => other.into(),
    };
    tokens.to_token_stream().into_iter().flat_map(replace).collect()
}

/// The tokens with the span of what they are about, so that the compiler underlines that.
pub(crate) fn at(span: Span, tokens: impl ToTokens) -> TokenStream {
    let respan = |mut tree: TokenTree| {
        if let TokenTree::Group(group) = &tree {
            tree = Group::new(group.delimiter(), at(span, group.stream())).into();
        }
        tree.set_span(span);
        tree
    };
    tokens.to_token_stream().into_iter().map(respan).collect()
}

/// The known word that `word` was most likely meant to be.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = |known: &'a str| (distance(word, known), known);
    let (distance, nearest) = known.into_iter().map(near).min()?;
    // Two slips in a long word, one in a short one: more is another word.
    (distance <= 1 + usize::from(word.len() > 4)).then_some(nearest)
}

/// Levenshtein distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
