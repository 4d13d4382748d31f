//! Which provider runs, and why.
use super::LaunchArgs;
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
    pub(super) why: String,
    /// The host that comes with a simulated fleet.
    pub(super) simulated_host: Option<Access>,
}

/// Always there, whatever the features.
const ALWAYS: [&str; 2] = ["single", "none"];

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
        if let Some(name) = args.provider.clone() {
            if !self.features.contains(&name.as_str()) && !ALWAYS.contains(&name.as_str()) {
                let mut available = self.features.clone();
                available.extend(ALWAYS);
                return Err(StartError::UnknownProvider {
                    name,
                    available: listed(&available),
                });
            }
            let why = format!("`--provider {name}` says so");
            return self.by_name(&name, why, args);
        }
        if let Some(provider) = self.declared.clone() {
            let why = "the controller declares it with `provider = ...`".to_owned();
            return Ok(Chosen {
                provider,
                why,
                simulated_host: None,
            });
        }
        let real: Vec<_> = self
            .features
            .iter()
            .copied()
            .filter(|feature| *feature != "sim")
            .collect();
        match real[..] {
            [one] => self.by_name(
                one,
                "it is the program's one provider feature besides `sim`".to_owned(),
                args,
            ),
            [] if self.features.contains(&"sim") => self.by_name(
                "sim",
                "no other provider feature of the program is on".to_owned(),
                args,
            ),
            [] => Err(StartError::NoProvider),
            _ => Err(StartError::AmbiguousProvider {
                available: listed(&real),
            }),
        }
    }

    #[cfg_attr(
        not(feature = "sim"),
        expect(
            clippy::unused_self,
            reason = "only a simulated fleet is prepared by the program"
        )
    )]
    fn by_name(&mut self, name: &str, why: String, args: &LaunchArgs) -> Result<Chosen, StartError> {
        let provider: Arc<dyn Provider> = match name {
            "none" => Arc::new(providers::None),
            "single" => Arc::new(single(args)?),
            #[cfg(feature = "sim")]
            "sim" => return Ok(self.simulated(why)),
            #[cfg(feature = "file")]
            "file" => Arc::new(file(args)),
            _ => return Err(lacking(name)),
        };
        Ok(Chosen {
            provider,
            why,
            simulated_host: None,
        })
    }

    #[cfg(feature = "sim")]
    fn simulated(&mut self, why: String) -> Chosen {
        let sim = providers::Sim::demo();
        if let Some(prepare) = self.prepare.take() {
            prepare(sim.fleet());
        }
        let simulated_host = Some(sim.host_access());
        Chosen {
            provider: Arc::new(sim),
            why,
            simulated_host,
        }
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

#[cfg(feature = "file")]
fn file(args: &LaunchArgs) -> providers::File {
    providers::File::new(args.file.iter()).policy(args.policy())
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(
        declared: bool,
        features: &[&'static str],
        provider: Option<&str>,
    ) -> Result<String, StartError> {
        let mut wish = Wish::default();
        wish.ask(
            declared.then(|| Arc::new(providers::Clusters::new()) as Arc<dyn Provider>),
            features,
        );
        let args = LaunchArgs {
            provider: provider.map(str::to_owned),
            ..LaunchArgs::default()
        };
        wish.choose(&args).map(|chosen| chosen.provider.name().to_owned())
    }

    #[test]
    fn the_flag_beats_the_declaration_and_the_declaration_beats_the_features() {
        assert_eq!(choose(true, &["sim"], Some("none")).unwrap(), "none");
        assert_eq!(choose(true, &["sim"], None).unwrap(), "clusters");
    }

    #[test]
    fn without_any_provider_the_error_says_what_to_enable() {
        let error = choose(false, &[], None).unwrap_err();
        assert!(error.to_string().contains("enable a provider feature"), "{error}");
    }

    #[test]
    fn two_real_features_have_to_be_chosen_from() {
        let error = choose(false, &["sim", "file", "kind"], None).unwrap_err();
        assert!(error.to_string().contains("file, kind"), "{error}");
    }

    #[test]
    fn a_feature_of_mcrt_that_is_none_of_the_application_is_not_offered() {
        // The crate may be built with `file` for somebody else in the workspace.
        let error = choose(false, &["sim"], Some("file")).unwrap_err();
        assert!(error.to_string().contains("sim, single, none"), "{error}");
    }

    #[test]
    fn a_feature_that_only_the_program_has_is_said_to_lack_its_provider() {
        let error = choose(false, &["sim", "kcp"], None).unwrap_err();
        assert!(error.to_string().contains("kcp = [\"mcrt/kcp\"]"), "{error}");
    }

    #[cfg(feature = "sim")]
    #[tokio::test]
    async fn sim_alone_is_the_simulated_fleet_with_a_host() {
        let mut wish = Wish::default();
        wish.ask(None, &["sim"]);
        let chosen = wish.choose(&LaunchArgs::default()).unwrap();
        assert_eq!(chosen.provider.name(), "sim");
        assert!(chosen.simulated_host.is_some());
    }
}
