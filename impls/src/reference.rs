//! Finds the built-in lock that is the reference for another lock.

use crate::{BuiltInLock, Kind, built_in};

/// Features that a lock declares, besides its number of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Declared {
    /// Whether it renews its lease while a client works.
    pub renews: bool,
    /// Whether it provides fencing tokens.
    pub fences: bool,
    /// Its kind.
    pub kind: Kind,
}

/// The best built-in locks with what they declare; those that declare more come first.
const BEST: [(&str, Declared); 9] = [
    ("fenced", declared(false, true)),
    ("watchdog", declared(true, false)),
    ("redlock-renewing", declared(true, false)),
    ("set-nx-px", declared(false, false)),
    ("replicated", declared(false, false)),
    ("redlock", declared(false, false)),
    (
        "semaphore",
        Declared {
            kind: Kind::Semaphore,
            ..declared(false, false)
        },
    ),
    (
        "rwlock",
        Declared {
            kind: Kind::ReadWrite,
            ..declared(false, false)
        },
    ),
    (
        "leader",
        Declared {
            kind: Kind::Leader,
            ..declared(true, true)
        },
    ),
];

const fn declared(renews: bool, fences: bool) -> Declared {
    Declared {
        renews,
        fences,
        kind: Kind::Mutex,
    }
}

/// Returns the best built-in lock that uses the same number of servers and declares no more than `declared`. Returns
/// `None` if no built-in lock uses that number of servers, because then no results are comparable.
pub fn best(nodes: usize, replicas: usize, declared: Declared) -> Option<&'static BuiltInLock> {
    // Each of the other kinds has only one lock.
    let is_mutex = declared.kind == Kind::Mutex;
    let declares_no_more = |its: &Declared| {
        !is_mutex || (declared.fences || !its.fences) && (declared.renews || !its.renews)
    };
    let fitting = BEST
        .iter()
        .filter(|(_, its)| declared.kind == its.kind && declares_no_more(its));
    let mut fitting = fitting.filter_map(|(name, _)| built_in().find(|lock| lock.name == *name));
    fitting.find(|one| (one.nodes, one.replicas) == (nodes, replicas))
}

/// Returns the reference for a lock on these servers: the best lock on the same number of servers, or else the best
/// lock that uses one node or a majority. The results of the latter do not depend on the number of servers, except in
/// scenarios that require a certain number. Returns `None` for two nodes, because a majority of two cannot survive the
/// loss of one.
pub fn reference_for(
    nodes: usize,
    replicas: usize,
    declared: Declared,
) -> Option<&'static BuiltInLock> {
    let alike = || match nodes {
        1 => best(1, 0, declared),
        3.. => best(5, 0, declared),
        _ => None,
    };
    best(nodes, replicas, declared).or_else(alike)
}

/// Returns `true` if this built-in lock renews its lease in the background.
pub fn renews(lock: &str) -> bool {
    built_in().any(|one| one.name == lock && one.renews())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LOCKS;

    #[test]
    fn lock_is_compared_with_one_of_its_kind_only() {
        let semaphore = Declared {
            kind: Kind::Semaphore,
            ..declared(true, true)
        };
        assert_eq!(
            reference_for(1, 0, semaphore).map(|it| it.name),
            Some("semaphore")
        );
        let leader = Declared {
            kind: Kind::Leader,
            ..declared(false, false)
        };
        assert_eq!(
            reference_for(1, 0, leader).map(|it| it.name),
            Some("leader")
        );
        let names = [1, 3].map(|nodes| reference_for(nodes, 0, declared(true, true)));
        assert!(names.iter().flatten().all(|lock| lock.kind == Kind::Mutex));
    }

    #[test]
    fn declarations_of_the_best_locks_match_the_locks() {
        for (name, declared) in BEST {
            assert_eq!(renews(name), declared.renews, "{name}");
        }
    }

    #[test]
    fn the_best_lock_is_built_in_and_uses_as_many_servers() {
        for fences in [false, true] {
            for renews in [false, true] {
                let declared = declared(renews, fences);
                for (nodes, replicas) in [(1, 0), (1, 1), (5, 0)] {
                    let found = best(nodes, replicas, declared).unwrap();
                    let servers = (found.nodes, found.replicas);
                    assert_eq!(servers, (nodes, replicas), "{}", found.name);
                }
                // A built-in lock on a different number of servers has different results.
                for (nodes, replicas) in [(1, 2), (3, 0), (5, 1)] {
                    assert!(best(nodes, replicas, declared).is_none(), "{nodes}");
                }
                // Every comparable combination of declarations has a reference.
                for one in LOCKS {
                    assert!(
                        best(one.nodes, one.replicas, declared).is_some(),
                        "{}",
                        one.name
                    );
                }
            }
        }
        let name = |renews, fences| best(1, 0, declared(renews, fences)).unwrap().name;
        assert_eq!(
            [name(true, true), name(true, false), name(false, false)],
            ["fenced", "watchdog", "set-nx-px"]
        );
    }

    #[test]
    fn reference_is_a_lock_of_the_same_kind() {
        let name = |nodes, replicas, renews| {
            reference_for(nodes, replicas, declared(renews, false)).map(|lock| lock.name)
        };
        assert_eq!(name(1, 2, true), Some("watchdog"));
        assert_eq!(name(1, 1, false), Some("replicated"));
        assert_eq!(name(3, 0, false), Some("redlock"));
        assert_eq!(name(4, 0, true), Some("redlock-renewing"));
        assert_eq!(name(2, 0, false), None);
        assert!(renews("watchdog") && !renews("fenced"));
    }
}
