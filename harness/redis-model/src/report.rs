//! A server's report to an observer. It contains the lines of MONITOR and the notifications of expired and evicted
//! keys, as bytes of one RESP3 connection.
//!
//! A command is reported after its execution, so a key that the command finds expired is reported earlier. A script is
//! an exception: its line precedes the lines of its inner commands. The commands of a transaction are reported when
//! they are executed, and `EXEC` is reported after them. A command that is refused before its execution is not
//! reported. This order was observed on Redis 7.0.15.

use std::io::Write;

use super::Now;
use super::session::ClientId;

/// Added to a client's number to get its port. Lower ports belong to servers.
const FIRST_PORT: u32 = 40_000;

/// The part of the report that has not been taken yet.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) bytes: Vec<u8>,
}

impl Report {
    /// Reports the execution of a command. `sender` is `None` if a script called the command. `database` is the
    /// database that is selected after the command.
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

/// Appends one byte, escaped as in a C string literal.
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
