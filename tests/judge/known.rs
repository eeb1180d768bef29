//! Disagreements that were settled against the checkers: those that wait for their mending, and those
//! that are mended.
//!
//! Each that waits is a class: the property, what Picklock says, and what the judge says. It has one run that shows
//! it, and `every_known_disagreement_is_still_one` fails as soon as that run shows it no more: then its
//! run moves to those on which the two must agree.

use picklock_impls::find;
use picklock_scenarios::{Scenario, catalog};

use super::compare::{Comparison, Disagreement, simulate};

/// A class of disagreements.
pub struct Known {
    pub name: &'static str,
    property: &'static str,
    said: &'static [&'static str],
    answer: &'static [&'static str],
    /// Only of these locks; empty: of all.
    locks: &'static [&'static str],
    run: Run,
    /// What the text demands.
    #[expect(dead_code, reason = "for those who read the list")]
    reason: &'static str,
}

/// A lock in a scenario.
pub struct Run {
    name: &'static str,
    /// The scenario; `None`: the one of the catalog that has this name.
    text: Option<&'static str>,
    lock: &'static str,
    seed: u64,
}

macro_rules! catalog {
    ($name:literal, $lock:literal, $seed:literal) => {
        Run {
            name: $name,
            text: None,
            lock: $lock,
            seed: $seed,
        }
    };
}

macro_rules! file {
    ($name:literal, $lock:literal, $seed:literal) => {
        Run {
            text: Some(include_str!(concat!("disagreements/", $name, ".toml"))),
            ..catalog!($name, $lock, $seed)
        }
    };
}

pub const KNOWN: &[Known] = &[Known {
    name: "a-pause-hides-who-is-kept-away",
    property: "progress",
    said: &["held"],
    answer: &["unknown"],
    locks: &[],
    run: file!("kept-away-with-pauses", "set-nx-px", 684_456),
    reason: "A fault that never ends keeps clients from what the lock needs: not judged. A pause \
                 between two requests, another buyer of an open loop, or another lock hides the wait.",
}];

/// Runs on which the two disagreed until one of them was mended: they must agree now.
pub const SETTLED: &[Run] = &[
    // An extension counts from when it was granted, not from when it was asked for.
    catalog!("extend-after-gap", "phantom-extend", 666_539),
    // A validity that is told with nothing written is untrue.
    catalog!("calm", "no-lock", 1),
    // Clients that count by themselves lose no counter of a server.
    catalog!("node-restart-everysec", "fence-per-client", 895_544),
    // The value in the key is that of a granted hold. No attempt in doubt wrote anything.
    catalog!(
        "master-failover-synced",
        "watchdog-outlives-unlock",
        472_928
    ),
    // A fault that never ends takes what the lock needs: not judged.
    file!("no-quorum-for-good", "set-nx-px", 1),
    // A renewal by SET does not change whose a value is.
    file!("renewal-over-a-renewed-value", "renews-by-set", 336_907),
    // The custody shows the value of the other lock in the key all the time.
    catalog!("two-keys", "truncated-key", 1),
    // Only clients that wrote over each other's sales damaged the stock.
    file!("lost-update-of-another-pair", "seconds-as-millis", 40_880),
    // What had run out while its node was down was not lost in the restart.
    file!("run-out-while-down", "seconds-as-millis", 628_835),
];

impl Known {
    /// True if the disagreement is of this class.
    pub fn is(&self, one: &Disagreement) -> bool {
        self.property == one.property
            && self.said.contains(&one.said.as_str())
            && self.answer.contains(&one.answer.as_str())
            && (self.locks.is_empty() || self.locks.contains(&one.lock.as_str()))
    }

    /// True if its run still shows it.
    pub fn is_still_one(&self) -> bool {
        let disagreements = self.run.disagreements();
        let mut seen = disagreements.iter();
        seen.any(|one| self.is(one) && one.lock == self.run.lock)
    }
}

impl Run {
    /// On what the two disagree.
    pub fn disagreements(&self) -> Vec<Disagreement> {
        let scenario = match self.text {
            None => catalog::named(self.name),
            Some(text) => Scenario::parse(text, self.name),
        };
        let scenario = scenario.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let lock = find(self.lock).expect("a built-in lock");
        let ran = simulate(lock, scenario, self.seed).expect("it fits the lock");
        let mut comparison = Comparison::default();
        comparison.compare(&ran);
        comparison.disagreements
    }
}
