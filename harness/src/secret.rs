//! A password that cannot be displayed. It is also removed from texts that its server sends, and from URLs.

use std::borrow::Cow;
use std::fmt;

/// Minimum length of a password that is masked in all data that a server sends. A shorter password may occur in replies
/// by chance, and is removed only from messages.
const MIN_UNLIKELY: usize = 8;

/// The text that replaces a password in a message.
const HIDDEN: &str = "***";

/// A password, and the environment variable that passes it to a child process. `Debug` shows only the variable, and
/// there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    variable: String,
    text: String,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.variable)
    }
}

impl Secret {
    /// Creates a secret that a child process gets in this environment variable.
    pub fn new(variable: String, text: String) -> Secret {
        Secret { variable, text }
    }

    /// Returns the name of the variable.
    pub fn variable(&self) -> &str {
        &self.variable
    }

    /// Returns the password itself, for a login or the environment of a child process. It must not appear in messages.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// Returns a server's text without the password, in plain or percent-encoded form.
    pub fn hidden_in<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let bytes = text.as_bytes();
        let (mut shown, mut copied, mut at) = (String::new(), 0, 0);
        while at < bytes.len() {
            match self.matched(&bytes[at..], true) {
                Match::Whole(length) => {
                    shown.push_str(&text[copied..at]);
                    shown.push_str(HIDDEN);
                    at += length;
                    copied = at;
                }
                Match::Begins | Match::Nothing => at += 1,
            }
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        shown.push_str(&text[copied..]);
        Cow::Owned(shown)
    }

    /// Compares the beginning of `bytes` with the password. Each byte of the password may be percent-encoded in
    /// `bytes`. `is_all` states that no further bytes follow.
    fn matched(&self, bytes: &[u8], is_all: bool) -> Match {
        let mut at = 0;
        for byte in self.text.bytes() {
            let encoded = format!("%{byte:02X}");
            let rest = &bytes[at..];
            let seen = rest.len().min(encoded.len());
            // A percent sign is also the beginning of its own encoded form, so the encoded form is compared first.
            let may_be_encoded = encoded.as_bytes()[..seen].eq_ignore_ascii_case(&rest[..seen]);
            if may_be_encoded && seen == encoded.len() {
                at += encoded.len();
            } else if may_be_encoded && !is_all {
                return Match::Begins;
            } else if rest.first() == Some(&byte) {
                at += 1;
            } else {
                return Match::Nothing;
            }
        }
        if at == 0 {
            Match::Nothing
        } else {
            Match::Whole(at)
        }
    }
}

/// Result of the comparison of bytes with a password.
#[derive(Debug, PartialEq, Eq)]
enum Match {
    /// The bytes begin with the password, which takes this number of bytes.
    Whole(usize),
    /// All of the bytes are the beginning of the password, but it is not complete.
    Begins,
    /// The bytes are something else.
    Nothing,
}

/// Masks a password in the bytes that a server sends, without changing their number, so that lengths in replies stay
/// correct.
#[derive(Debug)]
pub struct Mask {
    secret: Option<Secret>,
    /// Bytes that may begin the password.
    held: Vec<u8>,
}

impl Mask {
    /// Creates the mask of a connection. The mask changes nothing if there is no password, or if the password is so
    /// short that it may occur by chance.
    pub fn new(secret: Option<&Secret>) -> Mask {
        let is_masked = |secret: &&Secret| {
            secret.text.len() >= MIN_UNLIKELY && !secret.text.contains(['\r', '\n'])
        };
        Mask {
            secret: secret.filter(is_masked).cloned(),
            held: Vec::new(),
        }
    }

    /// Returns the bytes that can be passed on. If `bytes` ends with the beginning of the password, that part is held
    /// back until the next call. This cannot hold back the end of a reply, because every reply ends with a line break.
    pub fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let Some(secret) = &self.secret else {
            return all;
        };
        let mut at = 0;
        while at < all.len() {
            match secret.matched(&all[at..], false) {
                Match::Whole(length) => {
                    all[at..at + length].fill(b'*');
                    at += length;
                }
                Match::Begins => {
                    self.held = all.split_off(at);
                }
                Match::Nothing => at += 1,
            }
        }
        all
    }
}

/// Returns the parts of a URL, which may be malformed, that cannot be a password: its scheme, and a host with a port
/// and a database at its end.
pub fn without_password(url: &str) -> String {
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) if scheme.chars().all(|c| c.is_ascii_lowercase()) => {
            (format!("{scheme}://"), rest)
        }
        _ => (String::new(), url),
    };
    let (user, place) = match rest.rsplit_once('@') {
        Some((_, place)) => ("...@", place),
        None => ("", rest),
    };
    let place = if is_place(place) { place } else { "..." };
    format!("{scheme}{user}{place}")
}

/// Returns `true` if the text is a host name or address, with or without a port and a database.
fn is_place(text: &str) -> bool {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (place, database) = text.split_once('/').unwrap_or((text, ""));
    let (host, port) = match place.strip_prefix('[').and_then(|it| it.split_once(']')) {
        Some((host, port)) => (
            host.replace(':', ""),
            port.strip_prefix(':').unwrap_or(port),
        ),
        None => {
            let (host, port) = place.split_once(':').unwrap_or((place, ""));
            (host.to_owned(), port)
        }
    };
    let is_of_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    host.bytes().all(is_of_host) && is_number(port) && is_number(database)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::new("V".into(), text.into())
    }

    #[test]
    fn password_is_removed_from_a_message_in_every_form() {
        let secret = secret("p@ss wörd%");
        for form in [
            "p@ss wörd%",
            "p%40ss%20w%C3%B6rd%25",
            "%70%40%73%73%20%77%c3%b6%72%64%25",
        ] {
            let text = format!("-ERR {form} é {form}");
            assert_eq!(secret.hidden_in(&text), "-ERR *** é ***");
        }
        assert_eq!(secret.hidden_in("-ERR p@ss wörd%"), "-ERR ***");
        assert_eq!(secret.hidden_in("p@ss"), "p@ss");
        assert_eq!(format!("{secret:?}"), "V");
        assert_eq!(
            Secret::new(String::new(), String::new()).hidden_in("a"),
            "a"
        );
    }

    #[test]
    fn bytes_are_masked_across_reads_without_changing_their_number() {
        let sent = b"+a s3cr3tPaSsWord b s3cr%33tPaSsWord\r\n-s3cr3t\r\n";
        for step in 1..sent.len() {
            let mut mask = Mask::new(Some(&secret("s3cr3tPaSsWord")));
            let passed: Vec<u8> = sent.chunks(step).flat_map(|part| mask.pass(part)).collect();
            assert_eq!(
                passed,
                b"+a ************** b ****************\r\n-s3cr3t\r\n"
            );
        }
    }

    /// A short password may occur in every reply.
    #[test]
    fn short_password_does_not_mask_replies() {
        let mut mask = Mask::new(Some(&secret("redis")));
        assert_eq!(mask.pass(b"+redis\r\n"), b"+redis\r\n");
        assert_eq!(Mask::new(None).pass(b"+OK\r\n"), b"+OK\r\n");
    }
}
