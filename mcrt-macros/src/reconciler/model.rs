//! A checked block: all that the generated code is made from.

use super::{
    block::{Block, Function, Member},
    roles::{Marked, Role},
};
use crate::{names::constant, sink::Sink};
use proc_macro2::{Ident, Span};
use syn::{
    FnArg, GenericArgument, GenericParam, PathArguments, Receiver, ReceiverKind, ReturnType, Signature, Type,
    Visibility, spanned::Spanned,
};

/// A checked block.
pub(crate) struct Model {
    pub(crate) reconcile: Handler,
    pub(crate) gone: Option<Handler>,
    pub(crate) error_policy: Option<Handler>,
    pub(crate) maps: Vec<Handler>,
    pub(crate) indexes: Vec<Index>,
}

/// A function that takes an object and a context.
pub(crate) struct Handler {
    pub(crate) name: Ident,
    /// `K` of `Arc<K>` or `&K`.
    pub(crate) object: Type,
    /// Where the types of the parameters after `&self` stand: mismatches are reported there.
    pub(crate) spans: Vec<Span>,
    pub(crate) output: Type,
}

/// A function that computes keys.
pub(crate) struct Index {
    pub(crate) name: Ident,
    pub(crate) vis: Visibility,
    pub(crate) constant: Ident,
    pub(crate) object: Type,
    pub(crate) output: Type,
}

impl Model {
    pub(crate) fn check(block: &Block, marked: Vec<Marked>, sink: &mut Sink) -> Option<Self> {
        check_count(block, &marked, sink);
        let (mut handlers, mut indexes) = (Vec::new(), Vec::new());
        for Marked { role, function, .. } in marked.into_iter().filter(|marked| marked.sure) {
            check_signature(role, &function, sink);
            match role {
                Role::Index => indexes.extend(Index::read(&function)),
                role => handlers.extend(Handler::read(role, &function).map(|handler| (role, handler))),
            }
        }
        let mut take = |wanted| {
            handlers
                .extract_if(.., |(role, _)| *role == wanted)
                .map(|(_, handler)| handler)
                .collect()
        };
        let (reconcile, gone, policy, maps): (Vec<_>, Vec<_>, Vec<_>, _) = (
            take(Role::Reconcile),
            take(Role::Gone),
            take(Role::ErrorPolicy),
            take(Role::Map),
        );
        Some(Self {
            reconcile: reconcile.into_iter().next()?,
            gone: gone.into_iter().next(),
            error_policy: policy.into_iter().next(),
            maps,
            indexes,
        })
    }
}

impl Handler {
    /// `None` where the signature has another shape, which `check_signature` has reported.
    pub(crate) fn read(role: Role, function: &Function) -> Option<Self> {
        let sig = &function.sig;
        let object = argument(sig, 1)?;
        let object = match role {
            Role::Map => referenced(object)?,
            _ => inner(object, &["Arc"])?,
        };
        let output = match &sig.output {
            ReturnType::Type(_, output) => (**output).clone(),
            ReturnType::Default => return None,
        };
        let spans = (1..sig.inputs.len())
            .filter_map(|at| argument(sig, at))
            .map(Spanned::span)
            .collect();
        Some(Self {
            name: sig.ident.clone(),
            object: object.clone(),
            spans,
            output,
        })
    }
}

impl Index {
    pub(crate) fn read(function: &Function) -> Option<Self> {
        let sig = &function.sig;
        let object = referenced(argument(sig, 0)?)?.clone();
        let ReturnType::Type(_, output) = &sig.output else {
            return None;
        };
        let output = (**output).clone();
        let constant = constant(&sig.ident);
        Some(Self {
            name: sig.ident.clone(),
            vis: function.vis.clone(),
            constant,
            object,
            output,
        })
    }

    /// The key as written in `Option<Key>` or `Vec<Key>`.
    pub(crate) fn key(&self) -> Option<&Type> {
        inner(&self.output, &["Option", "Vec"])
    }
}

fn check_count(block: &Block, marked: &[Marked], sink: &mut Sink) {
    for role in [Role::Reconcile, Role::Gone, Role::ErrorPolicy] {
        for second in marked.iter().filter(|marked| marked.role == role).skip(1) {
            let text = format!("a second `#[{}]` function: a controller has one", role.word());
            sink.at(&second.function.sig.ident, text);
        }
    }
    // With another error about, the missing marker may be the one that was misread.
    if !sink.is_empty() || marked.iter().any(|marked| marked.role == Role::Reconcile) {
        return;
    }
    let named = block.members.iter().find_map(|member| match member {
        Member::Function(function) if function.sig.ident == "reconcile" => Some(&function.sig.ident),
        _ => None,
    });
    match named {
        Some(name) => sink.at(
            name,
            "this function is not marked `#[reconcile]`, and no other one is",
        ),
        None => sink.at(
            &block.self_ty,
            "a `#[reconciler]` block needs one function marked `#[reconcile]`",
        ),
    }
}

