//! Conversion of replies to RESP bytes and to values of the `redis` crate.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::Reply;

impl Reply {
    /// Appends the reply in the wire format of RESP2 (`resp3` false) or RESP3.
    ///
    /// The reply must already match the protocol, as the replies of [`super::Server::execute`] do.
    pub fn encode(&self, resp3: bool, out: &mut Vec<u8>) {
        match self {
            Reply::Simple(text) => line(out, b'+', text.as_bytes()),
            Reply::Error(text) => line(out, b'-', text.as_bytes()),
            Reply::Int(number) => line(out, b':', number.to_string().as_bytes()),
            Reply::Double(text) => line(out, b',', text.as_bytes()),
            Reply::Bulk(bytes) => {
                header(out, b'$', bytes.len());
                out.extend_from_slice(bytes);
                out.extend_from_slice(b"\r\n");
            }
            Reply::Verbatim(format, text) => {
                header(out, b'=', text.len() + format.len() + 1);
                out.extend_from_slice(format.as_bytes());
                out.push(b':');
                out.extend_from_slice(text);
                out.extend_from_slice(b"\r\n");
            }
            Reply::Nil | Reply::NilArray if resp3 => out.extend_from_slice(b"_\r\n"),
            Reply::Nil => out.extend_from_slice(b"$-1\r\n"),
            Reply::NilArray => out.extend_from_slice(b"*-1\r\n"),
            Reply::Array(items) => aggregate(out, b'*', items, resp3),
            Reply::Set(items) => aggregate(out, b'~', items, resp3),
            Reply::Push(items) => aggregate(out, b'>', items, resp3),
            Reply::Map(pairs) => {
                header(out, b'%', pairs.len());
                for (key, value) in pairs {
                    key.encode(resp3, out);
                    value.encode(resp3, out);
                }
            }
            Reply::Several(items) => items.iter().for_each(|item| item.encode(resp3, out)),
            Reply::Blocked => {}
        }
    }

    /// Converts the reply to the value that the `redis` crate passes to a lock. Errors become `Value::ServerError`.
    pub fn into_value(self) -> redis::Value {
        use redis::Value;
        let list = |items: Vec<Reply>| items.into_iter().map(Reply::into_value).collect();
        match self {
            Reply::Simple(text) if text == "OK" => Value::Okay,
            Reply::Simple(text) => Value::SimpleString(text.into_owned()),
            Reply::Error(text) => Value::ServerError(server_error(&text)),
            Reply::Int(number) => Value::Int(number),
            Reply::Bulk(bytes) => Value::BulkString(bytes),
            Reply::Nil | Reply::NilArray | Reply::Blocked => Value::Nil,
            Reply::Array(items) | Reply::Several(items) => Value::Array(list(items)),
            Reply::Set(items) => Value::Set(list(items)),
            Reply::Map(pairs) => {
                let pairs = pairs.into_iter();
                let pair = |(key, value): (Reply, Reply)| (key.into_value(), value.into_value());
                Value::Map(pairs.map(pair).collect())
            }
            Reply::Double(text) => Value::Double(text.parse().unwrap_or(f64::NAN)),
            Reply::Verbatim(_, text) => Value::VerbatimString {
                format: redis::VerbatimFormat::Text,
                text: String::from_utf8_lossy(&text).into_owned(),
            },
            Reply::Push(items) => push_value(items),
        }
    }
}

fn push_value(mut items: Vec<Reply>) -> redis::Value {
    let kind = match items.first() {
        Some(Reply::Bulk(bytes)) => match bytes.as_slice() {
            b"message" => redis::PushKind::Message,
            b"subscribe" => redis::PushKind::Subscribe,
            b"unsubscribe" => redis::PushKind::Unsubscribe,
            b"pmessage" => redis::PushKind::PMessage,
            b"psubscribe" => redis::PushKind::PSubscribe,
            b"punsubscribe" => redis::PushKind::PUnsubscribe,
            other => redis::PushKind::Other(String::from_utf8_lossy(other).into_owned()),
        },
        _ => redis::PushKind::Other(String::new()),
    };
    let rest = items.split_off(items.len().min(1));
    redis::Value::Push {
        kind,
        data: rest.into_iter().map(Reply::into_value).collect(),
    }
}

thread_local! {
    /// Cached errors. Locks receive only a few different errors, but receive them often, such as `NOSCRIPT` from every
    /// node of every run. The crate's parser allocates eight kilobytes for each error.
    static ERRORS: RefCell<BTreeMap<String, redis::ServerError>> = const { RefCell::new(BTreeMap::new()) };
}

/// Maximum number of cached errors.
const MAX_ERRORS: usize = 64;
const MAX_ERROR_LENGTH: usize = 256;

fn server_error(text: &str) -> redis::ServerError {
    ERRORS.with_borrow_mut(|errors| {
        if let Some(known) = errors.get(text) {
            return known.clone();
        }
        let error = parsed_error(text);
        if errors.len() < MAX_ERRORS && text.len() <= MAX_ERROR_LENGTH {
            errors.insert(text.to_owned(), error.clone());
        }
        error
    })
}

/// Parses an error with the parser of the `redis` crate, which derives the kind of error from the text.
fn parsed_error(text: &str) -> redis::ServerError {
    let line = format!("-{text}\r\n");
    match redis::parse_redis_value(line.as_bytes()) {
        Ok(redis::Value::ServerError(error)) => error,
        // The text contains a line break, which the protocol cannot transmit either.
        _ => parsed_error("ERR error text with a line break"),
    }
}

fn line(out: &mut Vec<u8>, kind: u8, text: &[u8]) {
    out.push(kind);
    // A line break would end the reply early, so a real server sends spaces instead.
    out.extend(text.iter().map(|byte| match byte {
        b'\r' | b'\n' => b' ',
        byte => *byte,
    }));
    out.extend_from_slice(b"\r\n");
}

fn header(out: &mut Vec<u8>, kind: u8, count: usize) {
    line(out, kind, count.to_string().as_bytes());
}

fn aggregate(out: &mut Vec<u8>, kind: u8, items: &[Reply], resp3: bool) {
    header(out, kind, items.len());
    for item in items {
        item.encode(resp3, out);
    }
}
