//! The options of `SCAN` and its relatives.

use super::super::ServerVersion;
use super::super::command::Args;
use super::super::glob::matches_name;
use super::super::number::integer_argument;
use super::super::reply::Refusal;
use super::option_word::is_word;

/// What is iterated over.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Scanned {
    Keys,
    Hash,
    Set,
    SortedSet,
}

impl Scanned {
    /// The type of the key; empty for the keyspace.
    pub(super) fn type_name(self) -> &'static str {
        match self {
            Scanned::Keys => "",
            Scanned::Hash => "hash",
            Scanned::Set => "set",
            Scanned::SortedSet => "zset",
        }
    }
}

/// What a step should return.
pub(super) struct Options<'a> {
    pub count: usize,
    pub names_only: bool,
    pattern: Option<&'a [u8]>,
    kind: Option<&'a [u8]>,
}

/// The names of types that Valkey knows.
const TYPES: [&str; 6] = ["string", "list", "set", "zset", "hash", "stream"];

impl<'a> Options<'a> {
    pub(super) fn read(
        version: ServerVersion,
        words: Args<'a>,
        what: Scanned,
    ) -> Result<Options<'a>, Refusal> {
        let mut options = Options {
            count: 10,
            names_only: false,
            pattern: None,
            kind: None,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let followed = words.len() >= 1;
            let mut next = || words.next().copied().unwrap_or_default();
            if is_word(word, "COUNT") && followed {
                let count = integer_argument(next())?;
                if count < 1 {
                    return Err(Refusal::SYNTAX);
                }
                options.count = usize::try_from(count).unwrap_or(usize::MAX);
            } else if is_word(word, "MATCH") && followed {
                options.pattern = Some(next());
            } else if is_word(word, "TYPE") && followed && what == Scanned::Keys {
                let kind = next();
                check_type(version, kind)?;
                options.kind = Some(kind);
            } else {
                options.read_flag(version, word, what)?;
            }
        }
        Ok(options)
    }

    fn read_flag(
        &mut self,
        version: ServerVersion,
        word: &[u8],
        what: Scanned,
    ) -> Result<(), Refusal> {
        if is_word(word, "NOVALUES") && version.since_72() {
            if what != Scanned::Hash {
                return Err(Refusal::fixed(
                    "ERR NOVALUES option can only be used in HSCAN",
                ));
            }
        } else if is_word(word, "NOSCORES") && version.is_valkey() {
            if what != Scanned::SortedSet {
                return Err(Refusal::fixed(
                    "ERR NOSCORES option can only be used in ZSCAN",
                ));
            }
        } else {
            return Err(Refusal::SYNTAX);
        }
        self.names_only = true;
        Ok(())
    }

    pub(super) fn allow_name(&self, name: &[u8]) -> bool {
        self.pattern
            .is_none_or(|pattern| matches_name(pattern, name))
    }

    pub(super) fn allow_type(&self, name: &str) -> bool {
        self.kind.is_none_or(|kind| is_word(kind, name))
    }
}

/// Valkey refuses a type that does not exist; Redis finds no key of it.
fn check_type(version: ServerVersion, kind: &[u8]) -> Result<(), Refusal> {
    if !version.is_valkey() || TYPES.iter().any(|name| is_word(kind, name)) {
        return Ok(());
    }
    let kind = Refusal::quote(kind, usize::MAX);
    Err(Refusal::of(format!("ERR unknown type name '{kind}'")))
}
