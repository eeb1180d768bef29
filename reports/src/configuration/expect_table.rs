//! An `[[expect]]` table of `picklock.toml`: the cells that it applies to, and a key for each
//! property.

use std::fmt;

use picklock_scenarios::Property;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use toml::Spanned;

/// What the user expects of some cells.
#[derive(Debug, Default)]
pub struct ExpectTable {
    /// The name of a lock; `None`: all.
    pub lock: Option<Spanned<String>>,
    /// The name of a scenario; `None`: all.
    pub scenario: Option<Spanned<String>>,
    /// The name of a backend; `None`: all.
    pub backend: Option<Spanned<String>>,
    /// The expectations as written, in the order of the file.
    pub properties: Vec<(Property, Spanned<String>)>,
}

const SELECTORS: [&str; 3] = ["lock", "scenario", "backend"];

/// A key of the table. It has its own type so that an error points at it.
#[derive(Deserialize)]
#[serde(try_from = "String")]
enum Key {
    Lock,
    Scenario,
    Backend,
    Property(Property),
}

impl TryFrom<String> for Key {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        match name.as_str() {
            "lock" | "subject" => Ok(Key::Lock),
            "scenario" => Ok(Key::Scenario),
            "backend" | "world" => Ok(Key::Backend),
            property => Property::named(property).map(Key::Property).ok_or_else(|| {
                let known = SELECTORS
                    .into_iter()
                    .chain(Property::ALL.map(Property::word));
                let known: Vec<String> = known.map(|word| format!("`{word}`")).collect();
                format!(
                    "unknown field `{name}`, expected one of {}",
                    known.join(", ")
                )
            }),
        }
    }
}

impl<'de> Deserialize<'de> for ExpectTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TableVisitor)
    }
}

struct TableVisitor;

impl<'de> Visitor<'de> for TableVisitor {
    type Value = ExpectTable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of expectations")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ExpectTable, A::Error> {
        let mut table = ExpectTable::default();
        while let Some(key) = map.next_key()? {
            let value: Spanned<String> = map.next_value()?;
            match key {
                Key::Lock => table.lock = Some(value),
                Key::Scenario => table.scenario = Some(value),
                Key::Backend => table.backend = Some(value),
                Key::Property(property) => table.properties.push((property, value)),
            }
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct File {
        expect: Vec<Spanned<ExpectTable>>,
    }

    #[test]
    fn every_property_is_a_key() {
        for property in Property::ALL {
            let text = format!("[[expect]]\nworld = \"sim\"\n{property} = \"held\"\n");
            let file: File = toml::from_str(&text).unwrap();
            let table = file.expect[0].get_ref();
            let (key, value) = &table.properties[0];
            assert_eq!((*key, value.get_ref().as_str()), (property, "held"));
            assert_eq!(&text[value.span()], "\"held\"");
        }
    }

    #[test]
    fn another_key_is_refused_where_it_stands_with_the_list() {
        let text = "[[expect]]\nworld = \"sim\"\nleese = \"held\"\n";
        let Err(error) = toml::from_str::<File>(text) else {
            panic!("it was read");
        };
        assert_eq!(&text[error.span().unwrap()], "leese");
        let message = error.message();
        assert!(message.starts_with("unknown field `leese`, expected one of `lock`"));
        for word in Property::ALL.map(Property::word) {
            assert!(message.contains(&format!("`{word}`")), "{message}");
        }
    }
}
