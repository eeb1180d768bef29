//! Writes a [`RecordedVerdict`] as text, in the form of an expectation, and reads it: `violated: race`.

use std::str::FromStr;

use picklock_scenarios::Cause;
use serde::{Deserialize, Deserializer, Serializer, de::Error};

use super::repro::RecordedVerdict;
use crate::check::Status;

pub(super) fn serialize<S: Serializer>(
    verdict: &RecordedVerdict,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(verdict)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<RecordedVerdict, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(D::Error::custom)
}

/// A text that is not a verdict.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a verdict")]
pub struct NotAVerdict(String);

impl FromStr for RecordedVerdict {
    type Err = NotAVerdict;

    fn from_str(text: &str) -> Result<RecordedVerdict, NotAVerdict> {
        let (word, cause) = match text.split_once(": ") {
            Some((word, cause)) => (word, Some(Cause::named(cause))),
            None => (text, None),
        };
        let statuses = [
            Status::Held,
            Status::Violated,
            Status::Unknown,
            Status::NotApplicable,
        ];
        let status = statuses.into_iter().find(|status| status.as_str() == word);
        match (status, cause) {
            (Some(status), None) => Ok(status.into()),
            (Some(status), Some(Some(cause))) => Ok(RecordedVerdict {
                status,
                cause: Some(cause),
            }),
            _ => Err(NotAVerdict(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_verdict_is_read_back() {
        for text in [
            "held",
            "violated",
            "violated: race",
            "unknown",
            "not-applicable",
        ] {
            let verdict: RecordedVerdict = text.parse().unwrap();
            assert_eq!(verdict.to_string(), text);
        }
        for text in ["", "violated: raze", "violated:race", "Held", "broken"] {
            assert!(text.parse::<RecordedVerdict>().is_err(), "{text}");
        }
    }
}
