//! The command line after `exec:`, split into words as a shell does, but without variables, globs or pipes.

/// The reason why a text is not a command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandLineError {
    /// The command line contains no word.
    #[error("`exec:` needs a command: `exec:python3 my_adapter.py`")]
    Empty,
    /// A quote is not closed, or the text ends with a backslash.
    #[error(
        "`{0}` ends inside a quote; close it, or put a backslash before a quote that is meant \
         literally"
    )]
    OpenQuote(String),
}

/// Splits a command line into words: blanks separate, `'…'` is literal, `"…"` allows backslash escapes, and a
/// backslash makes the next character literal.
///
/// # Errors
/// Returns an error if there is no program to start or a quote is not closed.
pub fn parse(text: &str) -> Result<Vec<String>, CommandLineError> {
    let words =
        shell_words::split(text).map_err(|_| CommandLineError::OpenQuote(text.to_owned()))?;
    match words.first() {
        Some(program) if !program.is_empty() => Ok(words),
        _ => Err(CommandLineError::Empty),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_at_blanks_outside_quotes() {
        for (text, expected) in [
            ("python3 my_adapter.py", &["python3", "my_adapter.py"][..]),
            ("  node\tadapter.js  ", &["node", "adapter.js"]),
            (
                "run 'two words' \"and three more\"",
                &["run", "two words", "and three more"],
            ),
            (
                r#"run it\'s "a \"quote\"""#,
                &["run", "it's", "a \"quote\""],
            ),
            ("run ''", &["run", ""]),
            // Variables, globs and pipes are not interpreted.
            (
                "echo $HOME *.py | cat",
                &["echo", "$HOME", "*.py", "|", "cat"],
            ),
        ] {
            assert_eq!(parse(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn empty_command_and_open_quote_are_errors() {
        for text in ["", "   ", "''"] {
            assert_eq!(parse(text), Err(CommandLineError::Empty), "{text:?}");
        }
        for text in ["run 'it", "run \"it"] {
            assert_eq!(parse(text), Err(CommandLineError::OpenQuote(text.into())));
        }
    }
}
