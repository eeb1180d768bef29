//! Warnings: facts about a lock that no property judges, but that its user should know even if every property held.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

/// A warning, with the sentence that every report prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The fact.
    #[serde(flatten)]
    pub what: WarningKind,
    /// The sentence, without a full stop.
    pub text: String,
}

/// The kinds of warnings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum WarningKind {
    /// Requests ended in an error, although no fault and no stall can be the reason.
    FailedWithoutFault {
        /// The request.
        request: WarnedRequest,
        /// Number of these errors.
        count: u64,
        /// Number of requests of this kind that no fault and no stall disturbed, with the failed ones.
        of: u64,
        /// Message of the first error, shortened.
        first: String,
        /// When the first error arrived, in nanoseconds since its run began.
        first_at_ns: u64,
    },
    /// The lock renewed its leases without a request, but does not declare `renews`, so the scenarios for locks that
    /// renew were left out.
    UndeclaredRenewal {
        /// Number of these renewals.
        count: u64,
    },
}

/// A request whose errors are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarnedRequest {
    /// Acquire the lock.
    Acquire,
    /// Extend the lease.
    Extend,
    /// Ask whether the leader may act.
    Act,
    /// Release the lock.
    Release,
}

impl WarnedRequest {
    /// Returns the name of the request.
    pub fn as_str(self) -> &'static str {
        match self {
            WarnedRequest::Acquire => "acquire",
            WarnedRequest::Extend => "extend",
            WarnedRequest::Act => "act",
            WarnedRequest::Release => "release",
        }
    }
}

impl From<WarningKind> for Warning {
    fn from(what: WarningKind) -> Warning {
        let text = what.to_string();
        Warning { what, text }
    }
}

impl WarningKind {
    /// Returns `true` if both warnings are about the same fact, so that their counts can be added.
    pub fn is_about_the_same(&self, other: &WarningKind) -> bool {
        use WarningKind::{FailedWithoutFault, UndeclaredRenewal};
        match (self, other) {
            (FailedWithoutFault { request, .. }, FailedWithoutFault { request: other, .. }) => {
                request == other
            }
            (UndeclaredRenewal { .. }, UndeclaredRenewal { .. }) => true,
            _ => false,
        }
    }

    /// Adds the counts of a later run with a warning about the same fact. The first error stays.
    pub fn add(&mut self, later: &WarningKind) {
        use WarningKind::{FailedWithoutFault, UndeclaredRenewal};
        match (self, later) {
            (
                FailedWithoutFault { count, of, .. },
                FailedWithoutFault {
                    count: more,
                    of: more_of,
                    ..
                },
            ) => {
                *count = count.saturating_add(*more);
                *of = of.saturating_add(*more_of);
            }
            (UndeclaredRenewal { count }, UndeclaredRenewal { count: more }) => {
                *count = count.saturating_add(*more);
            }
            _ => {}
        }
    }
}

/// Combines the warnings of several runs, in the order in which each fact first occurs.
pub fn combine_warnings<'a>(warnings: impl IntoIterator<Item = &'a Warning>) -> Vec<Warning> {
    let mut all: Vec<WarningKind> = Vec::new();
    for warning in warnings {
        let mut known = all.iter_mut();
        match known.find(|one| one.is_about_the_same(&warning.what)) {
            Some(one) => one.add(&warning.what),
            None => all.push(warning.what.clone()),
        }
    }
    all.into_iter().map(Warning::from).collect()
}

impl Display for WarningKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (request, count, of, first) = match self {
            WarningKind::FailedWithoutFault {
                request,
                count,
                of,
                first,
                ..
            } => (request, count, of, first),
            WarningKind::UndeclaredRenewal { count } => {
                return write!(
                    f,
                    "the lock renewed its lease {count} times without a request, but does not declare that it renews \
                     (`renews`), so no scenario for locks that renew was run"
                );
            }
        };
        let name = request.as_str();
        match (*count, *of) {
            (1, 1) => write!(f, "the only {name} request failed")?,
            (count, of) if count >= of => write!(f, "all {of} {name} requests failed")?,
            (count, of) => write!(f, "{count} of {of} {name} requests failed")?,
        }
        let which = if *count == 1 {
            "with"
        } else {
            "the first with"
        };
        write!(
            f,
            " although no fault or stall can be the reason, {which}: {first}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(request: WarnedRequest, count: u64, of: u64, first: &str) -> Warning {
        let kind = WarningKind::FailedWithoutFault {
            request,
            count,
            of,
            first: first.into(),
            first_at_ns: 7,
        };
        kind.into()
    }

    #[test]
    fn sentence_counts_the_errors_and_quotes_the_first() {
        use WarnedRequest::{Acquire, Release};
        for (warning, expected) in [
            (
                failed(Acquire, 12, 40, "null"),
                "12 of 40 acquire requests failed although no fault or stall can be the reason, the first with: null",
            ),
            (
                failed(Release, 5, 5, "no"),
                "all 5 release requests failed although no fault or stall can be the reason, the first with: no",
            ),
            (
                failed(Release, 1, 5, "no"),
                "1 of 5 release requests failed although no fault or stall can be the reason, with: no",
            ),
        ] {
            assert_eq!(warning.text, expected);
        }
    }

    #[test]
    fn runs_are_combined_by_request() {
        use WarnedRequest::{Acquire, Release};
        let runs = [
            failed(Release, 1, 2, "a"),
            failed(Acquire, 1, 1, "b"),
            failed(Release, 2, 3, "c"),
        ];
        let expected = [failed(Release, 3, 5, "a"), failed(Acquire, 1, 1, "b")];
        assert_eq!(combine_warnings(&runs), expected);
    }

    #[test]
    fn document_has_the_kind_next_to_the_sentence() {
        let warning = failed(WarnedRequest::Acquire, 1, 2, "x");
        let json = serde_json::to_value(&warning).unwrap();
        assert_eq!(json["kind"], "failed-without-fault");
        assert_eq!(json["request"], "acquire");
        assert_eq!(json["text"], warning.text);
        let read: Warning = serde_json::from_value(json).unwrap();
        assert_eq!(read, warning);
    }
}
