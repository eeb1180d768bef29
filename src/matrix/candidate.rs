//! A lock of a matrix, and the standard for its results.

use picklock_harness::expectation::{Expected, Tables};
use picklock_harness::spec::{LockSpec, Overrides};
use picklock_impls::{BuiltInLock, LOCKS};
use picklock_scenarios::Scenario;

use super::request::MatrixRequest;
use crate::exit::Failure;
use crate::named_lock::NamedLock;
use crate::reference_lock::Claims;
use crate::{lock, reference_lock};

/// A lock, and the standard for its results.
pub struct Candidate {
    pub spec: LockSpec,
    /// Whether the scenarios have no expectations of it. False for a built-in lock without options.
    pub is_stranger: bool,
    /// The reference lock, or `None` if the lock has no expectations.
    pub reference: Option<&'static BuiltInLock>,
    /// The lock that it is compared with: `reference`, otherwise the best lock for its claims. `None` if no built-in
    /// lock uses the same number of servers.
    pub best: Option<&'static BuiltInLock>,
}

impl Candidate {
    /// Returns the lock of that name, with the reference of `--reference` or of its own table.
    ///
    /// # Errors
    /// Returns an error if the name is unknown, the lock does not have an option, or the reference does not fit the
    /// lock.
    pub fn new(request: &MatrixRequest, name: &NamedLock) -> Result<Candidate, Failure> {
        let spec = lock::named(name, &request.options, &request.impls)?;
        let is_known = spec.options.is_empty() && LOCKS.iter().any(|s| s.name == spec.name);
        let configured = request.impls.get(&spec.name).map(|(one, _)| one);
        let configured = configured.filter(|_| spec.configuration.is_some());
        let own = configured.and_then(|one| one.reference.as_ref());
        let nodes = request.overrides.nodes.unwrap_or(spec.nodes);
        let find = |name: &String| reference_for(&spec, nodes, name);
        let reference = request.reference.as_ref().or(own).filter(|_| !is_known);
        let reference = reference.map(find).transpose()?;
        let claims = Claims {
            renews: spec.renews,
            fences: configured.is_some_and(|one| one.fences),
        };
        Ok(Candidate {
            is_stranger: !is_known,
            best: reference.or_else(|| reference_lock::best(nodes, spec.replicas, claims)),
            reference,
            spec,
        })
    }

    /// Returns the scenario's expectations of the lock. The scenario's author knew how many nodes a built-in lock
    /// uses, so nothing is expected on a different number. Only the user knows how many nodes a program uses.
    pub fn expected(&self, scenario: &Scenario, overrides: Overrides) -> Expected {
        let lock = &self.spec;
        let usual = scenario.topology.nodes.unwrap_or(lock.nodes);
        if lock.is_in_process() && overrides.nodes.is_some_and(|nodes| nodes != usual) {
            return Expected::default();
        }
        if !self.is_stranger {
            return Expected::for_lock(scenario, &lock.name, Tables::NamedOrAll);
        }
        // The scenario's expectations of this very lock take precedence.
        match self.reference {
            Some(reference) if !scenario.expect.contains_key(&lock.name) => {
                reference_lock::expected_of(scenario, reference.name)
            }
            _ => Expected::for_lock(scenario, &lock.name, Tables::NamedOnly),
        }
    }
}

/// Returns the built-in lock with this name, if its results are comparable with those of the lock.
fn reference_for(
    spec: &LockSpec,
    nodes: usize,
    name: &str,
) -> Result<&'static BuiltInLock, Failure> {
    let wrong = |problem: String| Failure::Usage(format!("reference {name}: {problem}"));
    let reference = reference_lock::named(name).map_err(wrong)?;
    if (reference.nodes, reference.replicas) != (nodes, spec.replicas) {
        let describe = |nodes: usize, replicas: usize| {
            let plural = if nodes == 1 { "" } else { "s" };
            format!("{nodes} node{plural} with {replicas} replicas each")
        };
        return Err(wrong(format!(
            "it takes its lock on {}, and {} on {}, so their results cannot be compared\n  = help: \
             `nodes` and `replicas` of a table [impl.NAME] say what a program uses, and --nodes what \
             all locks do",
            describe(reference.nodes, reference.replicas),
            spec.name,
            describe(nodes, spec.replicas)
        )));
    }
    Ok(reference)
}
