//! Which provider runs, and why.
use super::{
    LaunchArgs,
    asked::{Asked, listed, merged},
    providers::named,
};
use crate::{
    ClusterName, StartError,
    connect::Access,
    provider::{Provider, providers},
};
use std::sync::Arc;

/// What the program says about providers, before its arguments are looked at.
#[derive(Default)]
pub(super) struct Wish {
    declared: Option<Arc<dyn Provider>>,
    features: Vec<&'static str>,
    #[cfg(feature = "sim")]
    pub(super) prepare: Option<Box<dyn FnOnce(&mcrt_sim::Fleet) + Send>>,
    /// Chosen once: a client handed out before the start is of the same fleet.
    chosen: Option<Chosen>,
}

/// A provider, and why it is this one.
#[derive(Clone)]
pub(super) struct Chosen {
    pub(super) provider: Arc<dyn Provider>,
    /// How the log calls it.
    pub(super) called: String,
    pub(super) why: String,
    /// The host that comes with a simulated fleet. It stays the host where real clusters are merged with the simulated
    /// ones: who rehearses must not write to a real host without having named it.
    pub(super) simulated_host: Option<Access>,
}

/// Always there, whatever the features.
const ALWAYS: [&str; 2] = ["single", "none"];

/// A provider, and the host that comes with it.
type Made = (Arc<dyn Provider>, Option<Access>);

impl Wish {
    pub(super) fn ask(&mut self, declared: Option<Arc<dyn Provider>>, features: &[&'static str]) {
        if self.declared.is_none() {
            self.declared = declared;
        }
        for feature in features {
            if !self.features.contains(feature) {
                self.features.push(feature);
            }
        }
    }

    /// `--provider` beats a declared provider beats the application's features, of which the one besides `sim` wins.
    pub(super) fn choose(&mut self, args: &LaunchArgs) -> Result<&Chosen, StartError> {
        let chosen = match self.chosen.take() {
            Some(chosen) => chosen,
            None => self.decide(args)?,
        };
        Ok(self.chosen.insert(chosen))
    }

    fn decide(&mut self, args: &LaunchArgs) -> Result<Chosen, StartError> {
        if !args.provider.is_empty() {
            return self.asked_for(args);
        }
        if let Some(provider) = self.declared.clone() {
            return Ok(Chosen {
                called: format!("provider `{}`", provider.name()),
                provider,
                why: "the controller declares it with `provider = ...`".to_owned(),
                simulated_host: None,
            });
        }
        let real = self.features.iter().copied().filter(|feature| *feature != "sim");
        match real.collect::<Vec<_>>()[..] {
            [one] => self.only(
                one,
                "it is the program's one provider feature besides `sim`",
                args,
            ),
            [] if self.features.contains(&"sim") => {
                self.only("sim", "no other provider feature of the program is on", args)
            }
            [] => Err(StartError::NoProvider),
            ref several => Err(StartError::AmbiguousProvider {
                available: listed(several),
            }),
        }
    }

    fn only(&mut self, name: &str, why: &str, args: &LaunchArgs) -> Result<Chosen, StartError> {
        let (provider, simulated_host) = self.make(name, args)?;
        Ok(Chosen {
            provider,
            called: format!("provider `{name}`"),
            why: why.to_owned(),
            simulated_host,
        })
    }

    /// Those of `--provider`: each keeps its names, or has the prefix that is said, however many there are.
    fn asked_for(&mut self, args: &LaunchArgs) -> Result<Chosen, StartError> {
        let available: Vec<_> = self.features.iter().copied().chain(ALWAYS).collect();
        let all = Asked::parse(&args.provider, &available)?;
        let mut simulated_host = None;
        let mut made = Vec::with_capacity(all.len());
        for asked in &all {
            let (provider, host) = self.make(asked.name, args)?;
            simulated_host = simulated_host.or(host);
            made.push(asked.provider(provider));
        }
        let called: Vec<_> = all.iter().map(ToString::to_string).collect();
        let several = if all.len() == 1 { "" } else { "s" };
        Ok(Chosen {
            provider: merged(&all, made),
            called: format!("provider{several} {}", called.join(", ")),
            why: format!("`--provider {}` says so", args.provider.join(",")),
            simulated_host,
        })
    }

    #[cfg_attr(
        not(feature = "sim"),
        expect(
            clippy::unused_self,
            reason = "only a simulated fleet is prepared by the program"
        )
    )]
    fn make(&mut self, name: &str, args: &LaunchArgs) -> Result<Made, StartError> {
        let provider: Arc<dyn Provider> = match name {
            "none" => Arc::new(providers::None),
            "single" => Arc::new(single(args)?),
            #[cfg(feature = "sim")]
            "sim" => return Ok(self.simulated()),
            _ => named(name, args).unwrap_or_else(|| Err(lacking(name)))?,
        };
        Ok((provider, None))
    }

    #[cfg(feature = "sim")]
    fn simulated(&mut self) -> Made {
        let sim = providers::Sim::demo();
        if let Some(prepare) = self.prepare.take() {
            prepare(sim.fleet());
        }
        let host = sim.host_access();
        (Arc::new(sim), Some(host))
    }
}

