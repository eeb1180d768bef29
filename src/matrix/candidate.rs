//! A lock of a matrix, and the expectations that apply to it.

use picklock_harness::expectation::{Expected, Tables};
use picklock_harness::lock_kinds::built_in_kind;
use picklock_harness::spec::{LockSpec, Overrides};
use picklock_impls::reference::{Declared, best};
use picklock_impls::{BuiltInLock, built_in};
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use picklock_scenarios::Scenario;

use super::request::MatrixRequest;
use crate::exit::Failure;
use crate::named_lock::NamedLock;
use crate::{lock, reference_lock};

/// A lock of a matrix, and the expectations that apply to it.
pub struct Candidate {
    pub spec: LockSpec,
    /// Whether it is a built-in lock without options, for which the catalog has expectations.
    pub has_catalog_expectations: bool,
    /// The reference lock, or `None` if the lock has no expectations.
    pub reference: Option<&'static BuiltInLock>,
    /// The lock with which it is compared: `reference`, otherwise the best lock for its declarations, or `None` if no
    /// built-in lock uses the same number of servers.
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
        let is_known = spec.options.is_empty() && built_in().any(|s| s.name == spec.name);
        let configured = request.impls.get(&spec.name).map(|(one, _)| one);
        let configured = configured.filter(|_| spec.configuration.is_some());
        let own = configured.and_then(|one| one.reference.as_ref());
        let nodes = request.overrides.nodes.unwrap_or(spec.nodes);
        let declared = Declared {
            renews: spec.renews,
            fences: configured.is_some_and(|one| one.fences),
            kind: built_in_kind(spec.kind.unwrap_or_default()),
        };
        let find = |name: &String| {
            let wrong = |problem: String| {
                Failure::Usage(inert!("reference {}: {}", name, Inert::lines(&problem)))
            };
            reference_lock::fitting(name, &spec, nodes, declared).map_err(wrong)
        };
        let reference = request.reference.as_ref().or(own).filter(|_| !is_known);
        let reference = reference.map(find).transpose()?;
        Ok(Candidate {
            has_catalog_expectations: is_known,
            best: reference.or_else(|| best(nodes, spec.replicas, declared)),
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
        if self.has_catalog_expectations {
            return Expected::for_lock(scenario, &lock.name, Tables::NamedOrAll);
        }
        // A scenario's table with the name of this lock takes precedence.
        match self.reference {
            Some(reference) if !scenario.expect.contains_key(&lock.name) => {
                reference_lock::expectations_for(scenario, reference.name)
            }
            _ => Expected::for_lock(scenario, &lock.name, Tables::NamedOnly),
        }
    }
}
