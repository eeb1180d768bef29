//! The words of verdicts that expectations may use. The checkers define their meaning. A test in
//! the harness keeps both lists the same.

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
