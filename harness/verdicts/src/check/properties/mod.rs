//! The table of checkers: one file for each property.
//!
//! The rows come from [`picklock_scenarios::properties!`]. For each row, the module with its name has a type with the
//! name of the [`Property`]'s variant, which implements [`Checker`]. So a new property needs one file and one `mod`
//! line here, and one line in that table.

pub(super) mod claims;
pub(super) mod exclusion;
pub(super) mod fencing;
pub(super) mod lease;
pub(super) mod once;
pub(super) mod ownership;
pub(super) mod progress;
pub(super) mod resource;

use picklock_scenarios::Property;

use super::checker::Checker;
use super::description::Description;
use super::finding::Judgement;
use crate::history::{Event, Header};
use crate::key_history::KeyUpdate;
use crate::timeline::{Attempt, Step, Timeline};

macro_rules! checkers {
    ($($name:ident: $variant:ident, $demand:literal;)*) => {
        /// One checker for each property. They are fields and not trait objects, because most checkers ignore most
        /// events, and ignoring an event must not cost a call.
        pub(super) struct Checkers {
            $($name: $name::$variant,)*
        }

        impl Checkers {
            pub fn new(header: &Header) -> Self {
                Checkers {
                    $($name: Checker::new(header),)*
                }
            }

            pub fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
                $(self.$name.step(at_ns, attempt, step);)*
            }

            pub fn accessed(&mut self, event: &Event) {
                $(self.$name.accessed(event);)*
            }

            pub fn event(&mut self, event: &Event) {
                $(self.$name.event(event);)*
            }

            pub fn key_changed(&mut self, at_ns: u64, update: &KeyUpdate<'_>) {
                $(self.$name.key_changed(at_ns, update);)*
            }

            pub fn finish(self, timeline: &Timeline<'_>) -> Vec<(Property, Judgement)> {
                vec![$((Property::$variant, self.$name.finish(timeline)),)*]
            }
        }

        /// Returns the description of a property for reports.
        pub fn describe(property: Property) -> &'static Description {
            match property {
                $(Property::$variant => &<$name::$variant as Checker>::DESCRIPTION,)*
            }
        }
    };
}

picklock_scenarios::properties!(checkers);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn letters_of_properties_are_unique() {
        let letters: BTreeSet<char> = Property::ALL
            .map(|property| describe(property).letter)
            .into();
        assert_eq!(letters.len(), Property::ALL.len());
    }

    #[test]
    fn every_page_has_its_title() {
        for property in Property::ALL {
            let title = format!("# {property} (property)\n");
            assert!(describe(property).page.starts_with(&title), "{title}");
        }
    }
}
