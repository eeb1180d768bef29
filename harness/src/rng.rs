//! The only source of randomness: everything else is derived from a run's seed.

use rand::rngs::{StdRng, SysRng};
use rand::{SeedableRng, TryRng};

/// Returns a seed from the operating system, for a run without a given seed. The seed can be zero.
///
/// # Errors
/// Returns an error if the operating system cannot provide entropy.
pub fn fresh_seed() -> Result<u64, rand::rngs::SysError> {
    // Users type seeds by hand to repeat a run, so a seed of 32 bits is more convenient.
    Ok(u64::from(SysRng.try_next_u32()?))
}

/// Returns random bytes that cannot be derived from any seed, for a password that the run's record must not reveal.
///
/// # Errors
/// Returns an error if the operating system cannot provide entropy.
pub fn fresh_secret() -> Result<[u8; 16], rand::rngs::SysError> {
    let mut bytes = [0; 16];
    SysRng.try_fill_bytes(&mut bytes)?;
    Ok(bytes)
}

/// Returns a generator for one purpose of a run. Different purposes never share a stream.
pub fn stream(seed: u64, purpose: &str, index: u64) -> StdRng {
    StdRng::seed_from_u64(derive(seed, purpose, index))
}

/// Derives a seed for one purpose from the run's seed (FNV-1a over the arguments).
pub fn derive(seed: u64, purpose: &str, index: u64) -> u64 {
    let bytes = seed.to_le_bytes().into_iter().chain(purpose.bytes());
    let bytes = bytes.chain(index.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
