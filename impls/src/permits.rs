//! Acquisitions of several permits of a semaphore, and the names of the permits.

use std::time::Duration;

use crate::attempts::{self, Attempts};
use crate::contract::{Grant, LockError, Taken};

/// Separator between the name of a holder and the number of its permits.
const TIMES: char = '*';

/// A semaphore whose attempts take as many permits as were requested last.
pub(crate) trait TakesPermits: Attempts {
    /// Sets the number of permits that the next attempts take.
    fn set_permits(&mut self, permits: u32);
}

/// Tries for at most `wait` to take this many permits, all or none of them.
pub(crate) async fn acquire(
    semaphore: &mut impl TakesPermits,
    key: &str,
    permits: u32,
    (ttl, wait): (Duration, Duration),
) -> Taken {
    let capacity = semaphore.context().capacity;
    if !(1..=capacity).contains(&permits) {
        let problem = format!("{permits} permits were requested, and there are {capacity}");
        return Err(LockError::BadCall(problem));
    }
    semaphore.set_permits(permits);
    attempts::acquire(semaphore, key, ttl, wait).await
}

/// Returns the token of a grant of this many permits: `NAME` for one permit, and `NAME*2` for two.
pub(crate) fn token(name: &str, permits: u32) -> String {
    match permits {
        1 => name.to_owned(),
        _ => format!("{name}{TIMES}{permits}"),
    }
}

/// Returns the number of permits of a grant.
pub(crate) fn permits_of(grant: &Grant) -> u32 {
    let permits = grant.token.rsplit_once(TIMES);
    permits.and_then(|(_, it)| it.parse().ok()).unwrap_or(1)
}

/// Returns a name for each permit of a grant: the token itself, and the token with a number.
pub(crate) fn names(grant: &Grant) -> Vec<String> {
    let others = (2..=permits_of(grant)).map(|number| format!("{}#{number}", grant.token));
    std::iter::once(grant.token.clone()).chain(others).collect()
}
