//! `setnx-lua`: SETNX and its time to live in one script.
//!
//! **Commands.** Acquire: `setnx_pexpire.lua`. Extend: `compare_and_pexpire.lua`. Release: `compare_and_delete.lua`.
//! All are sent as `EVALSHA`. If the server does not have them (`NOSCRIPT`), `SCRIPT LOAD` follows, and `EVALSHA`
//! again.
//!
//! **From.** Articles that repair `setnx-expire` with a script (`SETNX` and `SETEX` or `EXPIRE`).
//!
//! **Promises.** The same as `set-nx-px`: a script runs as one step, so a client cannot die between the two commands.
//!
//! **Does not survive.** The same as `set-nx-px`:
//! - A holder that is slower than its lease (S1), or that gets its grant too late (S5).
//! - Loss of the key: failover, restart, a jump of the server's clock, eviction (S7 to S10).

use std::sync::LazyLock;

use redis::Script;

use crate::BuiltInLock;
use crate::contract::Taken;
use crate::lease::Lease;
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, Varied, varied};

/// Takes the key if it is free, and gives it a time to live.
static SETNX_PEXPIRE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("setnx_pexpire.lua")));

pub(crate) const LOCK: BuiltInLock = varied::<SetnxLua>(
    "setnx-lua",
    "SETNX and PEXPIRE in one script; compare-and-delete in Lua",
);

/// Extends and releases like `set-nx-px`.
#[derive(Default)]
struct SetnxLua;

impl Variation for SetnxLua {
    async fn attempt(lock: &mut Varied<Self>, key: &str, name: &str, lease: Lease) -> Taken {
        let requested = Stopwatch::start();
        let taken: bool = SETNX_PEXPIRE
            .key(key)
            .arg(name)
            .arg(lease.millis())
            .invoke_async(lock.original.redis.connection()?)
            .await?;
        Ok(taken.then(|| lease.grant(name, requested)))
    }
}
