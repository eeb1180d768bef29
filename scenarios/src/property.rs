//! The names of a lock's properties.
//!
//! They are in this crate because scenario files contain expectations of properties. Everything else about a property
//! is in its checker.

use serde::{Deserialize, Serialize};

use crate::string_enum::impl_named;

/// The table of properties, one line each, in the order of reports: the name, the variant of
/// [`Property`](crate::Property), and the requirement.
///
/// `properties!(rows)` passes the whole table to the macro `rows`. The name in a line is also the name of the
/// checker's module.
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
            claims: Claims, "what the lock reported agrees with what it did";
            once: Once, "no tick runs twice, and none is skipped while the lock is free";
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
    /// Returns the name that files and command lines use.
    pub fn as_str(self) -> &'static str {
        PROPERTIES[self as usize]
    }

    /// Returns the requirement as half a sentence.
    pub fn demand(self) -> &'static str {
        DEMANDS[self as usize]
    }

    /// Returns `true` if the property is judged in a run with ticks, or in one without: only jobs can run once per
    /// tick.
    pub fn is_judged(self, has_ticks: bool) -> bool {
        self != Property::Once || has_ticks
    }
}

impl_named!(Property);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_their_serialized_form() {
        for property in Property::ALL {
            assert_eq!(Property::named(property.as_str()), Some(property));
            let value = toml::Value::try_from(property).unwrap();
            assert_eq!(value.as_str(), Some(property.as_str()));
        }
        assert_eq!(Property::named("exclusions"), None);
    }
}
