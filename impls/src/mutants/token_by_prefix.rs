//! `token-by-prefix`: `set-nx-px` whose release compares the first eight letters of the tokens.
//!
//! All tokens start with the same word, so a late release deletes its successor's lock (S4, S12). Caught by
//! `ownership`, cause `stolen-release`, when a holder outlives its lease and then releases.

use std::sync::LazyLock;

use redis::Script;

use crate::BuiltInLock;
use crate::attempts::Attempts;
use crate::contract::{Grant, LockError, Taken};
use crate::lease::Lease;
use crate::variation::{Variation, Varied, varied};

static COMPARE_BEGINNINGS: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("compare_beginnings.lua")));

pub(crate) const LOCK: BuiltInLock = varied::<TokenByPrefix>(
    "token-by-prefix",
    "mutant: set-nx-px that compares only the beginnings of the tokens",
);

#[derive(Default)]
struct TokenByPrefix;

impl Variation for TokenByPrefix {
    async fn attempt(lock: &mut Varied<Self>, key: &str, name: &str, lease: Lease) -> Taken {
        lock.original
            .attempt(key, &format!("checkout:{name}"), lease)
            .await
    }

    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let mut compare = COMPARE_BEGINNINGS.key(key);
        compare.arg(&grant.token);
        Ok(compare
            .invoke_async(lock.original.redis.connection()?)
            .await?)
    }
}
