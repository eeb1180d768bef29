//! The properties of a lock, by name.
//!
//! Scenario files say what they expect of a property, so its name must be known here, below the
//! checkers. Everything else about a property stands in its checker's file.

use serde::{Deserialize, Serialize};

use crate::string_enum::known_by_word;

/// The table of properties, one line each, in the order in which reports show them: the name,
/// the variant of [`Property`](crate::Property), and what the property demands.
///
/// `properties!(rows)` calls the macro `rows` with the whole table. The name in a line is also
/// the name of the checker's file, so the checkers' crate declares its files from this table.
#[macro_export]
macro_rules! properties {
    ($rows:ident) => {
        $rows! {
            exclusion: Exclusion, "no two holds of one key overlap";
            lease: Lease, "no client is let in while another's lease is running";
            resource: Resource, "the stock is never below zero, and it adds up";
            ownership: Ownership, "no release or renewal takes another client's lock";
            fencing: Fencing, "tokens strictly increase in the order of holds";
            progress: Progress, "after faults and leases end, a client can get the lock";
            claims: Claims, "what the lock says agrees with what it did";
        }
    };
}

macro_rules! property_enum {
    ($($name:ident: $variant:ident, $demand:literal;)*) => {
        /// A property that a lock should have. Variants are in the order in which reports show them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Property {
            $(#[doc = concat!("Demands: ", $demand, ".")] $variant,)*
        }

        /// The names of all properties, in the same order.
        pub const PROPERTIES: &[&str] = &[$(stringify!($name)),*];

        const DEMANDS: [&str; PROPERTIES.len()] = [$($demand),*];

        impl Property {
            /// All properties, in the same order.
            pub const ALL: [Property; PROPERTIES.len()] = [$(Property::$variant),*];
        }
    };
}

properties!(property_enum);

impl Property {
    /// The name that files and command lines use.
    pub fn as_str(self) -> &'static str {
        PROPERTIES[self as usize]
    }

    /// What the property demands, as half a sentence.
    pub fn demand(self) -> &'static str {
        DEMANDS[self as usize]
    }
}

known_by_word!(Property);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_code_use_the_same_names() {
        for property in Property::ALL {
            assert_eq!(Property::named(property.as_str()), Some(property));
            let value = toml::Value::try_from(property).unwrap();
            assert_eq!(value.as_str(), Some(property.as_str()));
        }
        assert_eq!(Property::named("exclusions"), None);
    }
}
