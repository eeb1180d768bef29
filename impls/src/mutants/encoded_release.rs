//! `encoded-release`: `set-nx-px` that encodes its token when it writes it, but not when it compares it.
//!
//! No release ever finds its value, so each lock stays taken until its lease expires (L16: laravel#36337,
//! phpredis#1939, where a client's serialiser changes the value of `SET` but not the argument of a script). Caught by
//! `claims`, cause `false-release`, without any fault.

use crate::BuiltInLock;
use crate::attempts::Attempts;
use crate::contract::{Grant, Taken};
use crate::lease::Lease;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<EncodedRelease>(
    "encoded-release",
    "mutant: set-nx-px that writes its token in quotes and compares without",
);

#[derive(Default)]
struct EncodedRelease;

impl Variation for EncodedRelease {
    async fn attempt(lock: &mut Varied<Self>, key: &str, name: &str, lease: Lease) -> Taken {
        let taken = lock
            .original
            .attempt(key, &format!("\"{name}\""), lease)
            .await?;
        Ok(taken.map(|grant| Grant {
            token: name.to_owned(),
            ..grant
        }))
    }
}
