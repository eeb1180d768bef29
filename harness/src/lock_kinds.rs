//! The kinds of built-in locks, in the words of scenarios, and the other way round.

use picklock_impls::Kind;
use picklock_scenarios::LockKind;

/// Returns the kind of a built-in lock, in the words of scenarios.
pub fn kind_of(kind: Kind) -> LockKind {
    match kind {
        Kind::Mutex => LockKind::Mutex,
        Kind::Semaphore => LockKind::Semaphore,
        Kind::ReadWrite => LockKind::Rwlock,
        Kind::Leader => LockKind::Leader,
    }
}

/// Returns the kind of a built-in lock that is of this kind.
pub fn built_in_kind(kind: LockKind) -> Kind {
    match kind {
        LockKind::Mutex => Kind::Mutex,
        LockKind::Semaphore => Kind::Semaphore,
        LockKind::Rwlock => Kind::ReadWrite,
        LockKind::Leader => Kind::Leader,
    }
}
