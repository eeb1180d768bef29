//! Conversions between the kinds of built-in locks and the kinds that scenarios use.

use picklock_impls::Kind;
use picklock_scenarios::LockKind;

/// Converts the kind of a built-in lock to the kind that scenarios use.
pub fn kind_of(kind: Kind) -> LockKind {
    match kind {
        Kind::Mutex => LockKind::Mutex,
        Kind::Semaphore => LockKind::Semaphore,
        Kind::ReadWrite => LockKind::Rwlock,
        Kind::Leader => LockKind::Leader,
    }
}

/// Converts the kind that scenarios use to the kind of a built-in lock.
pub fn built_in_kind(kind: LockKind) -> Kind {
    match kind {
        LockKind::Mutex => Kind::Mutex,
        LockKind::Semaphore => Kind::Semaphore,
        LockKind::Rwlock => Kind::ReadWrite,
        LockKind::Leader => Kind::Leader,
    }
}
