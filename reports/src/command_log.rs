//! Reads the command log of a saved run: the messages of each attempt and their outcomes.
//!
//! The log is evidence only and changes no verdict. A truncated log is still readable and reports how many of
//! its oldest lines were discarded.

use std::collections::HashMap;

use picklock_scenarios::{Direction, Phase};
use serde::Deserialize;

/// The supported format; the `format` key of the first line.
const FORMAT: &str = "picklock-proxy/1";

/// A command or a reply. Times are nanoseconds on the run's clock.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Message {
    /// Time at which the proxy had received the complete message.
    pub at_ns: u64,
    /// When the proxy forwarded it, or `None` if it did not.
    #[serde(default)]
    pub sent_ns: Option<u64>,
    /// Number of the worker. The client that inspects the locks after the run has the number after the last
    /// worker.
    pub worker: usize,
    /// Number of the node.
    pub node: usize,
    /// Its direction.
    pub direction: Direction,
    /// The worker's attempt at that time, by operation number.
    pub op: u64,
    /// The worker's operation at that time.
    pub phase: Phase,
    /// `forwarded`, `delayed`, `held`, `dropped`, `cut`, `unparseable` or `unreachable`.
    pub outcome: String,
    /// Its first bytes, escaped.
    pub preview: String,
}

/// A command log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLog {
    /// In order of time.
    pub messages: Vec<Message>,
    /// The number of discarded oldest messages.
    pub omitted: u64,
}

/// Why a command log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CommandLogError {
    /// The first line is not the header of a command log of this version.
    #[error(
        "this is not a command log, or it has another version: expected a first line with `\"format\":\"{FORMAT}\"`"
    )]
    Foreign,
    /// A line is not valid.
    #[error("line {line}: {error}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// The parser's message.
        error: serde_json::Error,
    },
}

/// Reads a command log.
///
/// # Errors
/// Returns an error if the first line has another format, or if a line cannot be read. An incomplete last
/// line, such as a killed run leaves behind, is ignored.
pub fn read(text: &str) -> Result<CommandLog, CommandLogError> {
    #[derive(Deserialize)]
    struct Header {
        format: String,
        #[serde(default)]
        omitted: u64,
    }
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let header: Header = serde_json::from_str(first).map_err(|_| CommandLogError::Foreign)?;
    if header.format != FORMAT {
        return Err(CommandLogError::Foreign);
    }
    let mut messages = Vec::new();
    for (text, line) in rest.split_inclusive('\n').zip(2..) {
        match serde_json::from_str(text.trim_end()) {
            Ok(message) => messages.push(message),
            Err(_) if !text.ends_with('\n') => break,
            Err(error) => return Err(CommandLogError::Line { line, error }),
        }
    }
    messages.sort_by_key(|message: &Message| message.at_ns);
    Ok(CommandLog {
        messages,
        omitted: header.omitted,
    })
}

/// The number of commands per acquisition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Attempts that were granted and whose commands are all in the log.
    pub grants: usize,
    /// Average number of commands per acquisition, failed attempts included.
    pub mean: f64,
    /// The largest number of commands.
    pub most: u64,
}

impl CommandLog {
    /// Returns the cost of the granted attempts, each given as operation number and time of the request, or
    /// `None` if the log has no commands of them. If lines were discarded, attempts from before the oldest
    /// line are skipped, because some of their commands may be missing.
    pub fn cost(&self, granted: impl IntoIterator<Item = (u64, u64)>) -> Option<Cost> {
        let oldest_ns = match (self.omitted, self.messages.first()) {
            (0, _) => 0,
            (_, Some(message)) => message.at_ns,
            (_, None) => return None,
        };
        let mut commands: HashMap<u64, u64> = HashMap::new();
        for message in &self.messages {
            if message.direction == Direction::Request && message.phase == Phase::Acquire {
                *commands.entry(message.op).or_default() += 1;
            }
        }
        let counted = granted.into_iter().filter(|(_, at_ns)| *at_ns >= oldest_ns);
        let counts: Vec<u64> = counted
            .map(|(op, _)| commands.get(&op).copied().unwrap_or(0))
            .collect();
        let sum: u64 = counts.iter().sum();
        (sum > 0).then(|| Cost {
            grants: counts.len(),
            mean: sum as f64 / counts.len() as f64,
            most: counts.iter().copied().max().unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"format":"picklock-proxy/1","keys":["k"],"entries":3,"omitted":0}"#;

    fn line(at_ns: u64, direction: &str, op: u64, phase: &str) -> String {
        format!(
            r#"{{"at_ns":{at_ns},"sent_ns":{at_ns},"worker":0,"node":1,"conn":1,"direction":"{direction}","command":"SET","op":{op},"phase":"{phase}","size":9,"outcome":"forwarded","preview":"SET k"}}"#
        )
    }

    #[test]
    fn proxy_log_is_read_and_foreign_text_is_rejected() {
        let text = [HEADER, &line(7, "request", 3, "acquire"), ""].join("\n");
        let log = read(&text).unwrap();
        assert_eq!((log.messages.len(), log.messages[0].op), (1, 3));
        for foreign in ["", "no", r#"{"format":"picklock-proxy/2"}"#] {
            assert!(
                matches!(read(foreign), Err(CommandLogError::Foreign)),
                "{foreign}"
            );
        }
    }

    #[test]
    fn truncated_last_line_is_skipped_and_others_are_errors() {
        let whole = line(7, "request", 3, "acquire");
        let cut = [HEADER, &whole, &whole[..40]].join("\n");
        assert_eq!(read(&cut).unwrap().messages.len(), 1);
        let broken = [HEADER, &whole[..40], &whole].join("\n");
        let error = read(&broken).unwrap_err().to_string();
        assert!(error.starts_with("line 2: "), "{error}");
    }

    #[test]
    fn cost_counts_commands_per_grant() {
        let lines = [
            HEADER.to_owned(),
            line(1, "request", 3, "acquire"),
            line(2, "reply", 3, "acquire"),
            line(3, "request", 3, "acquire"),
            line(4, "request", 3, "release"),
            line(5, "request", 4, "acquire"),
        ];
        let mut log = read(&lines.join("\n")).unwrap();
        let cost = log.cost([(3, 0), (4, 5)]).unwrap();
        assert_eq!((cost.grants, cost.mean, cost.most), (2, 1.5, 2));
        // Attempts from before the oldest line may lack some of their commands.
        log.omitted = 9;
        let cost = log.cost([(3, 0), (4, 5)]).unwrap();
        assert_eq!((cost.grants, cost.most), (1, 1));
        assert_eq!(log.cost([]), None);
    }
}
