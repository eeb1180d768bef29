//! What a lock lets its user choose: declared in a table, checked before a run starts.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::lease_duration::LeaseDuration;

/// One option of a lock, as `--impl-option name=value` sets it.
#[derive(Debug)]
pub struct OptionSpec {
    /// The text before the `=`.
    pub name: &'static str,
    /// One line: what it changes.
    pub meaning: &'static str,
    /// What values it takes.
    pub kind: OptionKind,
    /// The value if the user gives none.
    pub default: OptionValue,
}

/// What values an option takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OptionKind {
    /// A duration, which may be relative to the lease.
    Duration {
        /// Whether zero is allowed.
        zero: bool,
    },
    /// Any number from the first to the second.
    Number(f64, f64),
    /// A whole number from the first to the second.
    Whole(u64, u64),
    /// Yes or no.
    Flag,
}

/// The value of an option.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OptionValue {
    /// Of [`OptionKind::Duration`].
    Duration(LeaseDuration),
    /// Of [`OptionKind::Number`].
    Number(f64),
    /// Of [`OptionKind::Whole`].
    Whole(u64),
    /// Of [`OptionKind::Flag`].
    Flag(bool),
}

/// What is wrong with an option that was given.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OptionError {
    /// The lock has no option of that name.
    #[error("there is no such option; {}", known(declared))]
    Unknown {
        /// The given name.
        name: String,
        /// The names that the lock knows.
        declared: Vec<&'static str>,
    },
    /// The value is not of the option's kind.
    #[error("`{value}` is not {expected}")]
    Bad {
        /// The option's name.
        name: &'static str,
        /// The given value.
        value: String,
        /// What was expected.
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
    /// The name of the option.
    pub fn name(&self) -> &str {
        match self {
            OptionError::Unknown { name, .. } => name,
            OptionError::Bad { name, .. } => name,
        }
    }
}

impl OptionKind {
    /// The kind in a word or two, for lists.
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

/// The user's options, checked against what the lock declares. By default empty, so that every
/// option has its default value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    given: BTreeMap<&'static str, OptionValue>,
}

impl Options {
    /// Checks the given names and values against the declared options.
    ///
    /// # Errors
    /// An option that is not declared, or a value of the wrong kind.
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

    /// The value of an option: the user's, else its default.
    pub fn value(&self, spec: &OptionSpec) -> OptionValue {
        self.given.get(spec.name).copied().unwrap_or(spec.default)
    }

    /// The value of a [`OptionKind::Duration`] for a lease of `ttl`; of any other kind: zero.
    pub fn duration(&self, spec: &OptionSpec, ttl: Duration) -> Duration {
        match self.value(spec) {
            OptionValue::Duration(span) => span.resolve(ttl),
            _ => Duration::ZERO,
        }
    }

    /// The value of a [`OptionKind::Number`] or [`OptionKind::Whole`]; of any other kind: zero.
    pub fn number(&self, spec: &OptionSpec) -> f64 {
        match self.value(spec) {
            OptionValue::Number(number) => number,
            OptionValue::Whole(number) => number as f64,
            _ => 0.0,
        }
    }

    /// The value of a [`OptionKind::Whole`]; of any other kind: zero.
    pub fn whole(&self, spec: &OptionSpec) -> u64 {
        match self.value(spec) {
            OptionValue::Whole(number) => number,
            _ => 0,
        }
    }

    /// The value of a [`OptionKind::Flag`]; of any other kind: false.
    pub fn flag(&self, spec: &OptionSpec) -> bool {
        self.value(spec) == OptionValue::Flag(true)
    }
}
