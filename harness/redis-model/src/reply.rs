//! Replies of a server.

use std::borrow::Cow;

/// One reply, in the data types of RESP3. [`Reply::for_resp2`] converts it for a client that uses RESP2.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// `+OK`.
    Simple(Cow<'static, str>),
    /// `-ERR ...`. Contains the text after the minus sign.
    Error(Cow<'static, str>),
    /// `:1`.
    Int(i64),
    /// `$3`: bytes.
    Bulk(Vec<u8>),
    /// `$-1`, or `_` in RESP3.
    Nil,
    /// `*-1`, or `_` in RESP3.
    NilArray,
    /// `*2`.
    Array(Vec<Reply>),
    /// `%1`; flat array in RESP2.
    Map(Vec<(Reply, Reply)>),
    /// `~1`; array in RESP2.
    Set(Vec<Reply>),
    /// `,1.5`, stored as the text that the server sends; bulk string in RESP2.
    Double(String),
    /// `=`, text with a three-letter format; bulk string in RESP2.
    Verbatim(&'static str, Vec<u8>),
    /// `>`, an out-of-band message; array in RESP2.
    Push(Vec<Reply>),
    /// Several replies to one command, as for `SUBSCRIBE a b`.
    Several(Vec<Reply>),
    /// No reply yet, because the client is blocked. The reply is returned later by [`super::Server::take_messages`].
    Blocked,
}

impl Reply {
    /// `+OK`.
    pub const OK: Reply = Reply::Simple(Cow::Borrowed("OK"));

    /// Returns a bulk string.
    pub fn bulk(bytes: impl AsRef<[u8]>) -> Reply {
        Reply::Bulk(bytes.as_ref().to_vec())
    }

    /// Returns an error with this text (code first, no minus sign).
    pub fn error(text: impl Into<Cow<'static, str>>) -> Reply {
        Reply::Error(text.into())
    }

    /// Returns `true` for an error reply.
    pub fn is_error(&self) -> bool {
        matches!(self, Reply::Error(_))
    }

    /// Returns an array of bulk strings.
    pub(super) fn bulks<T: AsRef<[u8]>>(items: impl IntoIterator<Item = T>) -> Reply {
        Reply::Array(items.into_iter().map(Reply::bulk).collect())
    }

    /// Converts the reply for a client that uses RESP2.
    pub fn for_resp2(self) -> Reply {
        let all = |items: Vec<Reply>| items.into_iter().map(Reply::for_resp2).collect();
        match self {
            Reply::Map(pairs) => {
                let items = pairs.into_iter().flat_map(|(key, value)| [key, value]);
                Reply::Array(items.map(Reply::for_resp2).collect())
            }
            Reply::Array(items) | Reply::Set(items) | Reply::Push(items) => {
                Reply::Array(all(items))
            }
            Reply::Several(items) => Reply::Several(all(items)),
            Reply::Double(text) => Reply::Bulk(text.into_bytes()),
            Reply::Verbatim(_, text) => Reply::Bulk(text),
            plain => plain,
        }
    }
}

/// The refusal of a command: the text of the error reply.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refusal(pub Cow<'static, str>);

/// The result of a command's implementation.
pub(super) type CommandResult = Result<Reply, Refusal>;

impl Refusal {
    pub(super) const SYNTAX: Refusal = Refusal::fixed("ERR syntax error");
    pub(super) const NOT_INTEGER: Refusal =
        Refusal::fixed("ERR value is not an integer or out of range");
    pub(super) const NOT_FLOAT: Refusal = Refusal::fixed("ERR value is not a valid float");
    pub(super) const NOT_POSITIVE: Refusal =
        Refusal::fixed("ERR value is out of range, must be positive");
    pub(super) const WRONG_TYPE: Refusal =
        Refusal::fixed("WRONGTYPE Operation against a key holding the wrong kind of value");
    pub(super) const OVERFLOW: Refusal =
        Refusal::fixed("ERR increment or decrement would overflow");

    /// Creates a refusal with a constant text.
    pub(super) const fn fixed(text: &'static str) -> Refusal {
        Refusal(Cow::Borrowed(text))
    }

    /// Creates a refusal with a generated text. Error replies cannot contain line breaks.
    pub(super) fn new(text: impl Into<Cow<'static, str>>) -> Refusal {
        match text.into() {
            Cow::Borrowed(text) => Refusal::fixed(text),
            Cow::Owned(text) => Refusal(Cow::Owned(text.replace(['\r', '\n'], " "))),
        }
    }

    /// Quotes a client's word for an error text, as a C string of at most `room` bytes.
    pub(super) fn quote(word: &[u8], room: usize) -> String {
        let length = word.iter().take_while(|byte| **byte != 0).count();
        String::from_utf8_lossy(&word[..length.min(room)]).into_owned()
    }

    /// Returns the error of a command with too few or too many arguments.
    pub(super) fn arity(command: &str) -> Refusal {
        Refusal::new(format!(
            "ERR wrong number of arguments for '{command}' command"
        ))
    }

    /// Returns the error for an expiry that is not positive or is out of range.
    pub(super) fn invalid_expiry(command: &str) -> Refusal {
        Refusal::new(format!("ERR invalid expire time in '{command}' command"))
    }

    /// Returns the error for a command that does not exist.
    pub(super) fn unknown_command(args: &[&[u8]]) -> Refusal {
        const SHOWN: usize = 128;
        let mut shown = String::new();
        for word in &args[1..] {
            if shown.len() < SHOWN {
                let word = Refusal::quote(word, SHOWN - shown.len());
                shown += &format!("'{word}' ");
            }
        }
        let name = Refusal::quote(args[0], SHOWN);
        Refusal::new(format!(
            "ERR unknown command '{name}', with args beginning with: {shown}"
        ))
    }

    /// Returns the error for a subcommand that does not exist.
    pub(super) fn unknown_subcommand(container: &str, word: &[u8]) -> Refusal {
        let word = Refusal::quote(word, 128);
        let container = container.to_ascii_uppercase();
        Refusal::new(format!(
            "ERR unknown subcommand '{word}'. Try {container} HELP."
        ))
    }

    /// Returns the error for a command that a RESP2 connection cannot send while it has subscriptions.
    pub(super) fn while_subscribed(command: &str) -> Refusal {
        Refusal::new(format!(
            "ERR Can't execute '{command}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT \
             / RESET are allowed in this context"
        ))
    }
}

/// Returns a refusal with this text as a `Result` of any type.
pub(super) fn refuse<T>(text: impl Into<Cow<'static, str>>) -> Result<T, Refusal> {
    Err(Refusal::new(text))
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Reply {
        Reply::Error(refusal.0)
    }
}
