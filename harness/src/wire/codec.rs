//! What a composite reply means, as redis-protocol reads it.

use redis_protocol::resp2::decode as resp2;
use redis_protocol::resp2::types::RangeFrame as Resp2;
use redis_protocol::resp3::decode::complete as resp3;
use redis_protocol::resp3::types::RangeFrame as Resp3;

/// What a reply is, as far as the matching of replies to requests must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    /// The answer to a request.
    Answer,
    /// An error, which is an answer too.
    Error,
    /// Unprompted: a RESP3 push frame.
    Push,
    /// Shaped like a published message, in an array. It is one where somebody has subscribed.
    Message,
    /// A confirmation of (un)subscribing, in an array or a push frame.
    Confirmation {
        /// It confirms that a subscription was made; else that it was ended.
        subscribed: bool,
        /// Subscriptions that the connection has now.
        count: i64,
        /// It came as a RESP3 push frame.
        push: bool,
    },
}

/// redis-protocol does not read these bytes as one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotOneFrame;

/// Reads one composite reply, which must fill `frame` to its last byte.
pub(super) fn read(frame: &[u8], is_resp3: bool) -> Result<Reply, NotOneFrame> {
    if is_resp3 {
        let (decoded, len) = resp3::decode_range(frame)
            .map_err(|_| NotOneFrame)?
            .ok_or(NotOneFrame)?;
        if len != frame.len() {
            return Err(NotOneFrame);
        }
        Ok(of_resp3(frame, &decoded))
    } else {
        let (decoded, len) = resp2::decode_range(frame)
            .map_err(|_| NotOneFrame)?
            .ok_or(NotOneFrame)?;
        if len != frame.len() {
            return Err(NotOneFrame);
        }
        Ok(of_resp2(frame, &decoded))
    }
}

fn of_resp2(bytes: &[u8], frame: &Resp2) -> Reply {
    let Resp2::Array(elements) = frame else {
        return Reply::Answer;
    };
    let kind = match elements.first() {
        Some(Resp2::BulkString(range) | Resp2::SimpleString(range)) => &bytes[range.0..range.1],
        _ => return Reply::Answer,
    };
    let count = match elements.get(2) {
        Some(Resp2::Integer(count)) if elements.len() == 3 => Some(*count),
        _ => None,
    };
    of_kind(kind, count, false).unwrap_or(Reply::Answer)
}

fn of_resp3(bytes: &[u8], frame: &Resp3) -> Reply {
    let (elements, push) = match frame {
        Resp3::Push { data, .. } => (data, true),
        Resp3::Array { data, .. } => (data, false),
        Resp3::BlobError { .. } | Resp3::SimpleError { .. } => return Reply::Error,
        _ => return Reply::Answer,
    };
    let otherwise = if push { Reply::Push } else { Reply::Answer };
    let kind = match elements.first() {
        Some(Resp3::BlobString { data, .. } | Resp3::SimpleString { data, .. }) => {
            &bytes[data.0..data.1]
        }
        _ => return otherwise,
    };
    let count = match elements.get(2) {
        Some(Resp3::Number { data, .. }) if elements.len() == 3 => Some(*data),
        _ => None,
    };
    match of_kind(kind, count, push) {
        Some(Reply::Message) if push => Reply::Push,
        Some(reply) => reply,
        None => otherwise,
    }
}

fn of_kind(kind: &[u8], count: Option<i64>, push: bool) -> Option<Reply> {
    match (kind, count) {
        (b"subscribe" | b"psubscribe" | b"ssubscribe", Some(count)) => Some(Reply::Confirmation {
            subscribed: true,
            count,
            push,
        }),
        (b"unsubscribe" | b"punsubscribe" | b"sunsubscribe", Some(count)) => {
            Some(Reply::Confirmation {
                subscribed: false,
                count,
                push,
            })
        }
        (b"message" | b"pmessage" | b"smessage", None) => Some(Reply::Message),
        _ => None,
    }
}
