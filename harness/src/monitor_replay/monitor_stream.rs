//! Parses the data that a server sends on a connection with `MONITOR` and keyspace notifications.
//!
//! Lines of MONITOR are simple strings: `+1700000000.123456 [0 127.0.0.1:51234] "SET" "k" "v"`. Notifications are
//! RESP3 push frames. Apart from these, such a connection carries only the replies to the commands that set it up.

use crate::proxy::{ReplyStream, bulk_strings};

/// Maximum number of bytes of an invalid line that are quoted.
const MAX_QUOTED: usize = 200;

/// One command that a server has executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonitorLine {
    /// The server's wall clock: microseconds since the Unix epoch.
    pub wall_us: i64,
    /// The database in which the command was executed.
    pub database: usize,
    /// The sender of the command.
    pub source: Source,
    /// Name and arguments.
    pub words: Vec<Vec<u8>>,
}

impl MonitorLine {
    /// Returns the command's name in upper case.
    pub(super) fn name(&self) -> String {
        let name = self.words.first().map(Vec::as_slice).unwrap_or_default();
        String::from_utf8_lossy(name).to_ascii_uppercase()
    }
}

/// The sender of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A client, identified by its address.
    Client(String),
    /// The latest script.
    Script,
}

/// A message from a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerMessage {
    /// The server has executed a command.
    Executed(MonitorLine),
    /// The server has removed a key without a command.
    Lost {
        /// The reason.
        loss: Loss,
        /// The key's database.
        database: usize,
        /// Its name.
        key: Vec<u8>,
    },
    /// A reply to a command of this connection, as text.
    Answer(String),
}

/// The reason why a server removed a key without a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The key had expired.
    Expired,
    /// The key was evicted.
    Evicted,
}

/// Parses the messages in bytes that arrive in chunks.
#[derive(Debug, Default)]
pub struct MonitorStream(ReplyStream);

