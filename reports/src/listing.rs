//! Lists the locks, scenarios and backends of this build.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::escape::visible;
use crate::inert::Inert;

/// Format and version of the JSON list.
pub const FORMAT: &str = "picklock-list/1";

/// The entries of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing {
    /// The kind in the plural, which is also its JSON key: `impls`, `scenarios`, `backends`.
    pub kind: &'static str,
    /// A note for the title, in parentheses. May be empty.
    pub note: &'static str,
    /// The entries in reading order.
    pub entries: Vec<Entry>,
}

/// An entry: an item that can be named on the command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its name, as typed.
    pub name: String,
    /// One or two sentences.
    pub summary: String,
    /// Further details by column name: text, numbers, or a list of objects with a `name`.
    pub extra: Vec<(String, Value)>,
}

/// Formats the lists as an indented JSON document without a final newline.
pub fn json(listings: &[Listing]) -> String {
    serde_json::to_string_pretty(&Document(listings))
        .expect("listings hold only text and JSON values")
}

/// Formats the lists as text, each under its title, for a terminal of `width` columns. The text ends with a
/// newline.
///
/// Names come first and are aligned. Summaries are wrapped, and further columns follow in brackets.
pub fn text(listings: &[Listing], width: usize) -> Inert {
    let mut out = String::new();
    for listing in listings {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&match listing.note {
            "" => format!("{}\n", listing.kind),
            note => format!("{} ({note})\n", listing.kind),
        });
        let entries = listing.entries.iter();
        let widest = entries.map(|it| visible(&it.name).width()).max();
        let column = widest.unwrap_or(0).min(32) + 4;
        for entry in &listing.entries {
            write_entry(&mut out, entry, column, width);
        }
    }
    Inert::lines(&out)
}

fn write_entry(out: &mut String, entry: &Entry, column: usize, width: usize) {
    let mut line = format!("  {}", visible(&entry.name));
    let mut used = line.width();
    if used + 2 > column {
        out.push_str(&format!("{line}\n"));
        line.clear();
        used = 0;
    }
    line.push_str(&" ".repeat(column - used));
    used = column;
    for word in words(entry) {
        let wide = word.width();
        if used > column && used + 1 + wide > width {
            out.push_str(&format!("{}\n", line.trim_end()));
            line = " ".repeat(column);
            used = column;
        } else if used > column {
            line.push(' ');
            used += 1;
        }
        line.push_str(&word);
        used += wide;
    }
    out.push_str(&format!("{}\n", line.trim_end()));
}

/// Returns the words of the summary, then each further column. Only lists can be wrapped.
fn words(entry: &Entry) -> Vec<String> {
    let summary = visible(&entry.summary);
    let mut words: Vec<String> = summary.split_whitespace().map(str::to_owned).collect();
    for (column, value) in &entry.extra {
        if value.as_array().is_some_and(Vec::is_empty) {
            continue;
        }
        let text = format!("[{column}: {}]", in_brackets(value));
        let text = visible(&text);
        if value.is_array() {
            // A long list may be wrapped between its entries.
            words.extend(text.split(' ').map(str::to_owned));
        } else {
            words.push(text.into_owned());
        }
    }
    words
}

/// Formats a value in short form. An object is represented by its name.
fn in_brackets(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(things) => {
            let words: Vec<String> = things.iter().map(in_brackets).collect();
            words.join(" ")
        }
        Value::Object(thing) => {
            let name = thing.get("name").and_then(Value::as_str);
            name.unwrap_or_default().to_owned()
        }
        other => other.to_string(),
    }
}

/// Serialized by hand, because the format key must come first and keys must keep their order.
struct Document<'a>(&'a [Listing]);

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1 + self.0.len()))?;
        map.serialize_entry("format", FORMAT)?;
        for listing in self.0 {
            map.serialize_entry(listing.kind, &listing.entries)?;
        }
        map.end()
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2 + self.extra.len()))?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("summary", &self.summary)?;
        for (column, value) in &self.extra {
            map.serialize_entry(column, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listings() -> Vec<Listing> {
        let entry = |name: &str, summary: &str, nodes: u64| Entry {
            name: name.into(),
            summary: summary.into(),
            extra: vec![("nodes".into(), json!(nodes))],
        };
        vec![Listing {
            kind: "impls",
            note: "",
            entries: vec![
                entry("set-nx-px", "SET NX PX, compare and delete in a script", 1),
                entry("redlock", "A majority of five\x1b[2J", 5),
            ],
        }]
    }

    #[test]
    fn text_is_aligned_and_wrapped() {
        let expected = "\
impls
  set-nx-px  SET NX PX, compare and delete
             in a script [nodes: 1]
  redlock    A majority of five\\u{1b}[2J
             [nodes: 5]
";
        assert_eq!(text(&listings(), 42), expected);
    }

    #[test]
    fn list_of_objects_is_shown_by_name() {
        let mut listings = listings();
        let options = json!([{"name": "retry", "default": "1s"}, {"name": "drift"}]);
        let entries = &mut listings[0].entries;
        entries[0].extra.push(("options".into(), options));
        entries[1].extra.push(("options".into(), json!([])));
        let expected = "\
impls
  set-nx-px  SET NX PX, compare and delete
             in a script [nodes: 1]
             [options: retry drift]
  redlock    A majority of five\\u{1b}[2J
             [nodes: 5]
";
        assert_eq!(text(&listings, 42), expected);
    }

    #[test]
    fn json_starts_with_its_format_and_keeps_numbers() {
        let document = json(&listings());
        assert!(document.starts_with("{\n  \"format\": \"picklock-list/1\""));
        let value: Value = serde_json::from_str(&document).unwrap();
        assert_eq!(value["impls"][1]["name"], "redlock");
        assert_eq!(value["impls"][1]["nodes"], 5);
    }
}
