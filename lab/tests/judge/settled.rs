//! Runs on which Picklock and the judge disagreed until one of the two was mended.

use picklock_impls::find;
use picklock_scenarios::{Scenario, catalog};

use super::compare::{Comparison, Disagreement, simulate};

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
    // Clients that a fault keeps away for good: not judged, although they pause between two requests.
    file!("kept-away-with-pauses", "set-nx-px", 684_456),
    // The key was due long before the second client came, so the leap of the clock changed nothing.
    catalog!("clock-jump", "seconds-as-millis", 468_962),
    catalog!("clock-jump", "seconds-as-millis", 622_428),
    // A lease that is told for ever is outstanding for as long as it was written, and no longer.
    catalog!("split-vote", "validity-underflow", 530_725),
    // Tokens increase in the order in which the lock was taken, not in that of late replies.
    catalog!("late-grant", "fenced", 55_521),
    // The lock is wanted as long as some buyer asks for it, though each of them gives up in time.
    file!("one-buyer-after-the-other", "renews-in-doubt", 314_271),
    // A value that is still there from before lives no longer for a new grant.
    file!("kept-value-and-a-new-lease", "stale-hold-count", 958_222),
    catalog!("node-restart-aof", "stale-hold-count", 785_872),
    // Where a clock was set, the judge does not know whether that value is still there.
    file!(
        "kept-value-on-a-node-whose-clock-was-set",
        "stale-hold-count",
        858_901
    ),
    // What writes the attempt's own value again is a renewal, also during the release.
    file!("renewed-during-the-release", "phantom-extend", 436_968),
    // An extension that was told while the value was there re-created nothing: it told too much.
    file!(
        "extension-told-before-the-end",
        "validity-underflow",
        319_780
    ),
    // A clock that could not be set prolongs no key.
    file!("clock-that-could-not-be-set", "timeout-is-release", 571_906),
    // A lease that was rounded up to a whole second may be outstanding for so long.
    file!("rounded-up-and-waited-for", "whole-seconds", 262_603),
    // A lock that is granted while its replicas are cut off does not need them.
    file!("replicas-cut-off-and-granted", "one-key-for-all", 216_051),
    // A lease that was extended before the other client came, and was over again, excuses nothing.
    file!("resumed-before-the-other-came", "stale-hold-count", 181_998),
    // A claim does not rest on what its attempt took back before it was granted.
    file!("taken-back-before-the-grant", "validity-underflow", 764_850),
    // The lock is wanted as long as one client or another asks for it.
    file!("one-worker-after-the-other", "renews-in-doubt", 446_376),
    // A release that a fault keeps back does not make the lease longer.
    file!(
        "release-that-a-fault-holds-up",
        "sleeps-until-notified",
        767_878
    ),
    // A client that pauses for long between two requests is not kept waiting.
    file!("pause-between-two-requests", "one-key-for-all", 820_672),
    // Clients that a fault keeps away for good, and that ask for one lock after the other: not judged.
    file!("kept-away-from-several-locks", "setnx-lua", 94_133),
    // Attempts of a client that is kept away for good leave doubts, and none of them excuses its wait.
    file!("kept-away-while-others-work", "whole-seconds", 600_781),
    // A lease that is told after the release was sent promises nothing.
    file!("extended-after-the-release", "phantom-extend", 577_234),
    // What kept the clients out ended a moment before the bound was reached.
    file!(
        "cause-that-ended-before-the-bound",
        "one-key-for-all",
        763_495
    ),
    // A release that counts down and leaves a hold of an attempt in doubt says something untrue.
    file!("hold-counts-left", "pubsub", 713_992),
    // The same value in another lock's key is another hold.
    file!("hold-count-left-beside-another-lock", "pubsub", 260_322),
];

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
