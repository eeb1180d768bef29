//! The causes of violations: names, report texts and pages of `picklock explain`.
//!
//! The table is in this crate because scenario files name causes. The checkers decide from evidence which cause a
//! violation has.

use serde::{Deserialize, Serialize};

use crate::string_enum::impl_named;

/// The party that is responsible for a violation, with what it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Responsible {
    /// The client.
    Client(&'static str),
    /// The lock, because of its own commands.
    Lock,
    /// Redis, which lost the lock, and the lock, which relied on Redis to keep it.
    Redis,
    /// The application around a correct lock.
    Application(&'static str),
    /// The resource that the lock protects.
    Resource(&'static str),
    /// The history does not show the responsible party.
    Undetermined,
}

/// A row of the table.
struct Row {
    word: &'static str,
    summary: &'static str,
    remedy: Option<&'static str>,
    responsible: Responsible,
    page: &'static str,
}

macro_rules! remedy {
    () => {
        None
    };
    ($remedy:literal) => {
        Some($remedy)
    };
}

macro_rules! causes {
    ($($variant:ident $word:literal, $party:ident $(($act:literal))?, $summary:literal $(, $remedy:literal)?;)*) => {
        /// Why a property was violated.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Cause {
            $(#[doc = $summary] $variant,)*
        }

        /// The names of all causes, in the order of the table.
        pub const CAUSES: &[&str] = &[$($word),*];

        /// One row for each variant, in the same order.
        const ROWS: [Row; CAUSES.len()] = [$(Row {
            word: $word,
            summary: $summary,
            remedy: remedy!($($remedy)?),
            responsible: Responsible::$party $(($act))?,
            page: include_str!(concat!("../explain/", $word, ".md")),
        }),*];

        impl Cause {
            /// All causes, in the order of the table.
            pub const ALL: [Cause; CAUSES.len()] = [$(Cause::$variant),*];
        }
    };
}

// One entry per cause: its name, the responsible party, a description, and the remedy, if there is one. Its page of
// `picklock explain` is `scenarios/explain/NAME.md`.
causes! {
    OutlivedLease "outlived-lease", Client("it kept working after its lease had expired"),
        "the client outlived its lease", "use fencing";
    ExpiredGrant "expired-grant", Client("it used a grant that had already expired"),
        "a client used a grant that had expired on arrival", "check the remaining lease";
    LostOnFailover "lost-on-failover", Redis,
        "the promoted replica had never received the lock",
        "use several independent nodes, or wait for every replica";
    LostOnRestart "lost-on-restart", Redis,
        "the node restarted without the lock", "sync every write, or restart after a ttl";
    QuorumErosion "quorum-erosion", Redis,
        "nodes lost their votes", "sync every write, or restart after a ttl";
    ClockJump "clock-jump", Redis,
        "a node's clock jumped, and the key expired early", "slew clocks, never set them";
    ClockSkew "clock-skew", Lock,
        "a client trusted its wall clock", "let Redis measure the lease";
    StolenRelease "stolen-release", Lock,
        "a release deleted another client's lock", "compare and delete in one script";
    PhantomExtend "phantom-extend", Lock,
        "an extension re-created a lost lock", "compare the token and prolong in one script";
    AmbiguousAcquire "ambiguous-acquire", Lock,
        "the lock was taken without the client knowing", "undo attempts without an answer";
    Evicted "evicted", Redis,
        "Redis dropped the key", "keep locks where nothing is evicted or flushed";
    NoTtl "no-ttl", Lock,
        "a key without expiry was left behind", "SET it with PX in one command";
    Race "race", Lock,
        "check and act were not one command", "make them one script";
    UnbackedGrant "unbacked-grant", Lock,
        "a client got the lock without its value on enough servers",
        "count only what servers confirmed, on a majority if there are several; undo attempts without an answer";
    WrongExpiry "wrong-expiry", Lock,
        "the written expiry is not the requested or reported lease", "use milliseconds, round up";
    FalseRelease "false-release", Lock,
        "the answer to a release was untrue", "report what the server confirmed: whether it removed the value";
    SilentRelease "silent-release", Lock,
        "a release failed without reporting it", "report what the server answered to it";
    SharedKey "shared-key", Lock,
        "two locks use one key", "put the whole name of the lock into the key";
    SplitKey "split-key", Lock,
        "one lock was held under several keys", "derive the key from its name alone";
    ForeignRenewal "foreign-renewal", Lock,
        "another client's value was kept alive", "compare the token and prolong in one script";
    SharedToken "shared-token", Lock,
        "two acquisitions wrote the same value", "use a random token for each acquisition";
    StaleReply "stale-reply", Lock,
        "a grant rests on the reply to an earlier command", "close a connection that timed out";
    OwnRemoval "own-removal", Lock,
        "the holder's own command removed its key", "remove it only in the release";
    NotExclusive "not-exclusive", Lock,
        "the lock's own script let one client too many in", "let it refuse while the lock is taken or has no permit left";
    LateLossReport "late-loss-report", Lock,
        "the lock reported the loss after it had let another client in", "report it in time";
    SilentLoss "silent-loss", Lock,
        "the lock promises renewal, but its key expired without a report",
        "report the loss before the lease ends";
    LateExtension "late-extension", Lock,
        "an extension requested in time reached no server", "keep a connection free for holders";
    RefusedExtension "refused-extension", Lock,
        "the lock refused to extend a lease that its client still owned",
        "extend as long as the value is there";
    WrongElapsed "wrong-elapsed", Lock,
        "the reported `elapsed_ms` exceeds the actual wait", "measure from when the request was read";
    RenewedAfterRelease "renewed-after-release", Lock,
        "a renewal went on after the release", "end it first, and release again if in doubt";
    RenewedAfterEnd "renewed-after-end", Lock,
        "a renewal went on after its client had ended", "end it with the client";
    LostWakeUp "lost-wake-up", Lock,
        "a client slept while the lock was free", "check again from time to time, even without a signal";
    LateTimeout "late-timeout", Lock,
        "a client waited longer than timeout_ms for a reply", "set timeout_ms as its socket timeout";
    SplitVote "split-vote", Lock,
        "no client got a majority", "release a minority at once, and retry at random times";
    WaitsForEveryNode "waits-for-every-node", Lock,
        "the lock had a majority but waited for the other nodes", "a majority is enough";
    ClientDied "client-died", Lock,
        "a client's process ended without a fault", "no error may end the program that uses the lock";
    StoppedAsking "stopped-asking", Lock,
        "the lock refused without having sent a command", "ask the servers at every attempt";
    TakenAndReturned "taken-and-returned", Lock,
        "the lock was taken and given back without a grant", "judge each attempt by its own lease";
    Deadlock "deadlock", Lock,
        "clients waited for each other's locks", "take several locks in one order";
    ForeignRemoval "foreign-removal", Lock,
        "a client removed a running lock outside any release", "remove only the client's own value";
    FalseLoss "false-loss", Lock,
        "the lock reported a loss although its key still existed", "report only what the servers show";
    PermitMinted "permit-minted", Lock,
        "more permits were granted than there are", "give back each permit once, and only by its holder";
    PermitLeaked "permit-leaked", Lock,
        "a permit never came back", "give each permit an owner and an expiry";
    TornRead "torn-read", Lock,
        "the lock let a reader and a writer in together", "let each check for the other, in one script";
    WriterStarved "writer-starved", Lock,
        "readers that requested the lock later were let in before a writer", "let readers wait behind a waiting writer";
    SkippedTick "skipped-tick", Lock,
        "the lock was free at a tick, and no client got it", "give it back after each job, and expire it";
    RanTwice "ran-twice", Application("its lock was free again while other instances had yet to get the tick"),
        "a job was over before every instance had got its tick", "hold the lock for longer than clocks differ";
    PhantomLeader "phantom-leader", Lock,
        "the lock let a leader act without a key", "end the term with the lease, and compare the token before each act";
    LateWrite "late-write",
        Resource("it accepted a late write that another client had overtaken"),
        "a write arrived late", "let the resource check tokens, or the version that was read";
    ReleasedBeforeCommit "released-before-commit",
        Application("it released the lock before its change was visible"),
        "the lock was released before the commit", "commit first, then release";
    UncheckedWrite "unchecked-write", Application("its failure path wrote without the lock"),
        "a failure path wrote without the lock", "write nothing there, or take the lock again";
    StaleRead "stale-read", Resource("its replica returned outdated data"),
        "a lagging replica was read", "read protected data from the master";
    Undetermined "undetermined", Undetermined,
        "the history proves it, but does not show why";
}

impl Cause {
    /// Returns the name that files and command lines use.
    pub fn as_str(self) -> &'static str {
        self.row().word
    }

    /// Describes the cause in half a sentence.
    pub fn summary(self) -> &'static str {
        self.row().summary
    }

    /// Returns the remedy, or `None` if the cause is unknown.
    pub fn remedy(self) -> Option<&'static str> {
        self.row().remedy
    }

    /// Returns one line with the description and the remedy.
    pub fn meaning(self) -> String {
        match self.remedy() {
            Some(remedy) => format!("{}: {remedy}", self.summary()),
            None => self.summary().to_owned(),
        }
    }

    /// Returns the responsible party.
    pub fn responsible(self) -> Responsible {
        self.row().responsible
    }

    /// Returns the page of `picklock explain`, in Markdown.
    pub fn page(self) -> &'static str {
        self.row().page
    }

    /// Returns the paragraph of its page about what to do, on one line, with code in backticks.
    pub fn advice(self) -> String {
        let mut paragraphs = self.page().split("\n\n");
        let advice = paragraphs.find_map(|text| text.strip_prefix("What to do: "));
        advice.unwrap_or_default().replace('\n', " ")
    }

    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
}

impl_named!(Cause);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_their_serialized_form() {
        for cause in Cause::ALL {
            assert_eq!(Cause::named(cause.as_str()), Some(cause));
            let value = toml::Value::try_from(cause).unwrap();
            assert_eq!(value.as_str(), Some(cause.as_str()));
        }
        assert_eq!(Cause::named("undecided"), None);
    }

    #[test]
    fn every_cause_has_advice() {
        for cause in Cause::ALL {
            let advice = cause.advice();
            assert!(
                advice.trim_end().ends_with('.') && !advice.contains('\n'),
                "{cause}: {advice}"
            );
        }
    }
}
