//! What `--provider` asks for.
use crate::{
    StartError,
    provider::{
        Provider,
        providers::{Merge, Prefix},
    },
};
use std::{fmt, sync::Arc};

/// `NAME` or `NAME=PREFIX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked<'a> {
    pub(super) name: &'a str,
    prefix: Option<&'a str>,
}

impl<'a> Asked<'a> {
    /// Each of what is available at most once: the flags of a provider are there once.
    pub(super) fn parse(asked: &'a [String], available: &[&str]) -> Result<Vec<Self>, StartError> {
        let mut all: Vec<Self> = Vec::with_capacity(asked.len());
        for one in asked {
            let one = Self::one(one);
            if !available.contains(&one.name) {
                return Err(StartError::UnknownProvider {
                    name: one.name.to_owned(),
                    available: listed(available),
                });
            }
            if all.iter().any(|earlier| earlier.name == one.name) {
                return Err(StartError::RepeatedProvider {
                    name: one.name.to_owned(),
                });
            }
            all.push(one);
        }
        Ok(all)
    }

    fn one(asked: &'a str) -> Self {
        match asked.split_once('=') {
            Some((name, prefix)) => Self {
                name,
                prefix: Some(prefix).filter(|prefix| !prefix.is_empty()),
            },
            None => Self {
                name: asked,
                prefix: None,
            },
        }
    }

    /// The provider, under its prefix if there is one.
    pub(super) fn provider(&self, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        match self.prefix {
            Some(prefix) => Arc::new(Prefix::new(prefix, provider)),
            None => provider,
        }
    }
}

impl fmt::Display for Asked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.name)?;
        self.prefix
            .map_or(Ok(()), |prefix| write!(f, " (as `{prefix}...`)"))
    }
}

/// Those that were asked for as one; one alone is itself.
pub(super) fn merged(asked: &[Asked<'_>], mut made: Vec<Arc<dyn Provider>>) -> Arc<dyn Provider> {
    if made.len() == 1
        && let Some(one) = made.pop()
    {
        return one;
    }
    let names: Vec<_> = asked.iter().map(|asked| asked.name).collect();
    let sources = asked.iter().zip(made);
    let merge = sources.fold(
        Merge::new().called(names.join(",")),
        |merge, (asked, provider)| merge.with(asked.name, provider),
    );
    Arc::new(merge)
}

/// For errors.
pub(super) fn listed(names: &[&str]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> (&str, Option<&str>) {
        let asked = Asked::one(text);
        (asked.name, asked.prefix)
    }

    #[test]
    fn what_follows_the_first_equals_sign_is_the_prefix() {
        assert_eq!(one("kind"), ("kind", None));
        assert_eq!(one("kind=dev/"), ("kind", Some("dev/")));
        assert_eq!(one("kind=a=b"), ("kind", Some("a=b")));
        assert_eq!(one("kind="), ("kind", None));
    }
}