impl MonitorStream {
    /// Adds bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.0.feed(bytes);
    }

    /// Returns the next message, or `None` if it is still incomplete.
    ///
    /// # Errors
    /// Returns the beginning of an invalid line, or the reason if the bytes are not RESP or are too long.
    pub fn next_message(&mut self) -> Result<Option<ServerMessage>, String> {
        while let Some(reply) = self.0.next_reply()? {
            if let [b'+' | b'-', line @ .., b'\r', b'\n'] = reply {
                return parse_line(line).map(Some);
            }
            if let Some(message) = parse_notification(&bulk_strings(reply)) {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }
}

fn parse_notification(words: &[&[u8]]) -> Option<ServerMessage> {
    let [kind, .., channel, key] = words else {
        return None;
    };
    if *kind != b"pmessage" {
        return None;
    }
    let channel = std::str::from_utf8(channel).ok()?;
    let (database, event) = channel.strip_prefix("__keyevent@")?.split_once("__:")?;
    let loss = match event {
        "expired" => Loss::Expired,
        "evicted" => Loss::Evicted,
        _ => return None,
    };
    Some(ServerMessage::Lost {
        loss,
        database: database.parse().ok()?,
        key: key.to_vec(),
    })
}

fn parse_line(line: &[u8]) -> Result<ServerMessage, String> {
    if !line.first().is_some_and(u8::is_ascii_digit) {
        return Ok(ServerMessage::Answer(
            String::from_utf8_lossy(line).into_owned(),
        ));
    }
    let executed = parse_monitor_line(line).map(ServerMessage::Executed);
    executed.ok_or_else(|| {
        let beginning = &line[..line.len().min(MAX_QUOTED)];
        String::from_utf8_lossy(beginning).into_owned()
    })
}

/// Parses a line such as `1700000000.123456 [0 127.0.0.1:51234] "SET" "k" "v"`.
fn parse_monitor_line(line: &[u8]) -> Option<MonitorLine> {
    let open = memchr::memchr(b'[', line)?;
    let close = open
        + memchr::memmem::find(&line[open..], b"] ").or_else(|| {
            // The last bracket before the command ends the address, which may itself contain a bracket.
            line[open..].iter().rposition(|byte| *byte == b']')
        })?;
    // `[0 [::1]:51234]` has two closing brackets.
    let time = std::str::from_utf8(&line[..open]).ok()?.trim();
    let (seconds, micros) = time.split_once('.')?;
    let seconds: i64 = seconds.parse().ok()?;
    let micros: i64 = micros.parse().ok()?;
    let place = std::str::from_utf8(&line[open + 1..close]).ok()?;
    let (database, source) = place.split_once(' ')?;
    Some(MonitorLine {
        wall_us: seconds.checked_mul(1_000_000)?.checked_add(micros)?,
        database: database.parse().ok()?,
        source: match source {
            "lua" => Source::Script,
            address => Source::Client(address.to_owned()),
        },
        words: words(line.get(close + 1..)?)?,
    })
}

/// Parses words such as `"SET" "a\x00b"`, each in quotes, with escapes as in C.
///
/// Valkey 8.1 does not escape quotes inside a word. So a quote ends a word only before the next word or at the end
/// of the line, which holds for the closing quotes of every server.
fn words(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut bytes = text.iter().copied();
    loop {
        match bytes.next() {
            None => return Some(words),
            Some(b' ') => {}
            Some(b'"') => words.push(word(&mut bytes)?),
            Some(_) => return None,
        }
    }
}

fn word(bytes: &mut (impl Iterator<Item = u8> + Clone)) -> Option<Vec<u8>> {
    let mut word = Vec::new();
    loop {
        let byte = match bytes.next()? {
            b'"' => {
                let mut ahead = bytes.clone();
                match (ahead.next(), ahead.next()) {
                    (None, _) | (Some(b' '), Some(b'"')) => return Some(word),
                    _ => b'"',
                }
            }
            b'\\' => match bytes.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'a' => 7,
                b'b' => 8,
                b'x' => {
                    let mut digit = || char::from(bytes.next()?).to_digit(16);
                    u8::try_from(digit()? * 16 + digit()?).ok()?
                }
                escaped => escaped,
            },
            byte => byte,
        };
        word.push(byte);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quotes_inside_a_word_need_no_escape() {
        let parsed = words(br#" "EVAL" "call("SET", KEYS[1])\n" "0""#).unwrap();
        assert_eq!(parsed, [&b"EVAL"[..], b"call(\"SET\", KEYS[1])\n", b"0"]);
        assert_eq!(
            words(br#" "a\"b" "" "c""#).unwrap(),
            [&b"a\"b"[..], b"", b"c"]
        );
        assert_eq!(words(br#" "never ends"#), None);
    }

    fn all(chunks: &[&[u8]]) -> Vec<ServerMessage> {
        let mut stream = MonitorStream::default();
        let mut seen = Vec::new();
        for chunk in chunks {
            stream.feed(chunk);
            while let Some(message) = stream.next_message().unwrap() {
                seen.push(message);
            }
        }
        seen
    }

    /// Recorded from Redis 7.0.15.
    const RECORDED: &[u8] = b"%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n\
        >3\r\n$10\r\npsubscribe\r\n$22\r\n__keyevent@*__:expired\r\n:1\r\n+OK\r\n\
        +1795323761.403668 [0 127.0.0.1:37198] \"SET\" \"k\" \"v\\x00\\\"x\" \"PX\" \"50\" \"NX\"\r\n\
        +1795323761.403759 [0 lua] \"set\" \"j\" \"1\"\r\n\
        >4\r\n$8\r\npmessage\r\n$22\r\n__keyevent@*__:expired\r\n$22\r\n__keyevent@0__:expired\r\n$1\r\nj\r\n\
        +1795323761.707321 [3 [::1]:37198] \"GET\" \"k\"\r\n";

    #[test]
    fn commands_and_expiries_are_parsed() {
        let messages = all(&[RECORDED]);
        let ServerMessage::Executed(set) = &messages[1] else {
            panic!("{messages:?}")
        };
        assert_eq!(messages[0], ServerMessage::Answer("OK".into()));
        assert_eq!(set.wall_us, 1_795_323_761_403_668);
        assert_eq!(set.source, Source::Client("127.0.0.1:37198".into()));
        assert_eq!(set.words[2], b"v\x00\"x");
        assert_eq!(set.words.len(), 6);
        assert!(
            matches!(&messages[2], ServerMessage::Executed(line) if line.source == Source::Script)
        );
        let expired = ServerMessage::Lost {
            loss: Loss::Expired,
            database: 0,
            key: b"j".to_vec(),
        };
        assert_eq!(messages[3], expired);
        assert!(
            matches!(&messages[4], ServerMessage::Executed(line) if line.database == 3
            && line.source == Source::Client("[::1]:37198".into()))
        );
        assert_eq!(messages.len(), 5);
    }

    #[test]
    fn invalid_line_is_an_error() {
        let mut stream = MonitorStream::default();
        stream.feed(b"+17 nothing of the kind\r\n");
        assert!(stream.next_message().is_err());
    }

    #[test]
    fn endless_line_is_an_error() {
        let mut stream = MonitorStream::default();
        stream.feed(b"+1795323761.403668 [0 127.0.0.1:1] \"SET\" \"k\" \"");
        stream.feed(&vec![b'x'; 8 << 20]);
        assert!(stream.next_message().unwrap_err().contains("too long"));
    }

    proptest! {
        #[test]
        fn chunk_boundaries_do_not_matter(cut in 0..RECORDED.len(), other in 0..RECORDED.len()) {
            let (from, to) = (cut.min(other), cut.max(other));
            let chunks = [&RECORDED[..from], &RECORDED[from..to], &RECORDED[to..]];
            prop_assert_eq!(all(&chunks), all(&[RECORDED]));
        }

        #[test]
        fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut stream = MonitorStream::default();
            stream.feed(&bytes);
            while let Ok(Some(_)) = stream.next_message() {}
        }
    }
}
