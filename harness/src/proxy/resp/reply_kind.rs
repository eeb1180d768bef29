//! Tells replies to requests from messages that a server sends unrequested, in RESP2 and RESP3.

use crate::proxy::resp::reply_scan::ReplyScan;
use crate::proxy::resp::scan::header;

/// The kind of a reply, for matching replies to requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::proxy) enum ReplyKind {
    /// A reply to a request.
    Answer,
    /// An error, which is also a reply to a request.
    Error,
    /// A RESP3 push frame, which does not answer a request.
    Push,
    /// An array that looks like a published message. It is a message only if the connection has subscriptions.
    Message,
    /// The confirmation that a subscription was made or ended, in an array or a push frame.
    Confirmation {
        /// Whether a subscription was made; otherwise it was ended.
        subscribed: bool,
        /// Number of subscriptions of the connection after it.
        count: i64,
        /// Whether it arrived as a RESP3 push frame.
        push: bool,
    },
}

impl ReplyKind {
    /// Classifies a complete reply. Reads only the first three elements, which are enough to decide.
    pub(in crate::proxy) fn parse(frame: &[u8]) -> Self {
        let (at, push) = match first_of_value(frame, 0) {
            Some((at, b'>')) => (at, true),
            Some((at, b'*')) => (at, false),
            Some((_, b'!' | b'-')) => return ReplyKind::Error,
            _ => return ReplyKind::Answer,
        };
        match (kind_of_elements(frame, at, push), push) {
            (None, false) => ReplyKind::Answer,
            (None | Some(ReplyKind::Message), true) => ReplyKind::Push,
            (Some(kind), _) => kind,
        }
    }
}

/// Returns the kind of the array or push frame at `at` if it is about subscriptions, and `None` otherwise.
fn kind_of_elements(frame: &[u8], at: usize, push: bool) -> Option<ReplyKind> {
    let (elements, at) = number(frame, at)?;
    let (at, kind) = first_of_value(frame, at)?;
    let end = after_element(frame, at)?;
    let word = match kind {
        b'+' => frame.get(at + 1..end - 2)?,
        b'$' => frame.get(number(frame, at)?.1..end - 2)?,
        _ => return None,
    };
    let subscribed = match word {
        b"message" | b"pmessage" | b"smessage" => {
            let counted = elements == 3 && third(frame, end).is_some();
            return (!counted).then_some(ReplyKind::Message);
        }
        b"subscribe" | b"psubscribe" | b"ssubscribe" => true,
        b"unsubscribe" | b"punsubscribe" | b"sunsubscribe" => false,
        _ => return None,
    };
    let count = third(frame, end).filter(|_| elements == 3)?;
    Some(ReplyKind::Confirmation {
        subscribed,
        count,
        push,
    })
}

/// Returns the element after the element at `at` if it is a number, and `None` otherwise.
fn third(frame: &[u8], at: usize) -> Option<i64> {
    let at = after_element(frame, at)?;
    match first_of_value(frame, at)? {
        (at, b':') => {
            // Do not use `header` here, because it rejects numbers that are too long for a length.
            let text = frame.get(at + 1..after_element(frame, at)? - 2)?;
            std::str::from_utf8(text).ok()?.parse().ok()
        }
        _ => None,
    }
}

/// Returns the start of the value at `at`, after its attributes, and its type byte.
fn first_of_value(frame: &[u8], mut at: usize) -> Option<(usize, u8)> {
    while *frame.get(at)? == b'|' {
        let (pairs, mut next) = number(frame, at)?;
        for _ in 0..pairs * 2 {
            next = after_element(frame, next)?;
        }
        at = next;
    }
    Some((at, *frame.get(at)?))
}

/// Returns the number after the type byte at `at`, and the start of the next line.
fn number(frame: &[u8], at: usize) -> Option<(i64, usize)> {
    header(frame, at, "").ok()
}

/// Returns the end of the element at `at`, including nested elements.
fn after_element(frame: &[u8], at: usize) -> Option<usize> {
    let (len, _) = ReplyScan::default().advance(frame.get(at..)?).ok()?;
    Some(at + len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(frame: &str) -> ReplyKind {
        ReplyKind::parse(frame.as_bytes())
    }

    fn confirmation(subscribed: bool, count: i64, push: bool) -> ReplyKind {
        ReplyKind::Confirmation {
            subscribed,
            count,
            push,
        }
    }

    #[test]
    fn confirmations_and_messages_differ_from_answers() {
        let subscribed = "3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:2\r\n";
        assert_eq!(
            kind(&format!("*{subscribed}")),
            confirmation(true, 2, false)
        );
        assert_eq!(kind(&format!(">{subscribed}")), confirmation(true, 2, true));
        let ended = "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n";
        assert_eq!(kind(ended), confirmation(false, 0, false));
        let message = "3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n";
        assert_eq!(kind(&format!("*{message}")), ReplyKind::Message);
        assert_eq!(kind(&format!(">{message}")), ReplyKind::Push);
        assert_eq!(kind(">2\r\n+invalidate\r\n*0\r\n"), ReplyKind::Push);
        for answer in [
            "*0\r\n",
            "*-1\r\n",
            "*2\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n",
            "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n$1\r\n2\r\n",
            "*3\r\n*1\r\n+subscribe\r\n$1\r\nc\r\n:2\r\n",
            "%1\r\n+subscribe\r\n:1\r\n",
        ] {
            assert_eq!(kind(answer), ReplyKind::Answer, "{answer:?}");
        }
    }

    #[test]
    fn attributes_do_not_count_as_elements() {
        let attribute = "|1\r\n+k\r\n*2\r\n:1\r\n%1\r\n+a\r\n_\r\n";
        let elements = format!("{attribute}+subscribe\r\n{attribute}+c\r\n{attribute}:1\r\n");
        let subscribed = format!("{attribute}>3\r\n{elements}");
        assert_eq!(kind(&subscribed), confirmation(true, 1, true));
        assert_eq!(kind(&format!("{attribute}!3\r\nERR\r\n")), ReplyKind::Error);
    }
}
