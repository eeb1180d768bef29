//! Finds text that may be a password in a TOML file, so that an error about the file does not show it. The file may not
//! be valid TOML, so this module examines its lines.

use std::iter;

/// Words in a key or an option whose value may be a secret, in lower case.
const SECRET_WORDS: [&str; 10] = [
    "passw",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "credential",
    "auth",
    "api_key",
    "api-key",
    "apikey",
];

/// Tables and keys all of whose values may be secrets.
const SECRET_TABLES: [&str; 3] = ["servers", "redis", "environment"];

/// Shown in place of hidden text.
const HIDDEN: char = '…';

/// Returns the line with this number, counted from 0, up to where a secret may begin. Returns the whole line if it has
/// none.
pub fn shown_line(text: &str, number: usize) -> Option<String> {
    let line = text.lines().nth(number)?;
    let end = if is_secret(text, number, line) {
        Some(begin_of_value(line))
    } else {
        begin_of_secret(line)
    };
    Some(match end {
        Some(end) => format!("{}{HIDDEN}", &line[..end]),
        None => line.to_owned(),
    })
}

/// Returns a problem without any part that may be a secret. `is_hidden` states whether a part of its line is hidden.
pub fn shown_problem(problem: &str, is_hidden: bool) -> String {
    let quote = problem.find(['"', '`']);
    let is_of_value = ["invalid type: ", "invalid value: "];
    let is_of_value = is_of_value.iter().any(|it| problem.starts_with(it));
    let (begin, end) = match quote {
        Some(quote) if is_hidden && is_of_value => {
            let end = problem.rfind(", expected ").unwrap_or(problem.len());
            (quote, end.max(quote))
        }
        Some(quote) if is_hidden && problem[quote..].starts_with('"') => {
            (quote, problem.rfind('"').map_or(problem.len(), |at| at + 1))
        }
        _ => match credentials(problem) {
            Some(place) => place,
            None => return problem.to_owned(),
        },
    };
    format!("{}{HIDDEN}{}", &problem[..begin], &problem[end..])
}

/// Returns the place of the user and the password of a URL, or of a text that may be a URL without its beginning.
fn credentials(problem: &str) -> Option<(usize, usize)> {
    let end = problem.rfind('@')?;
    let scheme = problem[..end].find("://").map(|at| at + "://".len());
    let begin = scheme.or_else(|| problem[..end].find(['"', '`']).map(|at| at + 1));
    Some((begin.unwrap_or_default(), end))
}

/// Returns `true` if all values of a line may be secrets because of the line's table or key, or because the line is
/// inside a string of several lines.
fn is_secret(text: &str, number: usize, line: &str) -> bool {
    if is_header(line) {
        return false;
    }
    let before: Vec<&str> = text.lines().take(number).collect();
    let marks = before.iter().map(|line| {
        let count = |mark| line.matches(mark).count();
        count("\"\"\"") + count("'''")
    });
    let is_in_string = marks.sum::<usize>() % 2 == 1;
    let mut above = before.iter().rev().copied();
    let header = above.clone().find(|line| is_header(line));
    let key = iter::once(line)
        .chain(above.by_ref())
        .take_while(|line| !is_header(line))
        .find_map(key_of);
    let of_table = |word: &str| SECRET_TABLES.contains(&word);
    is_in_string
        || words(header.unwrap_or_default()).any(|word| of_table(&word))
        || words(key.unwrap_or_default()).any(|word| of_table(&word) || has_secret_word(&word))
}

fn is_header(line: &str) -> bool {
    let line = line.trim();
    let name = line.trim_start_matches('[');
    name.len() < line.len() && name.starts_with(is_of_key) && name.contains(']')
}

/// Returns the key of a line, if it begins with one.
fn key_of(line: &str) -> Option<&str> {
    let key = line.split_once('=')?.0.trim();
    let is_plain = |c: char| is_of_key(c) || " .\"'".contains(c);
    (key.starts_with(|c| is_of_key(c) || "\"'".contains(c)) && key.chars().all(is_plain))
        .then_some(key)
}

fn is_of_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Returns the parts of a key or a header in lower case.
fn words(key: &str) -> impl Iterator<Item = String> {
    let parts = key.split(|c| !is_of_key(c));
    parts.map(str::to_ascii_lowercase)
}

fn has_secret_word(word: &str) -> bool {
    SECRET_WORDS.iter().any(|secret| word.contains(secret))
}

/// Returns where the value of a line begins, or its content if it has no key.
fn begin_of_value(line: &str) -> usize {
    match key_of(line) {
        Some(_) => {
            let equals = line.find('=').unwrap_or_default() + 1;
            equals + (line.len() - equals - line[equals..].trim_start().len())
        }
        None => line.len() - line.trim_start().len(),
    }
}

