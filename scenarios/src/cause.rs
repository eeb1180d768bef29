//! The causes of violations: the table from which names, reports and `picklock explain` take
//! their words.
//!
//! The table stands here because scenario files name causes. Which cause a violation has is
//! decided by the checkers' crate, from evidence.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Who is responsible for a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Responsible {
    /// The client, which did this.
    Client(&'static str),
    /// The lock, by its own commands.
    Lock,
    /// Redis, which lost the lock, and the lock, which relied on Redis to keep it.
    Redis,
    /// The application around a right lock, which did this.
    Application(&'static str),
    /// What the lock protects, which did this.
    Resource(&'static str),
    /// The history does not show who.
    Undetermined,
}

/// A row of the table.
struct Row {
    word: &'static str,
    meaning: &'static str,
    responsible: Responsible,
    page: &'static str,
}

macro_rules! causes {
    ($($(#[$doc:meta])* $variant:ident $word:literal, $responsible:expr, $meaning:literal;)*) => {
        /// Why a property was violated.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Cause {
            $($(#[$doc])* $variant,)*
        }

        /// The names of all causes, in the order of the table.
        pub const CAUSES: &[&str] = &[$($word),*];

        /// One row for each variant, in the same order.
        const ROWS: [Row; CAUSES.len()] = [$(Row {
            word: $word,
            meaning: $meaning,
            responsible: $responsible,
            page: include_str!(concat!("../explain/", $word, ".md")),
        }),*];

        impl Cause {
            /// All causes, in the order of the table.
            pub const ALL: [Cause; CAUSES.len()] = [$(Cause::$variant),*];
        }
    };
}

// One entry each: what happened, then name, who is responsible, and the line of a report, with
// the remedy where there is one. The page of `picklock explain` is `scenarios/explain/NAME.md`.
causes! {
    /// The client continued after its lease had expired.
    OutlivedLease "outlived-lease",
        Responsible::Client("it kept working after its lease had expired"),
        "the client outlived its lease: use fencing";
    /// The grant had expired before it arrived.
    ExpiredGrant "expired-grant",
        Responsible::Client("it used a grant that had already expired"),
        "a grant was used that had expired on arrival: check the remaining lease";
    /// A failover lost the lock.
    LostOnFailover "lost-on-failover",
        Responsible::Redis,
        "the promoted replica had never received the lock";
    /// A restart lost the lock.
    LostOnRestart "lost-on-restart",
        Responsible::Redis,
        "the node restarted without the lock: sync every write, or restart after a ttl";
    /// Nodes of the quorum lost their votes.
    QuorumErosion "quorum-erosion",
        Responsible::Redis,
        "nodes lost their votes: sync every write, or restart them after a ttl";
    /// A node's clock jumped.
    ClockJump "clock-jump",
        Responsible::Redis,
        "a node's clock jumped, and the key expired early";
    /// A client's clock is wrong.
    ClockSkew "clock-skew",
        Responsible::Lock,
        "a client trusted its wall clock: let Redis measure the lease";
    /// A client released another client's lock.
    StolenRelease "stolen-release",
        Responsible::Lock,
        "a release deleted another client's lock: compare and delete in one script";
    /// An extension re-created a lost lock.
    PhantomExtend "phantom-extend",
        Responsible::Lock,
        "an extension re-created a lost lock: extend only an existing key";
    /// An acquisition took effect without the client knowing.
    AmbiguousAcquire "ambiguous-acquire",
        Responsible::Lock,
        "the lock was taken without the client knowing: undo attempts without an answer";
    /// The key was evicted or flushed.
    Evicted "evicted",
        Responsible::Redis,
        "Redis dropped the key: keep locks where nothing is evicted or flushed";
    /// A key without expiry was left behind.
    NoTtl "no-ttl",
        Responsible::Lock,
        "a key without expiry was left behind: SET it with PX in one command";
    /// Check and act were separate commands.
    Race "race",
        Responsible::Lock,
        "check and act were not one command: make them one script";
    /// A grant rests on fewer nodes than the lock needs.
    UnbackedGrant "unbacked-grant",
        Responsible::Lock,
        "a grant rests on too few nodes: count only written values, and ask for a majority";
    /// The expiry on the servers is not the lease that was asked for, or told.
    WrongExpiry "wrong-expiry",
        Responsible::Lock,
        "the expiry written is not the lease asked for or told: use milliseconds, round up";
    /// A release told success, and the value was still there.
    FalseRelease "false-release",
        Responsible::Lock,
        "a release left the key: delete what was written, and believe only the server";
    /// Two locks use one key.
    SharedKey "shared-key",
        Responsible::Lock,
        "two locks use one key: put the whole name of the lock into the key";
    /// One lock is held in several keys.
    SplitKey "split-key",
        Responsible::Lock,
        "one lock was held under several keys: make the key of the lock's name alone";
    /// A command of another client kept a value alive.
    ForeignRenewal "foreign-renewal",
        Responsible::Lock,
        "another client's value was kept alive: compare and prolong in one script";
    /// Two clients wrote the same value.
    SharedToken "shared-token",
        Responsible::Lock,
        "two clients wrote the same value: use a random one for each acquisition";
    /// A grant rests on the reply to an earlier command.
    StaleReply "stale-reply",
        Responsible::Lock,
        "a grant rests on the reply to an earlier command: close a connection that timed out";
    /// The client's own command took its key away while it held the lock.
    OwnRemoval "own-removal",
        Responsible::Lock,
        "the holder's own command took its key away: remove it in the release alone";
    /// The lock's own rule let two in.
    NotExclusive "not-exclusive",
        Responsible::Lock,
        "the lock's own script let a second client in: its rule admits more than one";
    /// It told its client of the loss when another was inside.
    ToldLate "told-late",
        Responsible::Lock,
        "the lock told its client of the loss after it had let another in: tell it in time";
    /// A lock that promises renewal lost its key, and said nothing.
    SilentLoss "silent-loss",
        Responsible::Lock,
        "the lock promises renewal, and its key ran out without a word";
    /// An extension that was asked for in time reached no server while the lease ran.
    LateExtension "late-extension",
        Responsible::Lock,
        "an extension asked for in time reached no server: keep a connection free for holders";
    /// It refused to extend a lease whose value stood.
    RefusedExtension "refused-extension",
        Responsible::Lock,
        "the lock refused to extend a lease that was still its client's";
    /// It told a longer time than the harness has waited.
    WrongElapsed "wrong-elapsed",
        Responsible::Lock,
        "it told a longer time than anybody has waited: count from the reading of the request";
    /// A renewal went on after the release.
    RenewedAfterRelease "renewed-after-release",
        Responsible::Lock,
        "a renewal went on after the release: end it first, and release again if in doubt";
    /// A renewal went on when its client had ended.
    RenewedAfterEnd "renewed-after-end",
        Responsible::Lock,
        "a renewal went on when its client had ended: end it with the client";
    /// Waiters slept while the lock was free.
    LostWakeUp "lost-wake-up",
        Responsible::Lock,
        "a client slept while the lock was free: look again now and then, also without a signal";
    /// No client got a majority, and none let go.
    SplitVote "split-vote",
        Responsible::Lock,
        "no client got a majority: let go of what is not enough, and retry at random times";
    /// The lock waited for a node that it does not need.
    WaitsForEveryNode "waits-for-every-node",
        Responsible::Lock,
        "the lock had a majority and waited for the other nodes: be content with a majority";
    /// A write arrived when others had changed what it rests on.
    LateWrite "late-write",
        Responsible::Resource("it took a write that came late, and that others had overtaken"),
        "a write came late: let the resource check tokens, or the version that was read";
    /// A change became visible after the lock had been released.
    ReleasedBeforeCommit "released-before-commit",
        Responsible::Application("it released the lock before its change was visible"),
        "the lock was released before the commit: commit first, then release";
    /// A failed section wrote without having the lock.
    UncheckedWrite "unchecked-write",
        Responsible::Application("its failure path wrote without the lock"),
        "a failure path wrote without the lock: write nothing there, or take the lock again";
    /// A reading came from a replica that lagged.
    StaleRead "stale-read",
        Responsible::Resource("its replica showed what had been there before"),
        "a replica that lagged was read: read what a lock protects where it is written";
    /// The evidence does not show any of these causes.
    Undetermined "undetermined",
        Responsible::Undetermined,
        "the history proves it, but does not show why";
}

impl Cause {
    /// The name that files and command lines use.
    pub fn word(self) -> &'static str {
        self.row().word
    }

    /// The cause of this name.
    pub fn named(name: &str) -> Option<Cause> {
        let mut all = Cause::ALL.into_iter();
        all.find(|cause| cause.word() == name)
    }

    /// What happened and what helps against it, in one line.
    pub fn meaning(self) -> &'static str {
        self.row().meaning
    }

    /// Who is responsible.
    pub fn responsible(self) -> Responsible {
        self.row().responsible
    }

    /// The page of `picklock explain`, in Markdown.
    pub fn page(self) -> &'static str {
        self.row().page
    }

    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_code_use_the_same_names() {
        for cause in Cause::ALL {
            assert_eq!(Cause::named(cause.word()), Some(cause));
            let value = toml::Value::try_from(cause).unwrap();
            assert_eq!(value.as_str(), Some(cause.word()));
        }
        assert_eq!(Cause::named("undecided"), None);
    }
}
