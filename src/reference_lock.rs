//! The built-in lock whose results a user's lock must reach.

use picklock_harness::expectation::{Expected, Tables};
use picklock_impls::{BuiltInLock, LOCKS};
use picklock_scenarios::Scenario;

/// Features that a lock declares, besides its number of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claims {
    /// Whether it renews its lease while a client works.
    pub renews: bool,
    /// Whether it provides fencing tokens.
    pub fences: bool,
}

/// Returns the built-in lock with this name. A mutant cannot be a reference.
pub fn named(name: &str) -> Result<&'static BuiltInLock, String> {
    let found = LOCKS.iter().find(|lock| lock.name == name);
    found
        .ok_or_else(|| format!("no such built-in lock: `{name}`; `picklock list impls` lists them"))
}

/// The best built-in locks with their claims; those with more claims come first.
const BEST: [(&str, Claims); 6] = [
    ("fenced", claims(false, true)),
    ("watchdog", claims(true, false)),
    ("redlock-renewing", claims(true, false)),
    ("set-nx-px", claims(false, false)),
    ("replicated", claims(false, false)),
    ("redlock", claims(false, false)),
];

const fn claims(renews: bool, fences: bool) -> Claims {
    Claims { renews, fences }
}

/// Returns the best built-in lock that uses the same number of servers and claims no more than `claims`. Returns `None`
/// if no built-in lock uses that number of servers, because then no results are comparable.
pub fn best(nodes: usize, replicas: usize, claims: Claims) -> Option<&'static BuiltInLock> {
    let fitting = BEST
        .iter()
        .filter(|(_, its)| (claims.fences || !its.fences) && (claims.renews || !its.renews));
    let mut fitting = fitting.filter_map(|(name, _)| named(name).ok());
    fitting.find(|one| (one.nodes, one.replicas) == (nodes, replicas))
}

/// Returns the scenario's expectations for a lock whose reference is `standard`: it keeps every property that
/// `standard` keeps. If `standard` violates a property, either result is accepted.
pub fn expected_of(scenario: &Scenario, standard: &str) -> Expected {
    Expected::for_lock(scenario, standard, Tables::NamedOrAll).as_reference()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_lock_is_built_in_and_uses_as_many_servers() {
        for fences in [false, true] {
            for renews in [false, true] {
                let claims = Claims { renews, fences };
                for (nodes, replicas) in [(1, 0), (1, 1), (5, 0)] {
                    let found = best(nodes, replicas, claims).unwrap();
                    let servers = (found.nodes, found.replicas);
                    assert_eq!(servers, (nodes, replicas), "{}", found.name);
                }
                // A built-in lock on a different number of servers has different results.
                for (nodes, replicas) in [(1, 2), (3, 0), (5, 1)] {
                    assert!(best(nodes, replicas, claims).is_none(), "{nodes}");
                }
                // Every comparable combination of claims has a reference.
                for one in LOCKS {
                    assert!(
                        best(one.nodes, one.replicas, claims).is_some(),
                        "{}",
                        one.name
                    );
                }
            }
        }
        let name = |renews, fences| best(1, 0, claims(renews, fences)).unwrap().name;
        assert_eq!(
            [name(true, true), name(true, false), name(false, false)],
            ["fenced", "watchdog", "set-nx-px"]
        );
        assert!(named("no-lock").is_err());
    }
}