/// The program has a feature of that name, the crate has not.
fn lacking(name: &str) -> StartError {
    StartError::Provider {
        name: name.to_owned(),
        reason: format!(
            "the program's feature `{name}` is on, but mcrt itself has no such provider here: where it has a feature \
             of that name write `{name} = [\"mcrt/{name}\"]` into the program's Cargo.toml, else give the provider \
             with `provider = ...`"
        ),
    }
}

fn single(args: &LaunchArgs) -> Result<providers::Single, StartError> {
    let name = ClusterName::new("single").expect("a literal name without control characters");
    providers::Single::current_context_with(name, &args.policy()).map_err(|error| StartError::Provider {
        name: "single".to_owned(),
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(declared: bool, features: &[&'static str], providers: &[&str]) -> Result<String, StartError> {
        let mut wish = Wish::default();
        wish.ask(
            declared.then(|| Arc::new(providers::Clusters::new()) as Arc<dyn Provider>),
            features,
        );
        let args = LaunchArgs {
            provider: providers.iter().map(|&name| name.to_owned()).collect(),
            ..LaunchArgs::default()
        };
        wish.choose(&args).map(|chosen| chosen.called.clone())
    }

    #[test]
    fn the_flag_beats_the_declaration_and_the_declaration_beats_the_features() {
        assert_eq!(choose(true, &["sim"], &["none"]).unwrap(), "provider `none`");
        assert_eq!(choose(true, &["sim"], &[]).unwrap(), "provider `clusters`");
    }

    #[test]
    fn without_any_provider_the_error_says_what_to_enable() {
        let error = choose(false, &[], &[]).unwrap_err();
        assert!(error.to_string().contains("enable a provider feature"), "{error}");
    }

    #[test]
    fn two_real_features_have_to_be_chosen_from() {
        let error = choose(false, &["sim", "file", "kind"], &[]).unwrap_err();
        assert!(error.to_string().contains("file, kind"), "{error}");
    }

    #[test]
    fn a_feature_of_mcrt_that_is_none_of_the_application_is_not_offered() {
        // The crate may be built with `file` for somebody else in the workspace.
        let error = choose(false, &["sim"], &["file"]).unwrap_err();
        assert!(error.to_string().contains("sim, single, none"), "{error}");
    }

    #[test]
    fn a_feature_that_only_the_program_has_is_said_to_lack_its_provider() {
        let error = choose(false, &["sim", "homegrown"], &[]).unwrap_err();
        assert!(
            error.to_string().contains("homegrown = [\"mcrt/homegrown\"]"),
            "{error}"
        );
    }

    #[test]
    fn a_provider_twice_is_refused() {
        let error = choose(false, &[], &["none=a/", "none=b/"]).unwrap_err();
        assert!(error.to_string().contains("`none`"), "{error}");
    }

    #[cfg(feature = "sim")]
    fn simulated(providers: &[&str]) -> Chosen {
        let mut wish = Wish::default();
        wish.ask(None, &["sim"]);
        let args = LaunchArgs {
            provider: providers.iter().map(|&name| name.to_owned()).collect(),
            ..LaunchArgs::default()
        };
        wish.choose(&args).unwrap().clone()
    }

    #[cfg(feature = "sim")]
    #[tokio::test]
    async fn sim_alone_is_the_simulated_fleet_with_a_host() {
        let chosen = simulated(&[]);
        assert_eq!(chosen.provider.name(), "sim");
        assert!(chosen.simulated_host.is_some());
    }

    #[cfg(feature = "sim")]
    #[tokio::test(start_paused = true)]
    async fn several_are_merged_under_their_own_names_or_their_prefix() {
        use crate::provider::{Change, ProviderContext};
        use futures::StreamExt;

        let chosen = simulated(&["none", "sim=try/"]);
        assert_eq!(chosen.called, "providers `none`, `sim` (as `try/...`)");
        assert_eq!(chosen.why, "`--provider none,sim=try/` says so");
        assert!(chosen.simulated_host.is_some(), "real clusters or not");
        let changes = chosen.provider.changes(ProviderContext::default());
        let named = changes.filter_map(async |change| match change {
            Change::Upsert(spec) => Some(spec.name.to_string()),
            _ => None,
        });
        let named: Vec<_> = named.take(3).collect().await;
        assert_eq!(named, ["try/alpha", "try/beta", "try/gamma"]);
    }
}
