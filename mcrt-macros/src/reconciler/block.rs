//! An impl block whose bodies stay unparsed, so that a half-typed body does not take the macro down.

use super::roles::is_marker;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{ToTokens, TokenStreamExt};
use syn::{
    Attribute, Generics, ImplItem, Path, Result, Signature, Token, Type, Visibility,
    parse::{Parse, ParseStream, discouraged::Speculative},
    token,
};

/// An impl block, inherent or of a trait.
pub(crate) struct Block {
    attrs: Vec<Attribute>,
    impl_token: Token![impl],
    pub(crate) generics: Generics,
    pub(crate) of_trait: Option<Path>,
    pub(crate) self_ty: Type,
    brace: token::Brace,
    pub(crate) members: Vec<Member>,
}

/// One item of the block.
pub(crate) enum Member {
    Function(Box<Function>),
    Other(Box<ImplItem>),
    /// Tokens that are no item yet. The compiler says what is wrong with them.
    Unreadable(TokenStream),
}

/// A function with its body as tokens.
#[derive(Clone)]
pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    body: Group,
}

impl Parse for Block {
    fn parse(input: ParseStream) -> Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let impl_token = input.parse()?;
        let mut generics: Generics = if input.peek(Token![<]) {
            input.parse()?
        } else {
            Generics::default()
        };
        let first: Type = input.parse()?;
        let (of_trait, self_ty) = match (input.parse::<Option<Token![for]>>()?, first) {
            (Some(_), Type::Path(of)) => (Some(of.path), input.parse()?),
            (Some(of), _) => return Err(syn::Error::new_spanned(of, "expected a trait before `for`")),
            (None, first) => (None, first),
        };
        generics.where_clause = input.parse()?;
        let content;
        let brace = syn::braced!(content in input);
        let mut members = Vec::new();
        while !content.is_empty() {
            members.push(content.parse()?);
        }
        Ok(Self {
            attrs,
            impl_token,
            generics,
            of_trait,
            self_ty,
            brace,
            members,
        })
    }
}

impl Parse for Member {
    fn parse(input: ParseStream) -> Result<Self> {
        let fork = input.fork();
        if let Ok(function) = fork.parse::<Function>() {
            input.advance_to(&fork);
            return Ok(Self::Function(Box::new(function)));
        }
        let fork = input.fork();
        if let Ok(other) = fork.parse() {
            input.advance_to(&fork);
            return Ok(Self::Other(Box::new(other)));
        }
        unreadable(input).map(Self::Unreadable)
    }
}

impl Parse for Function {
    fn parse(input: ParseStream) -> Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let (vis, sig) = (input.parse()?, input.parse()?);
        if !input.peek(token::Brace) {
            return Err(input.error("expected a body"));
        }
        Ok(Self {
            attrs,
            vis,
            sig,
            body: input.parse()?,
        })
    }
}

/// Everything up to the end of what would be an item: a `;` or a body.
fn unreadable(input: ParseStream) -> Result<TokenStream> {
    let mut tokens = TokenStream::new();
    while !input.is_empty() {
        let tree: TokenTree = input.parse()?;
        let ends = match &tree {
            TokenTree::Punct(punct) => punct.as_char() == ';',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            _ => false,
        };
        tokens.extend([tree]);
        if ends {
            break;
        }
    }
    Ok(tokens)
}

impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.append_all(&self.attrs);
        self.vis.to_tokens(tokens);
        self.sig.to_tokens(tokens);
        self.body.to_tokens(tokens);
    }
}

impl ToTokens for Member {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Function(function) => function.to_tokens(tokens),
            Self::Other(other) => other.to_tokens(tokens),
            Self::Unreadable(unreadable) => tokens.extend(unmarked(unreadable.clone())),
        }
    }
}

impl ToTokens for Block {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.append_all(&self.attrs);
        self.impl_token.to_tokens(tokens);
        let (generics, _, clause) = self.generics.split_for_impl();
        generics.to_tokens(tokens);
        if let Some(of) = &self.of_trait {
            of.to_tokens(tokens);
            <Token![for]>::default().to_tokens(tokens);
        }
        self.self_ty.to_tokens(tokens);
        clause.to_tokens(tokens);
        self.brace
            .surround(tokens, |tokens| tokens.append_all(&self.members));
    }
}

/// An item that was put under the wrong attribute, its markers taken off: they would only add errors.
pub(crate) fn without_markers(item: TokenStream) -> TokenStream {
    let inside = |tree| match tree {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
            let mut inner = Group::new(Delimiter::Brace, unmarked(group.stream()));
            inner.set_span(group.span());
            TokenTree::Group(inner)
        }
        other => other,
    };
    item.into_iter().map(inside).collect()
}

/// The tokens without `#[marker]` and `#[marker(...)]`.
pub(super) fn unmarked(tokens: TokenStream) -> TokenStream {
    let mut kept: Vec<TokenTree> = Vec::new();
    for tree in tokens {
        let marks = matches!(kept.last(), Some(TokenTree::Punct(hash)) if hash.as_char() == '#')
            && names_marker(&tree);
        if marks {
            kept.pop();
        } else {
            kept.push(tree);
        }
    }
    kept.into_iter().collect()
}

/// Whether this is the bracket of an attribute that names a marker.
pub(super) fn names_marker(tree: &TokenTree) -> bool {
    let TokenTree::Group(group) = tree else {
        return false;
    };
    let last_word = group.stream().into_iter().filter_map(|tree| match tree {
        TokenTree::Ident(word) => Some(word),
        _ => None,
    });
    group.delimiter() == Delimiter::Bracket && last_word.last().is_some_and(|word| is_marker(&word))
}
