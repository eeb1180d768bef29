//! Support for a library that makes one attempt at a time and returns a guard object for each grant.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::picklock_adapter::{serve, try_for, Failure, Grant, Init, Lock};

/// A library, described by functions. [`serve_guards`] serves it: it waits between the attempts and keeps the guards.
pub struct Guards<L, G, E, R> {
    /// Context of the functions, such as the library's client and a runtime.
    pub library: L,
    /// Tries once to take the lock.
    pub attempt: fn(&L, &str, Duration) -> Result<G, E>,
    /// Returns `true` for the error that means that another client has the lock.
    pub is_refusal: fn(&E) -> bool,
    /// Extends the lock.
    pub extend: fn(&L, &G, Duration) -> Result<G, E>,
    /// Releases the lock.
    pub release: fn(&L, &G) -> R,
    /// Returns the token of a grant.
    pub token: fn(&G) -> String,
    /// Returns how long the lease was valid when the library returned the guard.
    pub valid: fn(&G) -> Duration,
}

/// Result of a library's release, which may report whether the lock was still held.
pub trait Released {
    fn was_held(self) -> Option<bool>;
}

impl Released for () {
    fn was_held(self) -> Option<bool> {
        None
    }
}

impl Released for bool {
    fn was_held(self) -> Option<bool> {
        Some(self)
    }
}

/// Like [`serve`], for a lock that is described by functions.
pub fn serve_guards<L, G, E: std::error::Error, R: Released>(
    make: impl Fn(Init) -> Result<Guards<L, G, E, R>, Failure>,
    name: &str,
    version: &str,
    options: &[&str],
) {
    let make_lock = |init| {
        make(init).map(|library| KeptGuards {
            library,
            guards: BTreeMap::new(),
        })
    };
    serve(make_lock, name, version, options);
}

/// A library's functions, and the guards that it has returned.
struct KeptGuards<L, G, E, R> {
    library: Guards<L, G, E, R>,
    guards: BTreeMap<String, G>,
}

impl<L, G, E: std::error::Error, R> KeptGuards<L, G, E, R> {
    fn guard(&self, token: &str) -> Result<&G, Failure> {
        let unknown = || Failure::Definite(format!("no grant has the token {token}"));
        self.guards.get(token).ok_or_else(unknown)
    }

    fn keep(&mut self, outcome: Result<G, E>, ttl: Duration) -> Result<Option<Grant>, Failure> {
        let guard = match outcome {
            Err(error) if (self.library.is_refusal)(&error) => return Ok(None),
            outcome => outcome?,
        };
        // The library reports how long the lock is valid, from which the time of its request follows.
        let used = ttl.saturating_sub((self.library.valid)(&guard));
        let grant = Grant {
            asked_at: Instant::now().checked_sub(used),
            ..Grant::new((self.library.token)(&guard))
        };
        self.guards.insert(grant.token.clone(), guard);
        Ok(Some(grant))
    }
}

impl<L, G, E: std::error::Error, R: Released> Lock for KeptGuards<L, G, E, R> {
    fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, Failure> {
        try_for(wait, || {
            let outcome = (self.library.attempt)(&self.library.library, key, ttl);
            self.keep(outcome, ttl)
        })
    }

    const EXTENDS: bool = true;

    fn extend(&mut self, _key: &str, token: &str, ttl: Duration) -> Result<Option<Grant>, Failure> {
        let outcome = (self.library.extend)(&self.library.library, self.guard(token)?, ttl);
        self.keep(outcome, ttl)
    }

    fn release(&mut self, _key: &str, token: &str) -> Result<Option<bool>, Failure> {
        let said = (self.library.release)(&self.library.library, self.guard(token)?);
        Ok(said.was_held())
    }
}