fn check_signature(role: Role, function: &Function, sink: &mut Sink) {
    let (sig, word) = (&function.sig, role.word());
    if let Some(cfg) = function.attrs.iter().find(|attr| attr.path().is_ident("cfg")) {
        sink.at(
            cfg,
            format!("a `#[{word}]` function cannot depend on `cfg`: put the condition into its body"),
        );
    }
    let types = |parameter: &&GenericParam| !matches!(parameter, GenericParam::Lifetime(_));
    if let Some(parameter) = sig.generics.params.iter().find(types) {
        sink.at(
            parameter,
            format!("`#[{word}]` has no type parameters: nothing would choose them"),
        );
    }
    match (role, &sig.asyncness) {
        (Role::Reconcile | Role::Gone, None) => {
            sink.at(sig.fn_token, format!("`#[{word}]` goes on an `async fn`"));
        }
        (Role::Map, Some(token)) => {
            sink.at(token, "`#[map]` is not async: it runs on every event of a watch");
        }
        (Role::Index, Some(token)) => sink.at(
            token,
            "`#[index]` is not async: it runs on every event of a watch",
        ),
        (Role::ErrorPolicy, Some(token)) => {
            sink.at(
                token,
                "`#[error_policy]` is not async: it only decides when to try again",
            );
        }
        _ => {}
    }
    match role {
        Role::Index => check_index_parameters(sig, sink),
        role => check_parameters(role, sig, sink),
    }
    check_output(role, sig, sink);
}

fn check_parameters(role: Role, sig: &Signature, sink: &mut Sink) {
    let word = role.word();
    let count = if role == Role::ErrorPolicy { 4 } else { 3 };
    let receiver = sig.receiver();
    if let Some(receiver) = receiver.filter(|receiver| !is_shared(receiver)) {
        let text = format!(
            "`#[{word}]` takes `&self`: one controller value serves all clusters at once; keep what changes behind a lock"
        );
        sink.at(receiver, text);
    } else if receiver.is_none() || sig.inputs.len() != count {
        let text = format!("`#[{word}]` has these parameters: `{}`", role.parameters());
        // An empty list has no tokens to underline.
        if sig.inputs.is_empty() {
            sink.at(&sig.ident, text);
        } else {
            sink.at(&sig.inputs, text);
        }
    } else if let Some(object) = argument(sig, 1) {
        match role {
            Role::Map if referenced(object).is_none() => {
                sink.at(object, "`#[map]` takes the object as `&Kind`");
            }
            Role::Map => {}
            _ if inner(object, &["Arc"]).is_none() => {
                sink.at(object, format!("`#[{word}]` takes the object as `Arc<Kind>`"));
            }
            _ => {}
        }
    }
}

fn check_index_parameters(sig: &Signature, sink: &mut Sink) {
    if let Some(receiver) = sig.receiver() {
        sink.at(
            receiver,
            "`#[index]` takes only the object: keys that depend on anything else go stale",
        );
    } else if sig.inputs.is_empty() {
        sink.at(&sig.ident, "`#[index]` takes the object as `&Kind`");
    } else if sig.inputs.len() > 1 {
        let others = sig.inputs.iter().skip(1);
        sink.at(
            quote::quote!(#(#others),*),
            "`#[index]` takes only the object: keys that depend on anything else go stale",
        );
    } else if let Some(object) = argument(sig, 0).filter(|object| referenced(object).is_none()) {
        sink.at(object, "`#[index]` takes the object as `&Kind`");
    }
}

fn check_output(role: Role, sig: &Signature, sink: &mut Sink) {
    let (form, named) = match role {
        Role::Reconcile => ("`Result<Action, E>`", "`Result<Action, E>`"),
        Role::Gone => ("`Result<(), E>`", "`Result<(), E>`"),
        Role::Map => (
            "`Vec` or `Option` of `Request<Kind>` or `ObjectRef<Kind>`",
            "`Vec<Request<Kind>>`",
        ),
        Role::Index => ("`Option<Key>` or `Vec<Key>`", "`Option<Key>` or `Vec<Key>`"),
        Role::ErrorPolicy => ("`Action`", "`Action`"),
    };
    let word = role.word();
    match &sig.output {
        ReturnType::Default => sink.at(&sig.ident, format!("`#[{word}]` returns {form}")),
        ReturnType::Type(_, output) => {
            if let Type::ImplTrait(output) = &**output {
                sink.at(output, format!("`#[{word}]` names its return type: {named}"));
            }
        }
    }
}

fn is_shared(receiver: &Receiver) -> bool {
    matches!(receiver.kind, ReceiverKind::Reference(_, _, None))
}

fn argument(sig: &Signature, at: usize) -> Option<&Type> {
    match sig.inputs.iter().nth(at)? {
        FnArg::Typed(argument) => Some(&argument.ty),
        FnArg::Receiver(_) => None,
    }
}

/// `K` of `&K`.
fn referenced(ty: &Type) -> Option<&Type> {
    match ty {
        Type::Reference(reference) if reference.mutability.is_none() => Some(&reference.elem),
        _ => None,
    }
}

/// `K` of `Name<K>`, for one of the names.
fn inner<'a>(ty: &'a Type, names: &[&str]) -> Option<&'a Type> {
    let Type::Path(path) = ty else { return None };
    let last = path
        .path
        .segments
        .last()
        .filter(|last| names.iter().any(|name| last.ident == name))?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    match arguments.args.first()? {
        GenericArgument::Type(ty) if arguments.args.len() == 1 => Some(ty),
        _ => None,
    }
}
