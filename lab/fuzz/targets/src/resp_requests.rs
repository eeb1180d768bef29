//! Requests of a client, through a link.

use picklock_scenarios::Direction;

use crate::one_direction::same_however_it_comes;

/// Reads requests at once and in pieces.
///
/// # Panics
/// Panics if a byte was lost or changed, or if the parsed frames depend on how the bytes arrive.
pub fn run(input: &[u8]) {
    same_however_it_comes(Direction::Request, b"", input);
}
