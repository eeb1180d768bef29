//! Creates errors that point into a user's file.

use picklock_scenarios::{ScenarioError, did_you_mean};

/// The text of a file. Errors in scenario files and in configurations have the same form.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its path as typed.
    pub file: String,
    /// Its whole text.
    pub text: String,
}

impl Source {
    /// Creates an error at this offset.
    pub fn wrong(&self, at: usize, problem: impl Into<String>) -> ScenarioError {
        ScenarioError::at(&self.file, &self.text, Some(at), problem.into(), None)
    }

    /// Creates an error at this offset with a help text.
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

    /// Creates an error for an unknown word, with a hint that names the closest known one.
    pub fn unknown<'a>(
        &self,
        at: usize,
        problem: impl Into<String>,
        word: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> ScenarioError {
        ScenarioError {
            hint: did_you_mean(word, known),
            ..self.wrong(at, problem)
        }
    }

    /// Converts an error of the TOML parser. `default_offset` applies if the parser reports no position.
    pub fn unreadable(&self, error: &toml::de::Error, default_offset: usize) -> ScenarioError {
        // Replace the parser's names for types by plain words.
        let message = error.message().trim().replace('\n', "; ");
        let message = message.replace("expected u64", "expected a whole number");
        let message = message.replace("expected usize", "expected a whole number");
        let at = error.span().map_or(default_offset, |span| span.start);
        let hint = ScenarioError::hint_at(&message);
        ScenarioError {
            hint: hint.or_else(|| ScenarioError::brackets_hint(&self.text, at, &message)),
            ..self.wrong(at, message)
        }
    }
}
