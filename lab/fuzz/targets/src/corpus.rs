//! A target's corpus file, with one line of JSON per input.
//!
//! A line has the input as `text`, or as `base64` if it is not UTF-8. `kept` is the name of an input that once broke
//! something. Such an input stays when the corpus is minimised.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

/// One input of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// The name of an input that once broke something, or `None` if it is included for the code that it reaches.
    pub kept: Option<String>,
    /// The bytes to pass to the target.
    pub bytes: Vec<u8>,
}

/// An input as written in the file, with exactly one of `text` and `base64`.
#[derive(Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Line {
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

/// Why a corpus file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A line is not JSON, or it lacks a required field.
    #[error("line {line}: {reason}")]
    Line {
        /// The line, counted from 1.
        line: usize,
        /// The parser's error.
        reason: serde_json::Error,
    },
    /// The bytes of an input do not decode.
    #[error("line {line}: {reason}")]
    Base64 {
        /// The line, counted from 1.
        line: usize,
        /// The decoder's error.
        reason: base64::DecodeError,
    },
    /// A line has both `text` and `base64`, or neither.
    #[error("line {line}: expected either `text` or `base64`")]
    NotOne {
        /// The line, counted from 1.
        line: usize,
    },
}

/// Returns the inputs in a corpus file's text, in order.
///
/// # Errors
/// Returns an error if a line is not a valid input.
pub fn read(text: &str) -> Result<Vec<Input>, CorpusError> {
    let numbered = text.split_terminator('\n').enumerate();
    let inputs = numbered.map(|(index, text)| {
        let line = index + 1;
        let read: Line =
            serde_json::from_str(text).map_err(|reason| CorpusError::Line { line, reason })?;
        let bytes = match (read.text, read.base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(text)) => BASE64
                .decode(text)
                .map_err(|reason| CorpusError::Base64 { line, reason })?,
            _ => return Err(CorpusError::NotOne { line }),
        };
        let kept = read.kept;
        Ok(Input { kept, bytes })
    });
    inputs.collect()
}

/// Formats inputs as a corpus file. Saved inputs come first, and the order is fixed, so that a change of the
/// corpus changes few lines.
///
/// # Errors
/// Returns the encoder's error if the inputs cannot be written as JSON.
pub fn write(mut inputs: Vec<Input>) -> Result<String, serde_json::Error> {
    inputs.sort_by(|one, other| {
        let place = |input: &Input| (input.kept.is_none(), input.kept.clone());
        (place(one), &one.bytes).cmp(&(place(other), &other.bytes))
    });
    let mut text = String::new();
    for Input { kept, bytes } in inputs {
        let mut line = Line {
            kept,
            ..Line::default()
        };
        match String::from_utf8(bytes) {
            Ok(text) => line.text = Some(text),
            Err(error) => line.base64 = Some(BASE64.encode(error.as_bytes())),
        }
        text += &serde_json::to_string(&line)?;
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(kept: Option<&str>, bytes: &[u8]) -> Input {
        Input {
            kept: kept.map(str::to_owned),
            bytes: bytes.to_owned(),
        }
    }

    #[test]
    fn written_inputs_read_the_same() {
        let inputs = vec![
            input(Some("least"), b"\xff\0"),
            input(None, b""),
            input(None, "a\nb \u{2028}\u{1b} \"".as_bytes()),
            input(None, &[0x80, 10, 13]),
        ];
        let text = write(inputs.iter().rev().cloned().collect()).unwrap();
        assert_eq!(text.lines().count(), inputs.len());
        assert_eq!(read(&text).unwrap(), inputs);
    }

    #[test]
    fn wrong_line_is_named() {
        for wrong in [
            "{}",
            r#"{"text":1}"#,
            r#"{"base64":"*"}"#,
            r#"{"text":"","more":1}"#,
        ] {
            let error = read(&format!("{{\"text\":\"\"}}\n{wrong}\n")).unwrap_err();
            assert!(
                error.to_string().starts_with("line 2: "),
                "{wrong}: {error}"
            );
        }
    }
}
