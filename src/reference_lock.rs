//! The built-in lock whose results a user's lock must reach.

use picklock_harness::expectation::{Expected, Tables};
use picklock_harness::lock_kinds::kind_of;
use picklock_harness::spec::LockSpec;
use picklock_impls::reference::{Declared, reference_for, renews};
use picklock_impls::{BuiltInLock, built_in};
use picklock_scenarios::Scenario;

/// The word for the built-in lock that suits what the lock declares.
pub const AUTO: &str = "auto";

/// Refuses a name that is neither [`AUTO`] nor that of a built-in lock.
pub fn check(name: &str) -> Result<(), String> {
    match name {
        AUTO => Ok(()),
        name => named(name).map(drop),
    }
}

/// Returns the built-in lock with this name. A mutant cannot be a reference.
pub fn named(name: &str) -> Result<&'static BuiltInLock, String> {
    let found = built_in().find(|lock| lock.name == name);
    found
        .ok_or_else(|| format!("no such built-in lock: `{name}`; `picklock list impls` lists them"))
}

/// Returns the reference with this name for a lock on this number of nodes.
///
/// # Errors
/// Returns a message if the results of the two are not comparable, or if the reference promises less than the lock.
pub fn fitting(
    name: &str,
    spec: &LockSpec,
    nodes: usize,
    declared: Declared,
) -> Result<&'static BuiltInLock, String> {
    if name == AUTO {
        return reference_for(nodes, spec.replicas, declared).ok_or_else(|| {
            format!("no built-in lock is comparable with a lock on {nodes} nodes\n  = help: state the expectations yourself in [[expect]] tables")
        });
    }
    let reference = named(name)?;
    let its = kind_of(reference.kind);
    if let Some(kind) = spec.kind.filter(|kind| *kind != its) {
        return Err(format!(
            "{} is {}, and {name} is {}, so their results cannot be compared\n  = help: name a reference of the same kind, or \
             set `kind = \"{}\"` in the table [impl.{}]",
            spec.name,
            kind.describe(),
            its.describe(),
            its.as_str(),
            spec.name
        ));
    }
    if (reference.nodes, reference.replicas) != (nodes, spec.replicas) {
        let describe = |nodes: usize, replicas: usize| {
            let plural = if nodes == 1 { "" } else { "s" };
            format!("{nodes} node{plural} with {replicas} replicas each")
        };
        return Err(format!(
            "the reference takes its lock on {}, and {} on {}, so their results cannot be compared\n  = help: \
             set `nodes` and `replicas` of a program in its table [impl.NAME], or the nodes of all locks with --nodes",
            describe(reference.nodes, reference.replicas),
            spec.name,
            describe(nodes, spec.replicas)
        ));
    }
    if declared.renews && !renews(name) && !declared.fences {
        return Err(format!(
            "{} promises to renew its lease (renews = true), but {name} does not renew, so the results of the two are not comparable\n  = help: write {AUTO}, or name a lock that renews",
            spec.name
        ));
    }
    Ok(reference)
}

/// Returns the scenario's expectations for a lock whose reference is `reference`: it keeps every property that
/// `reference` keeps. If `reference` violates a property, either result is accepted.
pub fn expectations_for(scenario: &Scenario, reference: &str) -> Expected {
    Expected::for_lock(scenario, reference, Tables::NamedOrAll).as_reference()
}

#[cfg(test)]
mod tests {

    use picklock_harness::lock_factory::LockFactory;
    use picklock_impls::Kind;

    use super::*;

    #[test]
    fn reference_must_promise_what_the_lock_promises() {
        let lock = LockFactory::built_in(named("watchdog").unwrap());
        let spec = lock.spec().clone();
        let found = |name, renews| {
            let declared = Declared {
                renews,
                fences: false,
                kind: Kind::Mutex,
            };
            fitting(name, &spec, 1, declared).map(|lock| lock.name)
        };
        assert_eq!(found(AUTO, true), Ok("watchdog"));
        assert_eq!(found(AUTO, false), Ok("set-nx-px"));
        assert_eq!(found("set-nx-px", false), Ok("set-nx-px"));
        let refused = found("set-nx-px", true).unwrap_err();
        assert!(refused.contains("promises to renew"), "{refused}");
        assert!(found("redlock", false).is_err());
        let refused = found("semaphore", false).unwrap_err();
        assert!(refused.contains("kind = \"semaphore\""), "{refused}");
        assert!(named("no-lock").is_err() && check("no-lock").is_err());
    }
}
