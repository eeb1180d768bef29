//! Parses and checks scenario files. Errors name the position and a remedy.

use std::fmt;

use crate::nearest::did_you_mean;
use crate::scenario::Scenario;
use crate::secret_places::{shown_line, shown_problem};
use crate::validate;

/// Maximum number of characters of a line to show.
const MAX_EXCERPT: usize = 300;

/// Maximum number of characters of a problem to show. A message of the TOML parser may quote the file.
const MAX_PROBLEM: usize = 2_000;

/// A problem in a scenario file, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioError {
    /// The file, or the scenario's name in the catalog.
    pub file: String,
    /// Line and column, counted from 1, or `None` if the problem has no position.
    pub place: Option<(usize, usize)>,
    /// The line itself, up to a text that may be a password.
    pub excerpt: Option<String>,
    /// The problem, and what was expected.
    pub problem: String,
    /// The nearest valid word, or a remedy.
    pub hint: Option<String>,
}

impl ScenarioError {
    /// Creates an error about a text, at this offset if it is known. The error omits any text that may be a password.
    pub fn at(
        file: &str,
        text: &str,
        offset: Option<usize>,
        problem: String,
        hint: Option<String>,
    ) -> ScenarioError {
        let place = offset.map(|offset| line_and_column(text, offset));
        let line = place.and_then(|(line, _)| text.lines().nth(line - 1));
        let excerpt = place.and_then(|(line, _)| shown_line(text, line - 1));
        ScenarioError {
            file: file.to_owned(),
            place,
            problem: shown_problem(&problem, excerpt.as_deref() != line),
            excerpt,
            hint,
        }
    }

    /// Returns advice about the brackets of a table if `message` is the TOML parser's error about a table in place of a
    /// list of tables, or the reverse. `offset` is the place of the error.
    pub fn brackets_hint(text: &str, offset: usize, message: &str) -> Option<String> {
        let is_single = message.starts_with("invalid type: map, expected a sequence");
        // For a list where a table is expected, the parser reports a sequence in place of the struct.
        let is_list = message.starts_with("invalid type: sequence, expected struct")
            || message.starts_with("invalid type: map, expected a string");
        if !is_single && !is_list {
            return None;
        }
        let begin = text.get(..offset)?.rfind('\n').map_or(0, |at| at + 1);
        let header = text.get(begin..)?.lines().next()?.trim();
        if !header.starts_with('[') || header.starts_with("[[") == is_single {
            return None;
        }
        let name = header.trim_start_matches('[').split(']').next()?;
        Some(if is_single {
            format!("write `[[{name}]]`: there may be several of these tables")
        } else {
            format!("write `[{name}]`: there is only one of this table")
        })
    }

    /// Returns the nearest known word if `message` is the TOML parser's error about an unknown word. Such a message
    /// quotes the unknown word, and then all known words.
    pub fn hint_at(message: &str) -> Option<String> {
        let is_unknown = ["unknown field", "unknown variant", "unknown cause"];
        if !is_unknown.iter().any(|it| message.starts_with(it)) {
            return None;
        }
        let mut quoted = message.split('`').skip(1).step_by(2);
        let word = quoted.next()?;
        if word == "auto" {
            let why = "name a backend: the same cells must run every time";
            return Some(why.to_owned());
        }
        did_you_mean(word, quoted)
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        match self.problem.char_indices().nth(MAX_PROBLEM) {
            Some((end, _)) => write!(f, ": {}…", &self.problem[..end])?,
            None => write!(f, ": {}", self.problem)?,
        }
        if let (Some((line, column)), Some(excerpt)) = (self.place, &self.excerpt) {
            let gutter = line.to_string();
            let blank = " ".repeat(gutter.len());
            // The column may be behind the end of the excerpt.
            let column = column.min(excerpt.chars().count() + 1);
            let (excerpt, column) = around(excerpt, column);
            let indent = " ".repeat(column.saturating_sub(1));
            write!(
                f,
                "\n {blank} |\n {gutter} | {excerpt}\n {blank} | {indent}^"
            )?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  = help: {hint}")?;
        }
        Ok(())
    }
}

