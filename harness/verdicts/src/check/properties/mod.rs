//! The table of checkers: one file for each property.
//!
//! The rows are those of [`picklock_scenarios::properties!`]. Each declares the file
//! `properties/NAME.rs`, in which a type with the name of the [`Property`]'s variant implements
//! [`Checker`]. So a new property is one file here and one line in that table. `cargo fmt` does
//! not find files that a macro declares; `rustfmt --edition 2024` formats them.

use picklock_scenarios::Property;

use super::checker::Checker;
use super::description::Description;
use super::finding::Judgement;
use crate::history::{Event, Header};
use crate::key_history::KeyUpdate;
use crate::timeline::{Attempt, Step, Timeline};

macro_rules! checkers {
    ($($name:ident: $variant:ident, $demand:literal;)*) => {
        $(pub(super) mod $name;)*

        /// One checker for each property. They are fields, not trait objects: most of them ignore
        /// most events, and ignoring an event must not cost a call.
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

        /// What reports say about a property.
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
    fn every_property_has_a_letter_of_its_own() {
        let letters: BTreeSet<char> = Property::ALL.map(|one| describe(one).letter).into();
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
