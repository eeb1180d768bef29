//! What reports say about a property.

/// All that the command line and the reports need to know of a property besides its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Description {
    /// Stands for the property where there is no room for its name. No two properties share one.
    pub letter: char,
    /// Orders violations in reports and in the gate; 0 comes first. The promises of the lock
    /// service come before those that clients must keep.
    pub severity: u8,
    /// What `held` means, in one line.
    pub held: &'static str,
    /// What `violated` means, in at most five words.
    pub violated: &'static str,
    /// What `not-applicable` means, in one line.
    pub not_applicable: &'static str,
    /// The page of `picklock explain`, in Markdown. Its title is `# NAME (property)`.
    pub page: &'static str,
}

/// What `not-applicable` means where there is nothing more to say.
pub(super) const DOES_NOT_APPLY: &str = "does not apply to this lock";
