//! The code of a remedy for the page's template.

use super::name::{Name, paragraph};
use crate::remedy::Remedy;

/// A remedy in code.
#[derive(Clone, Copy)]
pub(super) struct RemedyView(&'static Remedy);

impl RemedyView {
    pub(super) fn new(remedy: &'static Remedy) -> RemedyView {
        RemedyView(remedy)
    }

    pub(super) fn anchor(self) -> &'static str {
        &self.0.anchor
    }

    pub(super) fn title(self) -> &'static str {
        &self.0.title
    }

    pub(super) fn text(self) -> Vec<Name> {
        self.0.text.iter().map(|it| paragraph(it)).collect()
    }

    pub(super) fn shared(self) -> &'static [String] {
        &self.0.shared
    }

    pub(super) fn clients(self) -> &'static [(&'static str, String)] {
        &self.0.clients
    }
}
