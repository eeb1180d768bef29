//! A page of limited length that lists the omitted parts.

use std::collections::BTreeMap;

/// Bytes reserved for the note about omitted parts.
const RESERVED: usize = 1_000;

/// Markdown of limited length. The end is cut if it is too long.
pub struct Page {
    text: String,
    limit: usize,
    cut: BTreeMap<&'static str, usize>,
    allowed: BTreeMap<&'static str, usize>,
}

impl Page {
    /// Creates an empty page of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Page {
            text: String::new(),
            limit: limit.saturating_sub(RESERVED),
            cut: BTreeMap::new(),
            allowed: BTreeMap::new(),
        }
    }

    /// Limits the number of blocks of a kind.
    pub fn at_most(&mut self, kind: &'static str, count: usize) {
        self.allowed.insert(kind, count);
    }

    /// Adds the whole block and returns `true` if it fits. Otherwise counts it as omitted under `kind`, which is a
    /// plural noun, and returns `false`.
    pub fn add(&mut self, kind: &'static str, block: &str) -> bool {
        let room = self.allowed.get(kind) != Some(&0);
        if !room || self.text.len() + block.len() > self.limit {
            self.cut(kind, 1);
            return false;
        }
        if let Some(allowed) = self.allowed.get_mut(kind) {
            *allowed -= 1;
        }
        self.text.push_str(block);
        true
    }

    /// Counts `count` blocks of a kind as omitted.
    pub fn cut(&mut self, kind: &'static str, count: usize) {
        *self.cut.entry(kind).or_default() += count;
    }

    /// Returns the page, which ends with a note about the omitted parts.
    pub fn done(mut self) -> String {
        let cut = self.cut.iter();
        let cut: Vec<String> = cut.map(|(kind, n)| format!("{n} {kind}")).collect();
        let cut = cut.join(", ");
        if !cut.is_empty() {
            self.text.push_str(&format!(
                "\n> **Cut to fit:** {cut}. The other formats of this report are complete.\n"
            ));
        }
        self.text
    }
}
