//! Tokens: the names under which locks are held.

use rand::RngExt;
use rand::rngs::StdRng;

/// A unique name: 20 random bytes in hexadecimal, the size that redis.io proposes ("we can assume
/// it's 20 bytes from /dev/urandom"). Every attempt to acquire gets a new one: tokens that live
/// longer are bug class S12.
pub(crate) fn random_token(entropy: &mut StdRng) -> String {
    let bytes: [u8; 20] = entropy.random();
    let mut hex = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        for digit in [byte >> 4, byte & 0xf] {
            hex.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
        }
    }
    hex
}
