//! Reads requests: the command, the lock's key that it names, and the replies to expect.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use memchr::memmem::Finder;
use picklock_scenarios::ServerError;

use crate::proxy::derived_keys::DerivedKeys;
use crate::proxy::operation::Operation;
use crate::proxy::resp::scan::Shape;

/// Maximum length of a command name; the longest in Redis 7 has 20 letters.
const MAX_NAME_LENGTH: usize = 23;

/// A command's name in upper case, stored inline so that a copy needs no allocation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct CommandName {
    len: u8,
    letters: [u8; MAX_NAME_LENGTH],
}

impl CommandName {
    /// The empty name, for replies that do not answer a request.
    pub(in crate::proxy) const NONE: CommandName = CommandName {
        len: 0,
        letters: [0; MAX_NAME_LENGTH],
    };

    pub(crate) fn new(word: &[u8]) -> Self {
        let mut name = CommandName::NONE;
        for (slot, byte) in name.letters.iter_mut().zip(word) {
            *slot = match byte.to_ascii_uppercase() {
                printable @ b'!'..=b'~' => printable,
                _ => b'?',
            };
            name.len += 1;
        }
        name
    }

    /// Returns the name as text.
    pub(in crate::proxy) fn as_str(&self) -> &str {
        // `new` stores only printable ASCII.
        std::str::from_utf8(&self.letters[..usize::from(self.len)]).unwrap_or("?")
    }
}

impl fmt::Debug for CommandName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The replies to expect for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::proxy) enum Expect {
    /// One reply.
    Answer,
    /// No reply, as for an empty line.
    Nothing,
    /// One confirmation per channel, as for `SUBSCRIBE` and `UNSUBSCRIBE`.
    Confirmations {
        /// Whether the confirmations are about new subscriptions; otherwise they are about the end of subscriptions.
        subscribed: bool,
        /// Number of confirmations. 0 means that the number is unknown, but there is at least one.
        count: u32,
    },
    /// `CLIENT REPLY ON`: this and all later requests are answered.
    RepliesOn,
    /// `CLIENT REPLY OFF`: from now on, requests are not answered.
    RepliesOff,
    /// `CLIENT REPLY SKIP`: neither this request nor the next one is answered.
    SkipNext,
    /// After this request, the connection carries more than requests and replies (`PSYNC`).
    Unpredictable,
}

/// The data of a request that is kept until the request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::proxy) struct Request {
    pub command: CommandName,
    /// Index of the lock's key that the request names, or `None` if it names none.
    pub key: Option<u32>,
    /// The replies to expect.
    pub expect: Expect,
    /// The worker's operation when the request arrived.
    pub operation: Operation,
    /// Digest of the arguments if requests are tracked, otherwise 0.
    pub digest: u64,
    /// Number among the requests of the connection, from 0, if requests are tracked; otherwise 0.
    pub number: u64,
    /// The error with which the proxy answers the request, while the server receives a substitute; `None` if the server
    /// answers it.
    pub answer: Option<ServerError>,
}

impl Request {
    /// Returns the placeholder for a frame that does not belong to a request, during an operation.
    pub(in crate::proxy) fn none(operation: Operation) -> Self {
        Request {
            command: CommandName::NONE,
            key: None,
            expect: Expect::Nothing,
            operation,
            digest: 0,
            number: 0,
            answer: None,
        }
    }
}

/// The names of the locks' keys, prepared for searching.
pub(in crate::proxy) struct Keys {
    /// The names, longest first, so that `lock:1` is not found in `lock:12`.
    finders: Vec<(u32, Finder<'static>)>,
    derived: DerivedKeys,
}

impl Keys {
    /// Prepares the search for these names. A key's number is its index in `names`. An empty name matches nothing.
    pub(in crate::proxy) fn new(names: &[String]) -> Self {
        let mut finders: Vec<_> = (0_u32..)
            .zip(names)
            .filter(|(_, name)| !name.is_empty())
            .map(|(index, name)| (index, Finder::new(name.as_bytes()).into_owned()))
            .collect();
        finders.sort_by_key(|(_, finder)| std::cmp::Reverse(finder.needle().len()));
        Keys {
            finders,
            derived: DerivedKeys::default(),
        }
    }

    /// Replaces the list of a node's keys that hold locks under derived names.
    pub(in crate::proxy) fn derive(&self, node: usize, keys: &[(u32, Vec<u8>)]) {
        self.derived.replace(node, keys);
    }

