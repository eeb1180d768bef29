//! What a request asks for: its command, the lock's key that it names, and the answers it gets.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use memchr::memmem::Finder;
use picklock_scenarios::ServerError;

use crate::proxy::command_log::derived_keys::DerivedKeys;
use crate::proxy::command_log::operation::Operation;
use crate::proxy::resp::scan::Shape;

/// Longest command name that is kept; the longest of Redis 7 has 20 letters.
const MAX_NAME_LENGTH: usize = 23;

/// A command's name in upper case, kept in place so that remembering it allocates nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct CommandName {
    len: u8,
    letters: [u8; MAX_NAME_LENGTH],
}

impl CommandName {
    /// No command: the name of a reply that answers no request.
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

    /// The name as text.
    pub(in crate::proxy) fn as_str(&self) -> &str {
        // Only printable ASCII was put in.
        std::str::from_utf8(&self.letters[..usize::from(self.len)]).unwrap_or("?")
    }
}

impl fmt::Debug for CommandName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which answers a request gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::proxy) enum Expect {
    /// One.
    Answer,
    /// None: an empty line.
    Nothing,
    /// This many confirmations (subscribing and unsubscribing; 0: unknown, at least one).
    Confirmations {
        /// Of subscriptions made; else of subscriptions ended.
        subscribed: bool,
        /// How many.
        count: u32,
    },
    /// `CLIENT REPLY ON`: from here on everything is answered, this too.
    RepliesOn,
    /// `CLIENT REPLY OFF`: from here on nothing is answered.
    RepliesOff,
    /// `CLIENT REPLY SKIP`: neither this nor the next is answered.
    SkipNext,
    /// After it the connection is more than requests and replies (`PSYNC`).
    Unpredictable,
}

/// A request as it is remembered until it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::proxy) struct Request {
    pub command: CommandName,
    /// Which of the locks' keys it names.
    pub key: Option<u32>,
    /// Its answers.
    pub expect: Expect,
    /// What its worker was busy with when it came.
    pub operation: Operation,
    /// Of its arguments, where somebody wants to recognise it; otherwise 0.
    pub digest: u64,
    /// Among those that its connection has sent, from 0, where these are kept; otherwise 0.
    pub number: u64,
    /// The proxy answers it with this error, and its server gets something else.
    pub answer: Option<ServerError>,
}

impl Request {
    /// No request, during an operation.
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
    /// Longest first, so that `lock:12` is not taken for `lock:1`.
    finders: Vec<(u32, Finder<'static>)>,
    derived: DerivedKeys,
}

impl Keys {
    /// A key's number is its position in `names`. An empty name matches nothing.
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

    /// From now on these are the keys of a node that hold locks under names of another kind.
    pub(in crate::proxy) fn derive(&self, node: usize, keys: &[(u32, Vec<u8>)]) {
        self.derived.replace(node, keys);
    }

    /// The lock whose key an argument of this request contains; of several the longest.
    pub(in crate::proxy) fn named_by(&self, frame: &[u8], shape: Shape) -> Option<u32> {
        // One search of the whole frame decides nearly always. Only a hit must be checked
        // argument by argument, because the lengths between them could match too.
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

/// Reads a whole request, which came during an operation of its worker.
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

/// What two requests have in common if, and in practice only if, their arguments are the same.
pub(in crate::proxy) fn digest<'a>(arguments: impl Iterator<Item = &'a [u8]>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for argument in arguments {
        argument.hash(&mut hasher);
    }
    hasher.finish()
}

/// The digest of a whole request.
pub(in crate::proxy) fn digest_of(frame: &[u8], shape: Shape) -> u64 {
    digest(arguments(frame, shape).skip(1).map(|range| &frame[range]))
}

fn confirmations(subscribed: bool, channels: usize) -> Expect {
    // Subscribing without a channel is an error, which is one answer whatever is expected.
    Expect::Confirmations {
        subscribed,
        count: u32::try_from(channels).unwrap_or(u32::MAX),
    }
}

fn client(subcommand: Option<&[u8]>, mode: Option<&[u8]>) -> Expect {
    let is = |word: Option<&[u8]>, text: &str| {
        word.is_some_and(|word| word.eq_ignore_ascii_case(text.as_bytes()))
    };
    match () {
        () if !is(subcommand, "REPLY") => Expect::Answer,
        () if is(mode, "ON") => Expect::RepliesOn,
        () if is(mode, "OFF") => Expect::RepliesOff,
        () if is(mode, "SKIP") => Expect::SkipNext,
        () => Expect::Answer,
    }
}

/// The arguments of a whole request, as ranges of its bytes.
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

/// The length after the type byte at `at`, and where the next line begins. The scan has found the
/// frame whole, so both are there.
fn length(frame: &[u8], at: usize) -> (usize, usize) {
    let mut len = 0;
    let mut index = at + 1;
    while let Some(&digit @ b'0'..=b'9') = frame.get(index) {
        len = len * 10 + usize::from(digit - b'0');
        index += 1;
    }
    (len, index + 2)
}
