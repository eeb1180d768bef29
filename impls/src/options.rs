//! The options of a lock: declared in a table, checked before a run starts.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::lease_duration::LeaseDuration;

/// One option of a lock, set by `--impl-option name=value`.
#[derive(Debug)]
pub struct OptionSpec {
    /// The text before the `=`.
    pub name: &'static str,
    /// One-line description.
    pub meaning: &'static str,
    /// Kind of its values.
    pub kind: OptionKind,
    /// Value that applies if the user gives none.
    pub default: OptionValue,
}

/// The kind of an option's values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OptionKind {
    /// A duration, which may be relative to the lease.
    Duration {
        /// Whether zero is allowed.
        zero: bool,
    },
    /// Any number in this inclusive range.
    Number(f64, f64),
    /// A whole number in this inclusive range.
    Whole(u64, u64),
    /// Yes or no.
    Flag,
}

/// The value of an option.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OptionValue {
    /// Value of a [`OptionKind::Duration`].
    Duration(LeaseDuration),
    /// Value of a [`OptionKind::Number`].
    Number(f64),
    /// Value of a [`OptionKind::Whole`].
    Whole(u64),
    /// Value of a [`OptionKind::Flag`].
    Flag(bool),
}

/// An error in a given option.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OptionError {
    /// The lock has no option with this name.
    #[error("no such option; {}", known(declared))]
    Unknown {
        /// The given name.
        name: String,
        /// Names of the lock's options.
        declared: Vec<&'static str>,
    },
    /// The value does not match the option's kind.
    #[error("`{value}` is not {expected}")]
    Bad {
        /// The option's name.
        name: &'static str,
        /// The given value.
        value: String,
        /// Description of the valid values.
        expected: String,
    },
}

fn known(declared: &[&str]) -> String {
    if declared.is_empty() {
        "the lock has none".into()
    } else {
        format!("the lock has {}", declared.join(", "))
    }
}

impl OptionError {
    /// Returns the name of the option.
    pub fn name(&self) -> &str {
        match self {
            OptionError::Unknown { name, .. } => name,
            OptionError::Bad { name, .. } => name,
        }
    }
}

impl OptionKind {
    /// Returns the name of the kind, for lists.
    pub fn as_str(self) -> &'static str {
        match self {
            OptionKind::Duration { .. } => "duration",
            OptionKind::Number(..) => "number",
            OptionKind::Whole(..) => "whole number",
            OptionKind::Flag => "flag",
        }
    }

    fn expected(self) -> String {
        const SUCH_AS: &str = "such as 500ms, 2s or 0.5ttl (times the lease)";
        match self {
            OptionKind::Duration { zero: true } => format!("a duration {SUCH_AS}"),
            OptionKind::Duration { zero: false } => {
                format!("a duration above zero, {SUCH_AS}")
            }
            OptionKind::Number(from, to) => format!("a number from {from} to {to}"),
            OptionKind::Whole(from, to) => format!("a whole number from {from} to {to}"),
            OptionKind::Flag => "true or false".into(),
        }
    }

    fn read(self, text: &str) -> Option<OptionValue> {
        match self {
            OptionKind::Duration { zero } => {
                let span: LeaseDuration = text.parse().ok()?;
                (zero || !span.is_zero()).then_some(OptionValue::Duration(span))
            }
            OptionKind::Number(from, to) => within(from, to, text).map(OptionValue::Number),
            OptionKind::Whole(from, to) => within(from, to, text).map(OptionValue::Whole),
            OptionKind::Flag => text.trim().parse().ok().map(OptionValue::Flag),
        }
    }
}

fn within<T: FromStr + PartialOrd>(from: T, to: T, text: &str) -> Option<T> {
    let number: T = text.trim().parse().ok()?;
    (from..=to).contains(&number).then_some(number)
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::Duration(span) => span.fmt(f),
            OptionValue::Number(number) => number.fmt(f),
            OptionValue::Whole(number) => number.fmt(f),
            OptionValue::Flag(flag) => flag.fmt(f),
        }
    }
}

/// The user's options, checked against the lock's declarations. Empty by default, so that every option has its default
/// value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    given: BTreeMap<&'static str, OptionValue>,
}

impl Options {
    /// Checks the given names and values against the declared options.
    ///
    /// # Errors
    /// Returns an error for an option that is not declared, or a value of the wrong kind.
    pub fn read<'a>(
        declared: &[&'static OptionSpec],
        given: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, OptionError> {
        let mut options = Options::default();
        for (name, value) in given {
            let Some(spec) = declared.iter().find(|spec| spec.name == name) else {
                return Err(OptionError::Unknown {
                    name: name.to_owned(),
                    declared: declared.iter().map(|spec| spec.name).collect(),
                });
            };
            let read = spec.kind.read(value).ok_or_else(|| OptionError::Bad {
                name: spec.name,
                value: value.to_owned(),
                expected: spec.kind.expected(),
            })?;
            options.given.insert(spec.name, read);
        }
        Ok(options)
    }

    /// Returns the user's value of an option, or its default.
    pub fn value(&self, spec: &OptionSpec) -> OptionValue {
        self.given.get(spec.name).copied().unwrap_or(spec.default)
    }

    /// Returns the value of a [`OptionKind::Duration`] for a lease of `ttl`, or zero for any other kind.
    pub fn duration(&self, spec: &OptionSpec, ttl: Duration) -> Duration {
        match self.value(spec) {
            OptionValue::Duration(span) => span.resolve(ttl),
            _ => Duration::ZERO,
        }
    }

    /// Returns the value of a [`OptionKind::Number`] or [`OptionKind::Whole`], or zero for any other kind.
    pub fn number(&self, spec: &OptionSpec) -> f64 {
        match self.value(spec) {
            OptionValue::Number(number) => number,
            OptionValue::Whole(number) => number as f64,
            _ => 0.0,
        }
    }

    /// Returns the value of a [`OptionKind::Whole`], or zero for any other kind.
    pub fn whole(&self, spec: &OptionSpec) -> u64 {
        match self.value(spec) {
            OptionValue::Whole(number) => number,
            _ => 0,
        }
    }

    /// Returns the value of a [`OptionKind::Flag`], or `false` for any other kind.
    pub fn flag(&self, spec: &OptionSpec) -> bool {
        self.value(spec) == OptionValue::Flag(true)
    }
}