/// Returns the part of a line around a column, and the column in this part.
fn around(line: &str, column: usize) -> (String, usize) {
    let length = line.chars().count();
    if length <= MAX_EXCERPT {
        return (line.to_owned(), column);
    }
    let first = column.saturating_sub(MAX_EXCERPT / 2);
    let begin = if first > 0 { "…" } else { "" };
    let end = if first + MAX_EXCERPT < length {
        "…"
    } else {
        ""
    };
    let part: String = line.chars().skip(first).take(MAX_EXCERPT).collect();
    let column = column - first + begin.chars().count();
    (format!("{begin}{part}{end}"), column)
}

impl Scenario {
    /// Parses and checks a scenario. Errors refer to it as `file`.
    ///
    /// # Errors
    /// Returns the first problem, with its line and column if it has a position.
    pub fn parse(text: &str, file: &str) -> Result<Scenario, ScenarioError> {
        let scenario: Scenario = toml::from_str(text).map_err(|error| {
            let message = error.message().trim();
            let offset = error.span().map(|span| span.start);
            let hint = ScenarioError::hint_at(message).or_else(|| {
                ScenarioError::brackets_hint(text, offset.unwrap_or_default(), message)
            });
            ScenarioError::at(file, text, offset, simplify_type_names(message), hint)
        })?;
        validate::scenario(&scenario).map_err(|problem| {
            let offset = locate(text, &problem.path);
            ScenarioError::at(file, text, offset, problem.text, problem.hint)
        })?;
        Ok(scenario)
    }

    /// Checks the scenario again after its numbers were changed, and against the number of nodes that the lock needs.
    ///
    /// # Errors
    /// Returns an error if a fault names a worker or node that does not exist, or if a value is out of range.
    pub fn check_for(&self, nodes: usize) -> Result<(), ScenarioError> {
        validate::scenario(self)
            .and_then(|()| validate::nodes(self, self.topology.nodes.unwrap_or(nodes)))
            .map_err(|problem| {
                let text = format!("{}: {}", problem.path_text(), problem.text);
                ScenarioError::at(&self.name, "", None, text, problem.hint)
            })
    }
}

/// Replaces the parser's type names with everyday words.
fn simplify_type_names(message: &str) -> String {
    let mut plain = message.replace('\n', "; ");
    for jargon in ["usize", "u32", "i64"] {
        plain = plain.replace(&format!("expected {jargon}"), "expected a whole number");
    }
    plain.replace("expected bool", "expected true or false")
}

fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    (line, column)
}

/// Returns the position of the value at `path`, or of its nearest parent in the file.
fn locate(text: &str, path: &[String]) -> Option<usize> {
    let document = toml::de::DeTable::parse(text).ok()?;
    let (first, rest) = path.split_first()?;
    let mut value = document.get_ref().get(first.as_str())?;
    for part in rest {
        let next = match value.get_ref() {
            toml::de::DeValue::Table(table) => table.get(part.as_str()),
            toml::de::DeValue::Array(array) => part
                .parse::<usize>()
                .ok()
                .and_then(|index| array.get(index)),
            _ => None,
        };
        let Some(found) = next else { break };
        value = found;
    }
    Some(value.span().start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_shows_only_the_part_of_a_long_line_around_its_place() {
        let text = format!("a = {}!{}\n", "x".repeat(100_000), "é".repeat(100_000));
        let problem = "y".repeat(100_000);
        for offset in [0, 4, 100_004, text.len() - 3] {
            let error = ScenarioError::at("f", &text, Some(offset), problem.clone(), None);
            let shown = error.to_string();
            assert!(shown.chars().count() < 3_500, "{}", shown.len());
            let lines: Vec<&str> = shown.lines().collect();
            let [.., line, caret] = lines.as_slice() else {
                panic!("{shown}")
            };
            let column = caret.chars().position(|c| c == '^').unwrap();
            assert_eq!(
                line.chars().nth(column),
                text[offset..].chars().next(),
                "{offset}: {shown}"
            );
        }
    }
}