/// Returns where the first secret of a line begins: after the scheme of a URL, at the beginning of a value with an `@`,
/// or after the name of a secret.
fn begin_of_secret(line: &str) -> Option<usize> {
    let scheme = line.find("://");
    let at_sign = line.find('@');
    let is_of_scheme = |at: usize| {
        let before = line[..at].trim_end_matches(|c: char| c.is_ascii_lowercase());
        before.is_empty() || before.ends_with(['"', '\'', ' '])
    };
    let url = match scheme {
        Some(at) if is_of_scheme(at) && at_sign.is_none_or(|sign| sign > at) => {
            Some(at + "://".len())
        }
        _ => scheme.or(at_sign).map(|_| begin_of_value(line)),
    };
    let lower = line.to_ascii_lowercase();
    let named = SECRET_WORDS.iter().filter_map(|word| {
        let mut places = lower.match_indices(word);
        let found = places.find(|(at, _)| names_a_value(line, *at, at + word.len()));
        found.map(|(at, _)| at + word.len())
    });
    url.into_iter().chain(named).min()
}

/// Returns `true` if the word between `begin` and `end` names the value behind it: as the first word of the line, as an
/// option of a command, or before `=` or `:`.
fn names_a_value(line: &str, begin: usize, end: usize) -> bool {
    let is_blank = |c: char| c.is_whitespace() || "\"'`,{[".contains(c);
    let from = line[..begin].rfind(is_blank).map_or(0, |at| at + 1);
    let rest = &line[end..];
    let word_end = rest.find(is_blank).unwrap_or(rest.len());
    let (rest_of_word, after) = rest.split_at(word_end);
    let after = after.trim_start_matches(|c: char| c.is_whitespace() || "\"'".contains(c));
    line[..from].trim().trim_matches(['"', '\'']).is_empty()
        || line[from..].starts_with('-')
        || rest_of_word.contains(['=', ':'])
        || after.starts_with(['=', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The password of these files is `geheim`, and the error is in the line with it.
    #[test]
    fn password_of_any_shape_is_not_shown() {
        for text in [
            "[servers]\nredis = \"redis://u:geheim@h:1\"",
            "[servers]\nredis = [\"redis://u:geheim\" \"x\"]",
            "[servers]\nredis = [\n  \"u:geheim@h:1\n",
            "[servers]\nredis = [\n  ana:geheim\n]",
            "[servers]\nredis = geheim",
            "[servers]\n\"geheim\"",
            "[servers] # all\nother = { a = \"geheim\" }",
            "servers.other = 'geheim'",
            "servers = { redis = \"redis://:geheim@h\", redis = 1 }",
            "a = \"redis://u:geheim@h\"",
            "a = \"u:geheim://x@h\"",
            "a = \"u:geheim@h\"",
            "\"u:geheim@h\" = 1",
            "password = \"geheim\"",
            "password \"geheim\"",
            "REDIS_PASSWORD=geheim",
            "\"token\" = \"geheim\"",
            "a = { Secret = \"geheim\" }",
            "password = \"\"\"\ngeheim\n\"\"\"",
            "a = \"\"\"\nb = 1\ngeheim\n\"\"\"",
            "token = [\n  \"geheim\",\n]",
            "[impl.x.environment]\nKEY = \"geheim\"",
            "[impl.x]\nenvironment = { KEY = \"geheim\" }",
            "[impl.x]\ncommand = \"prog --password geheim\"",
            "[impl.x]\ncommand = \"prog --api-key=geheim\"",
            "[impl.x]\ncommand = \"TOKEN=geheim prog\"",
        ] {
            let number = text.lines().position(|line| line.contains("geheim"));
            let line = shown_line(text, number.unwrap()).unwrap();
            assert!(!line.contains("geheim") && line.ends_with(HIDDEN), "{line}");
        }
        for problem in [
            "invalid type: string \"geheim\", expected a sequence",
            "invalid type: string \"a\\\", expected geheim\", expected a sequence",
            "invalid value: integer `geheim`, expected a string",
            "unknown lock \"geheim\"",
            "unknown field `u:geheim@h`, expected `a`",
            "unknown field `redis://u:geheim@h`, expected `a`",
        ] {
            let shown = shown_problem(problem, true);
            assert!(!shown.contains("geheim"), "{shown}");
        }
        let shown = shown_problem("unknown lock `redis://u:geheim@h`", false);
        assert_eq!(shown, "unknown lock `redis://…@h`");
    }

    #[test]
    fn harmless_line_is_shown_as_it_is() {
        for text in [
            "[servers]",
            "[impl.\"my lock\".environment]",
            "[servers]\na = 1\n[[cells]]\nlocks = [\"set-nx-px\"]",
            "locks = [\"fencing-token-lock\"]",
            "command = \"python3 token.py --ttl 3\"",
            "image = \"redis:8.0\"",
        ] {
            let line = text.lines().last().unwrap();
            let number = text.lines().count() - 1;
            assert_eq!(shown_line(text, number).as_deref(), Some(line));
        }
        let problem = "unknown lock \"fencing-token\"";
        assert_eq!(shown_problem(problem, false), problem);
    }
}
