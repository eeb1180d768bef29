//! The written part of a library's findings: its promise, how to interpret its violations, and the hypotheses about
//! it. All figures come from runs.

use picklock_verdicts::check::{Cause, Property};
use serde::Deserialize;

/// Format and version of a library's findings file.
pub const LIBRARY_FORMAT: &str = "picklock-library/1";

/// Format and version of the limits file.
pub const LIMITS_FORMAT: &str = "picklock-limits/1";

/// The contents of a library's findings file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Library {
    /// Always [`LIBRARY_FORMAT`].
    pub format: String,
    /// The library's name.
    pub name: String,
    /// The version that the adapter pins.
    pub version: String,
    /// URL where that version is available.
    pub home: String,
    /// The matrix names of the library's locks, with the most common one first.
    pub locks: Vec<LibraryLock>,
    /// The library's promise, or `None` if it has no lock and promises nothing.
    #[serde(default)]
    pub promise: Option<Quotation>,
    /// Interpretations of the library's violations. The first match applies.
    #[serde(default)]
    pub reading: Vec<Reading>,
    /// Hypotheses about the library, to be decided by runs.
    #[serde(default)]
    pub hypothesis: Vec<Hypothesis>,
}

/// A lock of the library.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LibraryLock {
    /// The lock's name in the matrices.
    pub name: String,
    /// How the adapter calls the library, in one sentence.
    pub about: String,
}

/// A quotation from the library's authors.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quotation {
    /// The quoted text.
    pub quote: String,
    /// URL of the quotation.
    pub source: String,
}

/// Kind of a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The authors of the library or of its algorithm document that this can happen.
    Limit,
    /// The library breaks its promise.
    Defect,
}

/// An interpretation of violations.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// The kind assigned to matching violations.
    pub kind: Kind,
    /// Names of the locks to match. An empty list matches every lock of the library.
    #[serde(default)]
    pub locks: Vec<String>,
    /// Causes to match. An empty list matches any cause.
    #[serde(default)]
    pub causes: Vec<Cause>,
    /// Scenarios to match. An empty list matches any scenario.
    #[serde(default)]
    pub scenarios: Vec<String>,
    /// Properties to match. An empty list matches any property.
    #[serde(default)]
    pub properties: Vec<Property>,
    /// The reason for this interpretation.
    pub because: String,
    /// The documentation of this behaviour.
    #[serde(default)]
    pub documented: Option<Quotation>,
}

/// Limits of a kind of lock, regardless of the implementation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Always [`LIMITS_FORMAT`].
    pub format: String,
    /// Interpretations for every library, used if its own file has no match.
    pub reading: Vec<Reading>,
}

/// A hypothesis about the library.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hypothesis {
    /// The class of bugs, such as `L7`.
    pub id: String,
    /// The hypothesis, in words.
    pub says: String,
    /// The lock to run.
    pub lock: String,
    /// The scenario to run it in.
    pub scenario: String,
    /// The violation to expect if the hypothesis is right.
    pub predicts: Prediction,
    /// Meaning of the result for users of the library.
    pub means: String,
}

/// A violation that a hypothesis predicts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    /// The property that should be violated.
    pub property: Property,
    /// The expected cause. `None` matches any cause.
    #[serde(default)]
    pub cause: Option<Cause>,
}

/// Why a findings or limits file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The file is not TOML, or its content is invalid.
    #[error("not a library file: {0}")]
    Invalid(#[from] toml::de::Error),
    /// The file has another format or version.
    #[error("its format is {found:?}, and this picklock reads {wanted:?}")]
    OtherFormat {
        /// The file's format.
        found: String,
        /// The expected format.
        wanted: &'static str,
    },
    /// The file lists no locks.
    #[error("it names no locks")]
    NoLock,
}

/// Returns an error if the file has another format.
fn expect_format(found: String, wanted: &'static str) -> Result<(), LibraryError> {
    if found == wanted {
        Ok(())
    } else {
        Err(LibraryError::OtherFormat { found, wanted })
    }
}

impl Limits {
    /// Parses a limits file.
    ///
    /// # Errors
    /// Returns an error if the text is not TOML, has another format or is incomplete.
    pub fn read(text: &str) -> Result<Limits, LibraryError> {
        let limits: Limits = toml::from_str(text)?;
        expect_format(limits.format.clone(), LIMITS_FORMAT)?;
        Ok(limits)
    }
}

impl Library {
    /// Parses a findings file.
    ///
    /// # Errors
    /// Returns an error if the text is not TOML, has another format or is incomplete.
    pub fn read(text: &str) -> Result<Library, LibraryError> {
        let library: Library = toml::from_str(text)?;
        expect_format(library.format.clone(), LIBRARY_FORMAT)?;
        if library.locks.is_empty() {
            Err(LibraryError::NoLock)
        } else {
            Ok(library)
        }
    }

    /// Returns the interpretation of a lock's violation, or `None` if the file has no match.
    pub fn reading(
        &self,
        lock: &str,
        scenario: &str,
        property: Property,
        cause: Option<Cause>,
    ) -> Option<&Reading> {
        self.reading.iter().find(|reading| {
            let locks = &reading.locks;
            let causes = &reading.causes;
            let scenarios = &reading.scenarios;
            let properties = &reading.properties;
            (locks.is_empty() || locks.iter().any(|one| one == lock))
                && (causes.is_empty() || cause.is_some_and(|cause| causes.contains(&cause)))
                && (scenarios.is_empty() || scenarios.iter().any(|one| one == scenario))
                && (properties.is_empty() || properties.contains(&property))
        })
    }
}
