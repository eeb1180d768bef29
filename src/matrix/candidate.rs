//! A subject of a matrix, and what it is held to.

use picklock_harness::expectation::{Expected, Tables};
use picklock_harness::spec::{Overrides, SubjectSpec};
use picklock_impls::{STRATEGIES, Strategy};
use picklock_scenarios::Scenario;

use super::request::MatrixRequest;
use crate::exit::Failure;
use crate::named_subject::NamedSubject;
use crate::{standard, subject};

/// A subject, and what it is held to.
pub struct Candidate {
    pub spec: SubjectSpec,
    /// False for a built-in lock without options: the scenarios' authors knew it.
    pub is_stranger: bool,
    /// The built-in lock whose results it must reach; `None`: nothing is expected of it.
    pub like: Option<&'static Strategy>,
    /// The one that it is compared with: `like`, else the best one for what it claims. `None`: no built-in
    /// lock uses as many servers.
    pub best: Option<&'static Strategy>,
}

impl Candidate {
    /// The subject of that name, and what it is held to: by `--like`, else by its own table.
    ///
    /// # Errors
    /// An unknown name, or an option that the lock does not have; a standard that does not fit the lock.
    pub fn of(request: &MatrixRequest, name: &NamedSubject) -> Result<Candidate, Failure> {
        let spec = subject::named(name, &request.options, &request.impls)?;
        let is_known = spec.options.is_empty() && STRATEGIES.iter().any(|s| s.name == spec.name);
        let configured = request.impls.get(&spec.name).map(|(one, _)| one);
        let configured = configured.filter(|_| spec.configuration.is_some());
        let own = configured.and_then(|one| one.like.as_ref());
        let nodes = request.overrides.nodes.unwrap_or(spec.nodes);
        let like = match request.like.as_ref().or(own).filter(|_| !is_known) {
            Some(like) => Some(standard_for(&spec, nodes, like)?),
            None => None,
        };
        let claims = configured.map(|one| one.claims).unwrap_or_default();
        Ok(Candidate {
            is_stranger: !is_known,
            best: like.or_else(|| standard::best(nodes, spec.replicas, claims)),
            like,
            spec,
        })
    }

    /// What the scenario expects of the subject. Its author knew how many nodes a built-in lock uses:
    /// nothing is expected of one on another number. How many a program uses, only the user knows.
    pub fn expected(&self, scenario: &Scenario, overrides: Overrides) -> Expected {
        let subject = &self.spec;
        let usual = scenario.topology.nodes.unwrap_or(subject.nodes);
        if subject.is_in_process() && overrides.nodes.is_some_and(|nodes| nodes != usual) {
            return Expected::default();
        }
        if !self.is_stranger {
            return Expected::of(scenario, &subject.name, Tables::NamedOrAll);
        }
        // What the scenario says of this very lock comes first.
        match self.like {
            Some(like) if !scenario.expect.contains_key(&subject.name) => {
                standard::expected_of(scenario, like.name)
            }
            _ => Expected::of(scenario, &subject.name, Tables::NamedOnly),
        }
    }
}

/// The built-in lock with this name, if its results can be compared with those of the subject.
fn standard_for(
    spec: &SubjectSpec,
    nodes: usize,
    like: &str,
) -> Result<&'static Strategy, Failure> {
    let wrong = |problem: String| Failure::Usage(format!("like {like}: {problem}"));
    let standard = standard::named(like).map_err(wrong)?;
    if (standard.nodes, standard.replicas) != (nodes, spec.replicas) {
        let in_words = |nodes: usize, replicas: usize| {
            let plural = if nodes == 1 { "" } else { "s" };
            format!("{nodes} node{plural} with {replicas} replicas each")
        };
        return Err(wrong(format!(
            "it takes its lock on {}, and {} on {}, so their results cannot be compared\n  = help: \
             `nodes` and `replicas` of a table [impl.NAME] say what a program uses, and --nodes what \
             all locks do",
            in_words(standard.nodes, standard.replicas),
            spec.name,
            in_words(nodes, spec.replicas)
        )));
    }
    Ok(standard)
}
