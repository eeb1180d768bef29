//! The words of verdicts that expectations may use. The checkers own their meaning; a test in the
//! harness holds both lists together.

/// The properties that are judged.
pub const PROPERTIES: &[&str] = &[
    "exclusion",
    "lease",
    "resource",
    "ownership",
    "fencing",
    "progress",
];

/// The causes that a violation can have.
pub const CAUSES: &[&str] = &[
    "outlived-lease",
    "expired-grant",
    "lost-on-failover",
    "lost-on-restart",
    "quorum-erosion",
    "clock-jump",
    "clock-skew",
    "stolen-release",
    "phantom-extend",
    "ambiguous-acquire",
    "evicted",
    "no-ttl",
    "race",
    "undetermined",
];
