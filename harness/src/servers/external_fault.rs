//! Why a server that somebody else has started cannot be used, and what its users have to do about it: the one
//! place for these words.

use std::io;
use std::time::Duration;

use redis::RedisError;
use tokio_rustls::rustls;

/// A server answers a short command within this time, or stands still.
pub(super) const ANSWER: Duration = Duration::from_secs(5);

/// Why a server cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the messages say what each is, and the names what is in it"
)]
pub enum ExternalFault {
    #[error("it cannot be reached: {0}")]
    Unreachable(io::Error),
    #[error("it did not answer within {0:?}")]
    TimedOut(Duration),
    #[error(
        "it closed the connection without an answer; a server with TLS does so, and wants a URL with rediss://"
    )]
    Closed,
    #[error(
        "its certificate is not accepted: {0}; name the authority that signed it with `--redis-ca FILE`"
    )]
    Certificate(rustls::CertificateError),
    #[error(
        "no connection with TLS: {0}; a server that wants a certificate of its clients needs `--redis-cert` and \
         `--redis-key`, and one without TLS a URL with redis://"
    )]
    Tls(io::Error),
    /// A file for TLS cannot be used.
    #[error("{file}: {why}")]
    File { file: String, why: String },
    #[error(
        "it wants a password: write it in the URL, or name an environment variable there (redis://USER:$VARIABLE@HOST)"
    )]
    PasswordWanted,
    #[error("it does not take the user or the password: {0}")]
    WrongPassword(String),
    /// Its access control list forbids something.
    #[error("{reply}\n{}", rights(.prefix))]
    Forbidden {
        reply: String,
        /// What the names of the run's keys begin with.
        prefix: String,
    },
    #[error("it is too old, or no Redis: Picklock needs Redis 6.0 or newer, or Valkey")]
    TooOld,
    #[error(
        "it belongs to a Redis Cluster ({0}): name one server of a Cluster that is ready and no other, and it stands \
         for all of the Cluster"
    )]
    Cluster(String),
    #[error("it is a Sentinel: name the master that it watches")]
    Sentinel,
    #[error("it is a replica, which takes no writes (READONLY): name its master")]
    ReadOnly,
    #[error("it is still loading its data (LOADING): try again when it is ready")]
    Loading,
    /// It refuses, for another reason.
    #[error("it refuses: {0}")]
    Refused(String),
    #[error(
        "it has {count} keys with {prefix} in their name already, such as {example}: choose another `--redis-prefix`, or \
         remove them: {}", removal(.url, .prefix)
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
    /// What an answer that is an error means. `prefix`: that of the run's keys.
    pub(super) fn of_answer(error: &RedisError, prefix: &str) -> ExternalFault {
        let reply = || match (error.code(), error.detail()) {
            (Some(code), Some(detail)) => format!("{code} {detail}"),
            _ => error.to_string(),
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
            None if error.is_timeout() => ExternalFault::TimedOut(ANSWER),
            None if error.is_io_error() => ExternalFault::Closed,
            None => ExternalFault::Refused(error.to_string()),
        }
    }

    /// What the end of an attempt to speak TLS means.
    pub(super) fn of_tls(error: io::Error) -> ExternalFault {
        let told = error.get_ref().and_then(|inner| inner.downcast_ref());
        match told {
            Some(rustls::Error::InvalidCertificate(why)) => ExternalFault::Certificate(why.clone()),
            _ => ExternalFault::Tls(error),
        }
    }
}

/// What a user of the server needs to be allowed.
fn rights(prefix: &str) -> String {
    format!(
        "  = help: the user needs the commands of the lock, and +ping +pttl +set +del +scan, on the keys ~*{prefix}*; for \
         the key history of the keys also +monitor +echo +info +config|get +psubscribe, and the channels &__keyevent@*__:expired &__keyevent@*__:evicted \
         (`picklock docs servers` has them all)"
    )
}

/// The command that removes the keys of a run.
fn removal(url: &str, prefix: &str) -> String {
    format!(
        "redis-cli -u \"{url}\" --scan --pattern '*{prefix}*' | xargs -r redis-cli -u \"{url}\" del"
    )
}
