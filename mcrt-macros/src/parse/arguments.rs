//! A list of arguments: words, `key = value` and `key(...)`, separated by commas.

use crate::{
    names::nearest,
    sink::{Sink, error},
};
use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Expr, Token, Type,
    ext::IdentExt,
    parse::{Parse, ParseStream, Parser},
    token,
};

/// One argument, its value not yet looked at.
pub(crate) struct Argument {
    pub(crate) key: Ident,
    pub(crate) value: Value,
    whole: TokenStream,
}

/// What follows the name of an argument.
pub(crate) enum Value {
    Word,
    Equals(TokenStream),
    List(TokenStream),
}

/// The arguments that a list may have.
pub(crate) struct Vocabulary {
    pub(crate) known: &'static [&'static str],
    pub(crate) repeatable: &'static [&'static str],
    /// Arguments that exist elsewhere or not yet, each with what to do instead.
    pub(crate) refused: &'static [(&'static str, &'static str)],
}

/// A list in which every argument is known and none is repeated that must not be.
pub(crate) struct Arguments {
    list: Vec<Argument>,
    rejected: Vec<Argument>,
}

impl Arguments {
    /// Reads a list and reports what does not belong to it.
    pub(crate) fn read(tokens: TokenStream, vocabulary: &Vocabulary, sink: &mut Sink) -> Self {
        let (mut list, mut rejected): (Vec<Argument>, Vec<Argument>) = Default::default();
        for argument in split(tokens, sink) {
            let key = argument.name();
            let repeated = list.iter().any(|earlier| earlier.name() == key);
            if let Some((_, text)) = vocabulary.refused.iter().find(|(word, _)| *word == key) {
                sink.at(&argument.key, text);
            } else if !vocabulary.known.contains(&key.as_str()) {
                sink.at(&argument.key, unknown(&key, vocabulary));
            } else if repeated && !vocabulary.repeatable.contains(&key.as_str()) {
                sink.at(&argument.key, format!("`{key}` is given twice"));
            } else {
                list.push(argument);
                continue;
            }
            rejected.push(argument);
        }
        Self { list, rejected }
    }

    /// Every argument that names a kind, rejected ones too.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &Argument> {
        self.list
            .iter()
            .chain(&self.rejected)
            .filter(|argument| is_kind_word(&argument.key))
    }

    pub(crate) fn find(&self, key: &str) -> Option<&Argument> {
        self.list.iter().find(|argument| argument.key == key)
    }

    /// The value of an argument that may be given once.
    pub(crate) fn one<T>(
        &self,
        key: &str,
        read: fn(&Argument) -> syn::Result<T>,
        sink: &mut Sink,
    ) -> Option<T> {
        self.find(key).and_then(|argument| sink.take(read(argument)))
    }

    /// The values of an argument that may be repeated.
    pub(crate) fn many<T>(
        &self,
        key: &str,
        read: fn(&Argument) -> syn::Result<T>,
        sink: &mut Sink,
    ) -> Vec<T> {
        let of_key = self.list.iter().filter(|argument| argument.key == key);
        of_key.filter_map(|argument| sink.take(read(argument))).collect()
    }

    /// Whether a word such as `full` is there.
    pub(crate) fn word(&self, key: &str, sink: &mut Sink) -> Option<&Argument> {
        let argument = self.find(key)?;
        if !matches!(argument.value, Value::Word) {
            sink.at(argument, format!("`{key}` stands alone: it takes no value"));
        }
        Some(argument)
    }
}

impl Argument {
    pub(crate) fn name(&self) -> String {
        self.key.unraw().to_string()
    }

