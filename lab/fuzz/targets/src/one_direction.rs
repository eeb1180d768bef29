//! The bytes of one direction of a connection, read in one piece and in pieces.

use picklock_harness::wire::{ConnectionReader, LogEntry};
use picklock_scenarios::Direction;

/// Sizes of pieces, bytes.
const PIECES: [usize; 3] = [usize::MAX, 1, 7];

/// What a link made of the bytes.
#[derive(Debug, PartialEq)]
struct Reading {
    entries: Vec<LogEntry>,
    why_raw: Option<&'static str>,
}

/// Reads the bytes after these requests, in pieces of several sizes.
///
/// # Panics
/// A byte was lost or changed, or what is found depends on the size of the pieces.
pub fn same_however_it_comes(direction: Direction, asked: &[u8], bytes: &[u8]) {
    let [whole, others @ ..] = PIECES.map(|size| read(direction, asked, bytes, size));
    for other in others {
        assert_eq!(whole, other, "what is found depends on how the bytes come");
    }
}

fn read(direction: Direction, asked: &[u8], bytes: &[u8], size: usize) -> Reading {
    let mut connection = ConnectionReader::new(&["lock".to_owned(), "lock:1".to_owned()]);
    let mut sent = Vec::new();
    connection.read(Direction::Request, asked, &mut sent);
    sent.clear();
    for piece in bytes.chunks(size.min(bytes.len().max(1))) {
        connection.read(direction, piece, &mut sent);
    }
    connection.end(direction, &mut sent);
    assert!(sent == bytes, "a link loses or changes no byte");
    Reading {
        entries: connection.log().entries(),
        why_raw: connection.why_raw(),
    }
}