    /// Returns the lock whose key is contained in an argument of this request. If there are several, the longest
    /// name counts.
    pub(in crate::proxy) fn named_by(&self, frame: &[u8], shape: Shape) -> Option<u32> {
        // A search of the whole frame is nearly always enough. Only a hit must be checked argument by argument, because
        // the length lines between the arguments could also match.
        let names = |finder: &Finder<'_>| {
            finder.find(frame).is_some()
                && (shape == Shape::Inline
                    || arguments(frame, shape).any(|range| finder.find(&frame[range]).is_some()))
        };
        let mut finders = self.finders.iter();
        let named = finders.find_map(|(index, finder)| names(finder).then_some(*index));
        named.or_else(|| self.derived.find(names))
    }
}

/// Reads a complete request, which arrived during an operation of its worker.
pub(in crate::proxy) fn read(
    frame: &[u8],
    shape: Shape,
    keys: &Keys,
    operation: Operation,
) -> Request {
    let mut words = arguments(frame, shape).map(|range| &frame[range]);
    let Some(first) = words.next() else {
        return Request::none(operation);
    };
    let command = CommandName::new(first);
    let expect = match command.as_str() {
        "SUBSCRIBE" | "PSUBSCRIBE" | "SSUBSCRIBE" => confirmations(true, words.count()),
        "UNSUBSCRIBE" | "PUNSUBSCRIBE" | "SUNSUBSCRIBE" => confirmations(false, words.count()),
        "CLIENT" => client(words.next(), words.next()),
        "SYNC" | "PSYNC" => Expect::Unpredictable,
        _ => Expect::Answer,
    };
    Request {
        command,
        key: keys.named_by(frame, shape),
        expect,
        ..Request::none(operation)
    }
}

/// Returns a hash of the arguments. In practice, it is equal for two requests only if their arguments are.
pub(in crate::proxy) fn digest<'a>(arguments: impl Iterator<Item = &'a [u8]>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for argument in arguments {
        argument.hash(&mut hasher);
    }
    hasher.finish()
}

/// Returns the digest of the arguments of a complete request.
pub(in crate::proxy) fn digest_of(frame: &[u8], shape: Shape) -> u64 {
    digest(arguments(frame, shape).skip(1).map(|range| &frame[range]))
}

fn confirmations(subscribed: bool, channels: usize) -> Expect {
    // A subscription without a channel is an error. An error is a single reply, whatever is expected.
    Expect::Confirmations {
        subscribed,
        count: u32::try_from(channels).unwrap_or(u32::MAX),
    }
}

fn client(subcommand: Option<&[u8]>, mode: Option<&[u8]>) -> Expect {
    let is = |word: Option<&[u8]>, text: &str| {
        word.is_some_and(|word| word.eq_ignore_ascii_case(text.as_bytes()))
    };
    if !is(subcommand, "REPLY") {
        Expect::Answer
    } else if is(mode, "ON") {
        Expect::RepliesOn
    } else if is(mode, "OFF") {
        Expect::RepliesOff
    } else if is(mode, "SKIP") {
        Expect::SkipNext
    } else {
        Expect::Answer
    }
}

/// Iterates over the arguments of a complete request, as ranges of its bytes.
pub(in crate::proxy) fn arguments(
    frame: &[u8],
    shape: Shape,
) -> impl Iterator<Item = Range<usize>> {
    let mut position = match shape {
        Shape::Command => length(frame, 0).1,
        Shape::Inline => 0,
        _ => frame.len(),
    };
    std::iter::from_fn(move || {
        if shape == Shape::Inline {
            let is_space = |byte: &u8| byte.is_ascii_whitespace();
            let start = position + frame[position..].iter().position(|byte| !is_space(byte))?;
            let len = frame[start..].iter().position(is_space);
            position = len.map_or(frame.len(), |len| start + len);
            return Some(start..position);
        }
        if frame.get(position) != Some(&b'$') {
            return None;
        }
        let (len, start) = length(frame, position);
        position = start + len + 2;
        Some(start..start + len)
    })
}

/// Returns the length after the type byte at `at`, and the start of the next line. Both exist, because the frame is
/// complete.
fn length(frame: &[u8], at: usize) -> (usize, usize) {
    let mut len = 0;
    let mut index = at + 1;
    while let Some(&digit @ b'0'..=b'9') = frame.get(index) {
        len = len * 10 + usize::from(digit - b'0');
        index += 1;
    }
    (len, index + 2)
}
