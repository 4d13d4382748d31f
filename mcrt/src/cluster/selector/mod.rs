//! Which clusters of a fleet are meant: by their names, their labels and their properties.
mod labels;
mod names;
#[cfg(test)]
mod tests;

use super::{ClusterName, Properties, PropertyOrigin};
use labels::Requirement;
use names::Pattern;
use std::{collections::BTreeSet, fmt};

/// Selects clusters of a fleet by what the host side says of them.
///
/// Every part that is given must hold; what any part of `except` says is left out, whatever else holds. Nothing given
/// selects every cluster. The host is no matter of selection: it is a [`Place`](crate::Place).
///
/// ```
/// use mcrt::{ClusterName, ClusterSelector, Properties};
///
/// let selector = ClusterSelector::new()
///     .labels("env=prod,tier in (gold, silver)")
///     .names(["eu-*", "prod"])
///     .except(["eu-test"]);
/// selector.check()?;
///
/// let mut properties = Properties::default();
/// properties.labels.extend([("env".into(), "prod".into()), ("tier".into(), "gold".into())]);
/// let selects = |name| selector.selects(&ClusterName::new(name).unwrap(), &properties);
/// assert!(selects("eu-1") && !selects("eu-test") && !selects("us-1"));
/// # Ok::<(), mcrt::InvalidSelector>(())
/// ```
///
/// What cannot be read is kept as a fault, which [`check`](Self::check) gives and which whatever takes a selector
/// refuses; meanwhile it selects nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterSelector {
    labels: Vec<Requirement>,
    names: Vec<Pattern>,
    properties: Vec<(String, String)>,
    except: Vec<Pattern>,
    /// Each its own: a cluster that one of them selects is left out.
    except_labels: Vec<Vec<Requirement>>,
    fault: Option<InvalidSelector>,
}

/// A selector of clusters that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidSelector {
    /// The label selector is none.
    #[error("invalid label selector `{selector}`: {why}")]
    Labels {
        /// The selector.
        selector: String,
        /// What is wrong with it.
        why: String,
    },
    /// A list of names names nothing, which would select no cluster at all.
    #[error("no name is given: leave the names out to select every name")]
    NoNames,
    /// No cluster can have such a name.
    #[error("`{pattern}` names no cluster: {why}")]
    Name {
        /// The name or pattern.
        pattern: String,
        /// Why not.
        why: &'static str,
    },
    /// The same name stands twice in one list.
    #[error("`{0}` is given twice: leave one out")]
    Twice(String),
    /// The property has no name.
    #[error("a property has no name: write `name=value`")]
    Property,
}

impl ClusterSelector {
    /// Selects every cluster.
    pub fn new() -> Self {
        Self::default()
    }

    /// Selects by the labels that the provider gives a cluster, in the syntax of Kubernetes: `env=prod`, `env!=test`,
    /// `tier in (a, b)`, `tier notin (a)`, `gpu`, `!gpu`, `cores>8`, all of them where commas separate several.
    /// Called again, both must hold.
    #[must_use]
    pub fn labels(mut self, selector: impl AsRef<str>) -> Self {
        if let Some(requirements) = self.read(labels::read(selector.as_ref())) {
            self.labels.extend(requirements);
        }
        self
    }

    /// Selects by name: a cluster that has one of these names. `*` stands for any text, also for none.
    #[must_use]
    pub fn names<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        let read = names::read(names, &self.names);
        let names = self.read(read);
        self.names.extend(names.unwrap_or_default());
        self
    }

    /// Selects by a property that the host side gives the cluster, with exactly this value. What a cluster says of
    /// itself counts only where the operator [trusts](crate::SelfReported::trust) that name.
    #[must_use]
    pub fn property(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let (name, value) = (name.into(), value.into());
        if name.is_empty() {
            self.faulty(InvalidSelector::Property);
        }
        self.properties.push((name, value));
        self
    }

    /// Leaves out the clusters that have one of these names; `*` stands for any text.
    #[must_use]
    pub fn except<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        let read = names::read(names, &self.except);
        let names = self.read(read);
        self.except.extend(names.unwrap_or_default());
        self
    }

    /// Leaves out the clusters whose labels this selects. Called again, either leaves out.
    #[must_use]
    pub fn except_labels(mut self, selector: impl AsRef<str>) -> Self {
        let requirements = self.read(labels::read(selector.as_ref()));
        self.except_labels.extend(requirements);
        self
    }

    /// Whether it can be read.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn check(&self) -> Result<(), InvalidSelector> {
        self.fault.clone().map_or(Ok(()), Err)
    }

    /// Whether it selects every cluster, whatever is known of it.
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it selects a cluster of that name of which the host side says this. What the cluster says of itself
    /// does not count.
    pub fn selects(&self, name: &ClusterName, properties: &Properties) -> bool {
        self.selects_trusting(name, properties, &BTreeSet::new())
    }

    /// As [`selects`](Self::selects), where a cluster's own word counts for the properties of these names.
    pub fn selects_trusting(
        &self,
        name: &ClusterName,
        properties: &Properties,
        trusted: &BTreeSet<String>,
    ) -> bool {
        let holds = |(name, value): &(String, String)| {
            properties.named.get(name).is_some_and(|property| {
                let counts = property.origin != PropertyOrigin::SelfReported || trusted.contains(name);
                counts && property.value == *value
            })
        };
        let all = |requirements: &Vec<Requirement>| {
            requirements
                .iter()
                .all(|requirement| requirement.holds(&properties.labels))
        };
        self.may_select(name)
            && all(&self.labels)
            && self.properties.iter().all(holds)
            && !self.except_labels.iter().any(all)
    }

    /// Whether it selects a cluster of that name if the rest holds.
    pub fn may_select(&self, name: &ClusterName) -> bool {
        let named = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(name.as_str()));
        self.fault.is_none() && (self.names.is_empty() || named(&self.names)) && !named(&self.except)
    }

    fn read<T>(&mut self, read: Result<T, InvalidSelector>) -> Option<T> {
        read.map_err(|fault| self.faulty(fault)).ok()
    }

    /// The first fault is the one that is told.
    fn faulty(&mut self, fault: InvalidSelector) {
        self.fault.get_or_insert(fault);
    }
}

/// `names eu-*, prod; labels env=prod; except eu-test`, or `every cluster`.
impl fmt::Display for ClusterSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(fault) = &self.fault {
            return write!(f, "no cluster: {fault}");
        }
        let mut parts = Vec::new();
        if !self.names.is_empty() {
            parts.push(format!("names {}", listed(&self.names, ", ")));
        }
        if !self.labels.is_empty() {
            parts.push(format!("labels {}", listed(&self.labels, ",")));
        }
        let properties = self.properties.iter();
        parts.extend(properties.map(|(name, value)| format!("property {name}={value}")));
        if !self.except.is_empty() {
            parts.push(format!("except {}", listed(&self.except, ", ")));
        }
        let left_out = self.except_labels.iter();
        parts.extend(left_out.map(|labels| format!("except labels {}", listed(labels, ","))));
        if parts.is_empty() {
            parts.push("every cluster".to_owned());
        }
        f.write_str(&parts.join("; "))
    }
}

fn listed(items: &[impl fmt::Display], separator: &str) -> String {
    let items: Vec<_> = items.iter().map(ToString::to_string).collect();
    items.join(separator)
}