    fn parse(input: ParseStream) -> syn::Result<Self> {
        if !input.peek(Ident::peek_any) {
            return Err(input.error("expected the name of an argument, such as `for` or `owns`"));
        }
        let key = Ident::parse_any(input)?;
        let mut whole = key.to_token_stream();
        let value = if input.peek(Token![=]) {
            let equals: Token![=] = input.parse()?;
            let value = value_tokens(&key, input)?;
            whole.extend(quote!(#equals #value));
            Value::Equals(value)
        } else if input.peek(token::Paren) {
            let list: Group = input.parse()?;
            whole.extend([TokenTree::Group(list.clone())]);
            Value::List(list.stream())
        } else {
            Value::Word
        };
        Ok(Self { key, value, whole })
    }
}

impl ToTokens for Argument {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.whole.to_tokens(tokens);
    }
}

/// Splits a list; a piece that cannot be read is reported and skipped.
fn split(tokens: TokenStream, sink: &mut Sink) -> Vec<Argument> {
    let mut list = Vec::new();
    let parse = |input: ParseStream| {
        while !input.is_empty() {
            if let Some(argument) = sink.take(Argument::parse(input)) {
                if !input.is_empty() && !input.peek(Token![,]) {
                    sink.push(input.error("expected `,` before this"));
                }
                list.push(argument);
            }
            until_comma(input)?;
            input.parse::<Option<Token![,]>>()?;
        }
        Ok(())
    };
    let parsed = parse.parse2(tokens);
    sink.take(parsed);
    list
}

/// The tokens after `=`: a type where a kind is expected, which may have commas of its own, else an expression.
fn value_tokens(key: &Ident, input: ParseStream) -> syn::Result<TokenStream> {
    let rest: TokenStream = input.fork().parse()?;
    let value = if is_kind_word(key) {
        prefix::<Type>(rest)
    } else {
        prefix::<Expr>(rest)
    };
    let Some(length) = value else {
        // The leaf says what it expected; here only the border matters.
        return until_comma(input);
    };
    (0..length).map(|_| input.parse::<TokenTree>()).collect()
}

fn is_kind_word(key: &Ident) -> bool {
    ["for", "owns", "watches", "uses"].iter().any(|word| key == word)
}

/// How many tokens the `T` is long that `tokens` begins with. Parsed apart: a failed attempt inside brackets
/// would leave an error behind in the stream it forked from.
fn prefix<T: Parse>(tokens: TokenStream) -> Option<usize> {
    let all = tokens.clone().into_iter().count();
    let tail = |input: ParseStream| {
        input.parse::<T>()?;
        input.parse::<TokenStream>()
    };
    tail.parse2(tokens)
        .ok()
        .map(|tail| all - tail.into_iter().count())
}

fn until_comma(input: ParseStream) -> syn::Result<TokenStream> {
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        tokens.extend([input.parse::<TokenTree>()?]);
    }
    Ok(tokens)
}

fn unknown(key: &str, vocabulary: &Vocabulary) -> String {
    match nearest(key, vocabulary.known.iter().copied()) {
        Some(near) => format!("unknown argument `{key}`; did you mean `{near}`?"),
        None => format!(
            "unknown argument `{key}`; expected one of `{}`",
            vocabulary.known.join("`, `")
        ),
    }
}

impl Argument {
    /// The value after `=`, or how to write one.
    pub(crate) fn equals(&self, example: &str) -> syn::Result<&TokenStream> {
        let key = self.name();
        match &self.value {
            Value::Equals(value) if !value.is_empty() => Ok(value),
            Value::Equals(_) | Value::Word => {
                Err(error(self, format!("`{key}` needs a value: `{key} = {example}`")))
            }
            Value::List(_) => Err(error(
                self,
                format!("`{key}` takes one value: `{key} = {example}`"),
            )),
        }
    }

    /// The tokens between parentheses, or how to write them.
    pub(crate) fn list(&self, example: &str) -> syn::Result<&TokenStream> {
        let key = self.name();
        match &self.value {
            Value::List(list) if !list.is_empty() => Ok(list),
            _ => Err(error(self, format!("`{key}` takes a list: `{key}({example})`"))),
        }
    }
}
