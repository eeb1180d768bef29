//! Errors that point into a user's file.

use picklock_scenarios::{ScenarioError, did_you_mean};

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
        ScenarioError::at(&self.file, &self.text, Some(at), problem.into(), None)
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
        ScenarioError {
            hint: did_you_mean(word, known),
            ..self.wrong(at, problem)
        }
    }

    /// An error of the TOML parser. `otherwise`: its offset where the parser does not say.
    pub fn unreadable(&self, error: &toml::de::Error, otherwise: usize) -> ScenarioError {
        // The parser's names for types, in plain words.
        let message = error.message().trim().replace('\n', "; ");
        let message = message.replace("expected u64", "expected a whole number");
        let message = message.replace("expected usize", "expected a whole number");
        let at = error.span().map_or(otherwise, |span| span.start);
        ScenarioError {
            hint: ScenarioError::hint_at(&message),
            ..self.wrong(at, message)
        }
    }
}
