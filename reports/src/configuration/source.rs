//! Errors that point into a user's file.

use std::ops::Range;

use picklock_scenarios::{ScenarioError, nearest};

/// Keys that are understood, and that nobody should write any more.
const OLDER: [&str; 5] = ["worlds", "world", "subjects", "subject", "require"];

/// The text of a file, for errors that point into it. Those of scenario files and of configurations
/// look alike.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its path as typed.
    pub file: String,
    /// Its whole text.
    pub text: String,
}

impl Source {
    /// An error at this offset.
    pub fn wrong(&self, at: usize, problem: impl Into<String>) -> ScenarioError {
        let mut end = at.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &self.text[..end];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        ScenarioError {
            file: self.file.clone(),
            place: Some((line, column)),
            excerpt: self.text.lines().nth(line - 1).map(str::to_owned),
            problem: problem.into(),
            hint: None,
        }
    }

    /// An error at this offset, with what to do.
    pub fn hinted(
        &self,
        at: usize,
        problem: impl Into<String>,
        hint: impl Into<String>,
    ) -> ScenarioError {
        ScenarioError {
            hint: Some(hint.into()),
            ..self.wrong(at, problem)
        }
    }

    /// An error for an unknown word, with a hint at the nearest known one.
    pub fn unknown<'a>(
        &self,
        at: usize,
        problem: impl Into<String>,
        word: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> ScenarioError {
        let hint = nearest(word, known).map(|meant| format!("did you mean `{meant}`?"));
        ScenarioError {
            hint,
            ..self.wrong(at, problem)
        }
    }

    /// An error of the TOML parser. `otherwise`: its offset where the parser does not say.
    pub fn unreadable(&self, error: &toml::de::Error, otherwise: usize) -> ScenarioError {
        // The parser's names for types, in plain words.
        let message = error.message().trim().replace('\n', "; ");
        let message = OLDER.iter().fold(message, |message, older| {
            message.replace(&format!("`{older}`, "), "")
        });
        let message = message.replace("expected u64", "expected a whole number");
        let message = message.replace("expected usize", "expected a whole number");
        let mut quoted = message.split('`').skip(1).step_by(2);
        let word = quoted.next().unwrap_or_default().to_owned();
        let known: Vec<String> = quoted.map(str::to_owned).collect();
        let at = error
            .span()
            .map_or(otherwise, |span: Range<usize>| span.start);
        let is_a_word = ["unknown field", "unknown variant"];
        match is_a_word.iter().any(|it| message.starts_with(it)) {
            true => self.unknown(at, message.clone(), &word, known.iter().map(String::as_str)),
            false => self.wrong(at, message),
        }
    }
}
