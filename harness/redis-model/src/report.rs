//! What a server tells an observer: the lines of MONITOR and the notifications of expired and
//! evicted keys, as bytes on one connection that speaks RESP3.
//!
//! A command's line comes after what the command has done, so a key that it finds expired is told
//! before it. Scripts are the exception: their line comes first, and those of their inner commands
//! follow. The commands of a transaction are told when they are executed, and `EXEC` after them. A
//! command that is refused before it is executed is not told. All this was seen on Redis 7.0.15.

use std::io::Write;

use super::Now;
use super::session::ClientId;

/// Client numbers begin with 1; ports below this belong to servers.
const FIRST_PORT: u32 = 40_000;

/// What was told and not yet taken.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) bytes: Vec<u8>,
}

impl Report {
    /// A command was executed. No sender: a script called it. `database`: the one that is selected afterwards.
    pub(super) fn executed(
        &mut self,
        now: Now,
        database: usize,
        sender: Option<ClientId>,
        args: &[&[u8]],
    ) {
        let (seconds, micros) = (now.wall_us / 1_000_000, now.wall_us % 1_000_000);
        let line = &mut self.bytes;
        // Writing to a vector cannot fail.
        let _ = match sender {
            None => write!(line, "+{seconds}.{micros:06} [{database} lua]"),
            Some(ClientId(number)) => {
                let port = FIRST_PORT.saturating_add(number);
                write!(line, "+{seconds}.{micros:06} [{database} 127.0.0.1:{port}]")
            }
        };
        for word in args {
            line.extend_from_slice(b" \"");
            word.iter().for_each(|byte| escaped(line, *byte));
            line.push(b'"');
        }
        line.extend_from_slice(b"\r\n");
    }

    /// A key was removed: it had `expired`, or was `evicted`.
    pub(super) fn notified(&mut self, event: &str, database: usize, key: &[u8]) {
        let pattern = format!("__keyevent@*__:{event}");
        let channel = format!("__keyevent@{database}__:{event}");
        self.bytes.extend_from_slice(b">4\r\n");
        for word in [b"pmessage", pattern.as_bytes(), channel.as_bytes(), key] {
            let _ = write!(self.bytes, "${}\r\n", word.len());
            self.bytes.extend_from_slice(word);
            self.bytes.extend_from_slice(b"\r\n");
        }
    }
}

/// One byte as in a quoted string of C.
fn escaped(line: &mut Vec<u8>, byte: u8) {
    match byte {
        b'"' | b'\\' => line.extend([b'\\', byte]),
        b'\n' => line.extend(b"\\n"),
        b'\r' => line.extend(b"\\r"),
        b'\t' => line.extend(b"\\t"),
        7 => line.extend(b"\\a"),
        8 => line.extend(b"\\b"),
        b' '..=b'~' => line.push(byte),
        _ => {
            let _ = write!(line, "\\x{byte:02x}");
        }
    }
}
