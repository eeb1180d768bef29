//! Report of a server to an observer: the lines of MONITOR and the notifications of expired and evicted keys, as bytes
//! on one RESP3 connection.
//!
//! A command's line follows its execution, so a key that it finds expired is reported before it. Scripts are the
//! exception: their line precedes those of their inner commands. The commands of a transaction are reported when they
//! are executed, and `EXEC` after them. A command that is refused before its execution is not reported. All this was
//! observed on Redis 7.0.15.

use std::io::Write;

use super::Now;
use super::session::ClientId;

/// Client numbers start at 1; ports below this belong to servers.
const FIRST_PORT: u32 = 40_000;

/// The report since it was last taken.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) bytes: Vec<u8>,
}

impl Report {
    /// Reports the execution of a command. `sender` is absent if a script called it. `database` is the one that is
    /// selected after it.
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

    /// Reports the removal of a key, with the event `expired` or `evicted`.
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

/// Appends one byte as in a quoted string of C.
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
