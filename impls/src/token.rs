//! The names under which locks are held.

use std::fmt::Write;

use rand::RngExt;
use rand::rngs::StdRng;

/// A name that nobody else uses: 20 random bytes in hexadecimal, the size that redis.io proposes
/// ("we can assume it's 20 bytes from /dev/urandom"). A new one for every attempt to acquire:
/// tokens that live longer than that are bug class S12.
pub(crate) fn random_token(entropy: &mut StdRng) -> String {
    let bytes: [u8; 20] = entropy.random();
    bytes
        .iter()
        .fold(String::with_capacity(40), |mut hex, byte| {
            // Writing to a String cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}
