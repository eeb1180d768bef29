//! The description of a property for reports.

/// The facts about a property that the command line and the reports need, besides its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Description {
    /// Abbreviation for places without room for the name. No two properties share one.
    pub letter: char,
    /// Order of violations in reports and in the gate; 0 comes first. The promises of the lock service come before
    /// those that clients must keep.
    pub severity: u8,
    /// Meaning of `held`, in one line.
    pub held: &'static str,
    /// Meaning of `violated`, in at most five words.
    pub violated: &'static str,
    /// Meaning of `not-applicable`, in one line.
    pub not_applicable: &'static str,
    /// The page of `picklock explain`, in Markdown. Its title is `# NAME (property)`.
    pub page: &'static str,
}

/// Meaning of `not-applicable` for properties that need no further explanation.
pub(super) const DOES_NOT_APPLY: &str = "does not apply to this lock";
