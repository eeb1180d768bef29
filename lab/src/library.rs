//! What is a matter of words about a library: its promise, how its violations are to be read, and the
//! hypotheses about it. All figures come from runs.

use picklock_verdicts::check::{Cause, Property};
use serde::Deserialize;

/// Format and version of the file.
pub const LIBRARY_FORMAT: &str = "picklock-library/1";

/// Format and version of the file of limits.
pub const LIMITS_FORMAT: &str = "picklock-limits/1";

/// What a file says about a library.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Library {
    /// Always [`LIBRARY_FORMAT`].
    pub format: String,
    /// What it is called.
    pub name: String,
    /// The version that the adapter pins.
    pub version: String,
    /// Where that version can be had.
    pub home: String,
    /// The locks of the matrices that are this library, the most usual one first.
    pub locks: Vec<LibraryLock>,
    /// What it promises; `None`: it has no lock of its own, and promises none.
    #[serde(default)]
    pub promise: Option<Quotation>,
    /// How its violations are to be read. The first that fits counts.
    #[serde(default)]
    pub reading: Vec<Reading>,
    /// What was supposed about it, to be decided by runs.
    #[serde(default)]
    pub hypothesis: Vec<Hypothesis>,
}

/// A lock of the matrices.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LibraryLock {
    /// Its name in the matrices.
    pub name: String,
    /// How the adapter calls the library, in one sentence.
    pub about: String,
}

/// Words of the library's authors.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quotation {
    /// The words.
    pub quote: String,
    /// Where they stand.
    pub source: String,
}

/// What a violation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The library's authors, or those of its algorithm, say that this can happen.
    Limit,
    /// The library breaks its promise.
    Defect,
}

/// How violations are to be read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// What they are.
    pub kind: Kind,
    /// Those with these causes; empty: with any.
    #[serde(default)]
    pub causes: Vec<Cause>,
    /// Those in these scenarios; empty: in any.
    #[serde(default)]
    pub scenarios: Vec<String>,
    /// Those of these properties; empty: of any.
    #[serde(default)]
    pub properties: Vec<Property>,
    /// Why.
    pub because: String,
    /// Where it is documented.
    #[serde(default)]
    pub documented: Option<Quotation>,
}

/// What no lock of a kind can do, whoever wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Always [`LIMITS_FORMAT`].
    pub format: String,
    /// How the violations of every library are to be read of which its own file says nothing.
    pub reading: Vec<Reading>,
}

/// Something that was supposed about the library.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hypothesis {
    /// The class of bugs, such as `L7`.
    pub id: String,
    /// What was supposed.
    pub says: String,
    /// The lock that is run.
    pub lock: String,
    /// The scenario that it is run in.
    pub scenario: String,
    /// What comes out if the supposition is right.
    pub predicts: Prediction,
    /// What the result means for somebody who uses the library.
    pub means: String,
}

/// A violation that a hypothesis predicts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    /// The property.
    pub property: Property,
    /// The cause; `None`: any.
    #[serde(default)]
    pub cause: Option<Cause>,
}

/// Why a file about a library cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// It is not TOML, or its content is not what is expected.
    #[error("not a file about a library: {0}")]
    Invalid(#[from] toml::de::Error),
    /// It is of another version.
    #[error("its format is {found:?}, and this picklock reads {wanted:?}")]
    OtherFormat {
        /// What it says.
        found: String,
        /// What it should say.
        wanted: &'static str,
    },
    /// It names no lock.
    #[error("it names no locks")]
    NoLock,
}

/// Refuses the file of another format.
fn expect_format(found: String, wanted: &'static str) -> Result<(), LibraryError> {
    match found == wanted {
        true => Ok(()),
        false => Err(LibraryError::OtherFormat { found, wanted }),
    }
}

impl Limits {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// The text is not TOML, of another format, or incomplete.
    pub fn read(text: &str) -> Result<Limits, LibraryError> {
        let limits: Limits = toml::from_str(text)?;
        expect_format(limits.format.clone(), LIMITS_FORMAT)?;
        Ok(limits)
    }
}

impl Library {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// The text is not TOML, of another format, or incomplete.
    pub fn read(text: &str) -> Result<Library, LibraryError> {
        let library: Library = toml::from_str(text)?;
        expect_format(library.format.clone(), LIBRARY_FORMAT)?;
        match library.locks.is_empty() {
            true => Err(LibraryError::NoLock),
            false => Ok(library),
        }
    }

    /// How a violation is to be read; `None`: the file does not say.
    pub fn reading(
        &self,
        scenario: &str,
        property: Property,
        cause: Option<Cause>,
    ) -> Option<&Reading> {
        self.reading.iter().find(|reading| {
            let causes = &reading.causes;
            let scenarios = &reading.scenarios;
            let properties = &reading.properties;
            (causes.is_empty() || cause.is_some_and(|cause| causes.contains(&cause)))
                && (scenarios.is_empty() || scenarios.iter().any(|one| one == scenario))
                && (properties.is_empty() || properties.contains(&property))
        })
    }
}
