//! The reasons why an external server cannot be used, each with advice for the user.

use std::io;
use std::time::Duration;

use redis::RedisError;
use tokio_rustls::rustls;

/// How long to wait for the answer to a short command.
pub(super) const ANSWER: Duration = Duration::from_secs(5);

/// Maximum number of characters of a server's text.
const MAX_TEXT: usize = 300;

/// The reason why a server cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the messages describe the variants, and the field names their contents"
)]
pub enum ExternalFault {
    #[error("cannot connect: {0}")]
    Unreachable(io::Error),
    #[error("no answer to {what} within {within:?}")]
    TimedOut { what: String, within: Duration },
    #[error(
        "the connection was closed without an answer; if the server requires TLS, use a URL with rediss://"
    )]
    Closed,
    #[error(
        "certificate not accepted: {0}; pass the authority that signed it with `--redis-ca FILE`"
    )]
    Certificate(rustls::CertificateError),
    #[error(
        "no TLS connection: {0}; if the server requires a client certificate, pass `--redis-cert` and `--redis-key`; if \
         it does not use TLS, use a URL with redis://"
    )]
    Tls(io::Error),
    /// A file for TLS cannot be used.
    #[error("{file}: {why}")]
    File { file: String, why: String },
    #[error(
        "password required: write it in the URL, or name an environment variable there (redis://USER:$VARIABLE@HOST)"
    )]
    PasswordWanted,
    #[error("user or password rejected: {0}")]
    WrongPassword(String),
    /// The server's access control list forbids a command.
    #[error("{reply}\n{}", rights(.prefix))]
    Forbidden {
        reply: String,
        /// Prefix of the run's keys.
        prefix: String,
    },
    #[error("too old, or not Redis: Picklock requires Redis 6.0 or newer, or Valkey")]
    TooOld,
    #[error(
        "part of a Redis Cluster ({0}): pass one server of a Cluster that is ready, and no other; it represents the whole \
         Cluster"
    )]
    Cluster(String),
    #[error("a Sentinel, not a server: pass the master that it monitors")]
    Sentinel,
    #[error("a replica, which rejects writes (READONLY): pass its master")]
    ReadOnly,
    #[error("still loading its data (LOADING): try again once it is ready")]
    Loading,
    #[error("its answers to {0} do not end")]
    Endless(&'static str),
    /// The server rejects a command for another reason.
    #[error("command rejected: {0}")]
    Refused(String),
    #[error(
        "{count} keys already have {prefix} in their names, such as {example}: choose another `--redis-prefix`, or remove \
         them: {}", removal(.url, .prefix)
    )]
    PrefixTaken {
        url: String,
        prefix: String,
        count: usize,
        example: String,
    },
    #[error("the keys of this run may still be there ({why}); remove them: {}", removal(.url, .prefix))]
    KeysLeft {
        url: String,
        prefix: String,
        why: String,
    },
}

impl ExternalFault {
    /// Creates the fault of a server that did not answer `what` in time.
    pub(super) fn timed_out(what: &str, within: Duration) -> ExternalFault {
        let what = what.to_owned();
        ExternalFault::TimedOut { what, within }
    }

    /// Converts an error reply to `command`. `prefix` is the prefix of the run's keys.
    pub(super) fn from_reply(error: &RedisError, command: &str, prefix: &str) -> ExternalFault {
        let reply = || match (error.code(), error.detail()) {
            (Some(code), Some(detail)) => short(&format!("{code} {detail}")),
            _ => short(&error.to_string()),
        };
        match error.code() {
            Some("NOAUTH") => ExternalFault::PasswordWanted,
            Some("WRONGPASS") => ExternalFault::WrongPassword(reply()),
            Some("NOPERM") => ExternalFault::Forbidden {
                reply: reply(),
                prefix: prefix.to_owned(),
            },
            Some("MOVED" | "ASK" | "CLUSTERDOWN" | "CROSSSLOT") => ExternalFault::Cluster(reply()),
            Some("READONLY") => ExternalFault::ReadOnly,
            Some("LOADING") => ExternalFault::Loading,
            Some(_) => ExternalFault::Refused(reply()),
            None if error.is_timeout() => ExternalFault::timed_out(command, ANSWER),
            None if error.is_io_error() => ExternalFault::Closed,
            None => ExternalFault::Refused(reply()),
        }
    }

    /// Converts an error of a TLS connection.
    pub(super) fn from_tls(error: io::Error) -> ExternalFault {
        match error.get_ref().and_then(|inner| inner.downcast_ref()) {
            Some(rustls::Error::InvalidCertificate(why)) => ExternalFault::Certificate(why.clone()),
            _ => ExternalFault::Tls(error),
        }
    }
}

/// Returns the beginning of a server's text, which may have any length.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Lists the permissions that a user of the server needs.
fn rights(prefix: &str) -> String {
    format!(
        "  = help: the user needs the commands of the lock, and +ping +pttl +set +del +scan, on the keys ~*{prefix}*; for \
         the key history also +monitor +echo +info +config|get +psubscribe, and the channels &__keyevent@*__:expired &__keyevent@*__:evicted \
         (full list: `picklock docs servers`)"
    )
}

/// Returns the command that removes the keys of a run.
fn removal(url: &str, prefix: &str) -> String {
    format!(
        "redis-cli -u \"{url}\" --scan --pattern '*{prefix}*' | xargs -r redis-cli -u \"{url}\" del"
    )
}
