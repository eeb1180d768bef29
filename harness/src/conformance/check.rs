//! One check: what it asks, and how the answers are judged. Data and a pure function.

use super::evidence::Evidence;
use super::finding::{Judgement, Problem};
use super::script::Step;

/// One check.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// Its name, which is also that of its file.
    pub name: &'static str,
    /// What it says of an adapter that passes.
    pub about: &'static str,
    /// The paragraph of `docs/protocol.md` that it is about.
    pub paragraph: &'static str,
    /// What is done, in this order.
    pub script: &'static [Step],
    /// Judges what the script has seen.
    pub judge: fn(&Evidence) -> Result<Judgement, Problem>,
}
