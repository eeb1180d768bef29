//! The words of errors that differ between versions. The model's own words are those of Redis 7.0.

use std::borrow::Cow;

use super::ServerVersion;
use super::reply::Refusal;

/// What Valkey says instead, mostly because the name `Redis` is gone.
const VALKEY: &[(&str, &str)] = &[
    (
        "ERR Unknown Redis command called from script",
        "ERR Unknown command called from script",
    ),
    (
        "ERR Wrong number of args calling Redis command from script",
        "ERR Wrong number of args calling command from script",
    ),
    (
        "ERR Lua redis lib command arguments must be strings or integers",
        "ERR Command arguments must be strings or integers",
    ),
    (
        "ERR Please specify at least one argument for this redis lib call",
        "ERR Please specify at least one argument for this call",
    ),
    (
        "NOSCRIPT No matching script. Please use EVAL.",
        "NOSCRIPT No matching script.",
    ),
];

/// What Valkey says since 9.
const NOT_FROM_SCRIPT: Refusal =
    Refusal::fixed("ERR This Redis command is not allowed from script");

impl Refusal {
    /// The same refusal in the words of this version.
    pub(super) fn worded(self, version: ServerVersion) -> Refusal {
        if !version.is_valkey() {
            return self;
        }
        if version == ServerVersion::Valkey91 && self == NOT_FROM_SCRIPT {
            return Refusal::fixed("ERR This Valkey command is not allowed from script");
        }
        let other = VALKEY.iter().find(|(words, _)| *words == self.0);
        match other {
            Some((_, words)) => Refusal(Cow::Borrowed(words)),
            None => self,
        }
    }

    /// An expiry that is not positive, or too far away.
    pub(super) fn invalid_expiry(version: ServerVersion, command: &str) -> Refusal {
        Refusal::of(match version.since_70() {
            true => format!("ERR invalid expire time in '{command}' command"),
            false => format!("ERR invalid expire time in {command}"),
        })
    }

    /// A command that does not exist.
    pub(super) fn unknown_command(version: ServerVersion, args: &[&[u8]]) -> Refusal {
        const SHOWN: usize = 128;
        let mut shown = String::new();
        for word in &args[1..] {
            if shown.len() >= SHOWN {
                break;
            }
            let word = Refusal::quote(word, SHOWN - shown.len());
            shown += &match version.since_70() {
                true => format!("'{word}' "),
                false => format!("`{word}`, "),
            };
        }
        let name = Refusal::quote(args[0], SHOWN);
        Refusal::of(match version.since_70() {
            true => format!("ERR unknown command '{name}', with args beginning with: {shown}"),
            false => format!("ERR unknown command `{name}`, with args beginning with: {shown}"),
        })
    }

    /// A subcommand that does not exist.
    pub(super) fn unknown_subcommand(
        version: ServerVersion,
        container: &str,
        word: &[u8],
    ) -> Refusal {
        let word = Refusal::quote(word, 128);
        let container = container.to_ascii_uppercase();
        Refusal::of(match version.since_70() {
            true => format!("ERR unknown subcommand '{word}'. Try {container} HELP."),
            false => format!(
                "ERR Unknown subcommand or wrong number of arguments for '{word}'. Try {container} HELP."
            ),
        })
    }

    /// A subcommand that notices only when it is executed that its words are too many or wrong.
    pub(super) fn wrong_subcommand_use(
        version: ServerVersion,
        container: &str,
        word: &[u8],
    ) -> Refusal {
        let word = Refusal::quote(word, 128);
        let begin = if version.since_70() { 'u' } else { 'U' };
        Refusal::of(format!(
            "ERR {begin}nknown subcommand or wrong number of arguments for '{word}'. Try {container} HELP."
        ))
    }

    /// A command that a RESP2 connection cannot send while it has subscriptions.
    pub(super) fn while_subscribed(version: ServerVersion, command: &str) -> Refusal {
        let kinds = if version.since_70() { "P|S" } else { "P" };
        Refusal::of(format!(
            "ERR Can't execute '{command}': only ({kinds})SUBSCRIBE / ({kinds})UNSUBSCRIBE / PING / QUIT \
             / RESET are allowed in this context"
        ))
    }

    /// A pair without its second half.
    pub(super) fn odd_pairs(version: ServerVersion, command: &str) -> Refusal {
        match version.since_70() {
            true => Refusal::arity(command),
            // For MSETNX too.
            false => Refusal::fixed("ERR wrong number of arguments for MSET"),
        }
    }

    /// `MULTI` or `WATCH` in a transaction, which breaks it; `None` where the command itself refuses.
    pub(super) fn not_in_transaction(version: ServerVersion, command: &str) -> Option<Refusal> {
        if !["multi", "watch"].contains(&command) {
            return None;
        }
        match version {
            ServerVersion::Valkey81 => Some(Refusal::fixed(
                "ERR Command not allowed inside a transaction",
            )),
            ServerVersion::Valkey91 => Some(Refusal::of(format!(
                "ERR Command '{command}' not allowed inside a transaction"
            ))),
            _ => None,
        }
    }
}
