//! What a client sends, through a link.

use picklock_scenarios::Direction;

use crate::one_direction::same_however_it_comes;

/// Reads requests, in one piece and in pieces.
///
/// # Panics
/// A byte was lost or changed, or what is found depends on how the bytes come.
pub fn run(input: &[u8]) {
    same_however_it_comes(Direction::Request, b"", input);
}
