//! Removes the password of a misplaced or mistyped URL from the error that quotes the URL.

use std::cmp::Reverse;
use std::ffi::OsString;

use picklock_reports::escape::visible;
use picklock_reports::inert::Inert;

/// Returns the text of an error without the passwords that the command line contains.
pub fn hidden(error: &Inert, args: &[OsString]) -> Inert {
    let args: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
    let values = args.iter().flat_map(|arg| {
        let value = arg.split_once('=').map(|(_, value)| value);
        [Some(&**arg), value].into_iter().flatten()
    });
    let mut words: Vec<&str> = values
        .flat_map(|value| [value].into_iter().chain(value.split(',')))
        .collect();
    // Longer words first: a comma may be a part of a password, so a whole value is replaced before its parts.
    words.sort_by_key(|word| Reverse(word.len()));
    let mut text = error.as_str().to_owned();
    for word in words {
        if let Some(shown) = without_password(word) {
            text = text.replace(&*visible(word), &visible(&shown));
        }
    }
    Inert::with_styles(&text)
}

/// Returns a word without the user and the password of a URL, or `None` if it has none.
fn without_password(word: &str) -> Option<String> {
    let scheme = word.find("://").map_or(0, |at| at + "://".len());
    let (scheme, rest) = word.split_at(scheme);
    let is_url = !scheme.is_empty();
    if let Some((user, place)) = rest.rsplit_once('@') {
        // The name of a variable is not secret.
        let is_variable = user
            .split_once(':')
            .is_some_and(|(_, it)| it.starts_with('$'));
        let is_command = user.starts_with("exec:") || user.contains(' ');
        let is_login = is_url || (user.contains(':') && !is_command);
        return (is_login && !is_variable).then(|| format!("{scheme}…@{place}"));
    }
    // If the end of the URL is missing, the password is in the place of the port.
    let authority = rest.split('/').next().unwrap_or_default();
    let (_, port) = authority.split_once(':')?;
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
    (is_url && !is_port && !authority.starts_with('[')).then(|| format!("{scheme}…"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_be_a_password_is_hidden() {
        for (word, shown) in [
            ("redis://u:geheim@h:1", Some("redis://…@h:1")),
            ("redis://u:ge@heim@h", Some("redis://…@h")),
            ("https://token@h/p.git", Some("https://…@h/p.git")),
            ("u:geheim@h", Some("…@h")),
            ("redis://u:geheim", Some("redis://…")),
            ("redis://u:$NAME@h", None),
            ("redis://h:1/0", None),
            ("redis://[::1]:7", None),
            ("https://example.org/p:1.git", None),
            ("git@example.org:p.git", None),
            ("exec:npx a@b", None),
            ("redis:8.0", None),
        ] {
            assert_eq!(without_password(word).as_deref(), shown, "{word}");
        }
    }

    #[test]
    fn password_is_hidden_in_each_form_of_an_argument() {
        let args = [
            "--redis=redis://:a,b@h,redis://:c@h",
            "redis://:\u{7}@h",
            "redis://:d",
        ];
        let error = Inert::lines(&format!(
            "{} redis://:c@h '{}' {}",
            &args[0][8..],
            args[1],
            args[2]
        ));
        let shown = hidden(&error, &args.map(OsString::from));
        assert_eq!(shown, "redis://…@h redis://…@h 'redis://…@h' redis://…");
    }
}
