//! Why two clients were inside together, from the key history.
//!
//! What section 5 leaves open, and how this judge reads it:
//!
//! | open | read as |
//! |---|---|
//! | which nodes decide | those on which both clients' values were written; on each, how the earlier value ended |
//! | several nodes, several endings | each of them may be named: the answer is a set |
//! | what a claim rests on | values that the attempt wrote while it acquired, before its grant arrived, and did not take back itself |
//! | restart or failover with a quorum | `quorum-erosion`; eviction and clocks keep their own names |
//! | a key that ran out "early" | more than 2 ms before the expiry that was written last, and a clock of that node was set forward before |
//! | a value that would have run out anyway before the later one was written | it ran out: its loss, or a leap of the clock, changed nothing. Unless a clock was set on that node: then that is not known |
//! | a takeover by writing over | `clock-skew` if a client's clock was struck before, else `race` |
//! | a grant with nothing behind it | the cause if the other lease ran when it arrived; after that an honest lock would have let the second client in, too |
//! | a grant with nothing behind it that was over when it arrived | either cause: it was late by its own figure, and the key history says "never written at all"; without the one or the other the second client would not have been inside |
//! | a grant on some nodes, but too few | that, and what freed those nodes |
//! | a lease that had lapsed and was told anew | `phantom-extend` |
//! | an extension that was told after the value was gone | `phantom-extend`, besides how it had gone |
//! | a value that an attempt without a grant wrote over | how what was written there since went away may be named as well |
//! | a lease that may have run, and no more | why it would have, and what is named if it did not |

use std::collections::BTreeSet;

use super::attempt::{Attempt, overlap};
use super::key_history::{Author, End, KeyHistory, Value};
use super::line::{File, Line, MS};

/// Everything that was read from a history.
pub struct Case<'a> {
    pub file: &'a File,
    pub attempts: &'a [Attempt],
    pub key_history: &'a KeyHistory,
}

type Causes = BTreeSet<&'static str>;

impl Case<'_> {
    /// How many nodes a grant must rest on.
    pub fn need(&self) -> usize {
        // All of several nodes stands for "one, and nobody knows which".
        match self.file.quorum == self.file.nodes {
            true => 1,
            false => self.file.quorum,
        }
    }

    /// The nodes on which the grant of an attempt rests.
    pub fn backing<'b>(&'b self, attempt: &'b Attempt) -> Vec<&'b Value> {
        let written = self.key_history.of_attempt(attempt);
        let mut nodes = Vec::<&Value>::new();
        for value in written.filter(|value| value.from <= attempt.from()) {
            if !is_undone(value, attempt) && !nodes.iter().any(|known| known.node == value.node) {
                nodes.push(value);
            }
        }
        nodes
    }

    pub fn is_backed(&self, attempt: &Attempt) -> bool {
        self.backing(attempt).len() >= self.need()
    }

    /// The first time at which the leases of two attempts certainly (or, `most`, possibly) both ran.
    pub fn leases_overlap(one: &Attempt, other: &Attempt, most: bool) -> Option<u64> {
        let mut first = None;
        for part in one.leased(most) {
            for against in other.leased(most) {
                let at = overlap(part, against);
                first = [first, at].into_iter().flatten().min();
            }
        }
        first
    }

    /// Why two leases ran together.
    pub fn of_leases(&self, one: &Attempt, other: &Attempt, at: u64) -> Causes {
        if !self.file.key_history {
            return ["undetermined"].into();
        }
        let mut causes = Causes::new();
        for attempt in [one, other] {
            match self.backing(attempt).len() {
                0 => return ["unbacked-grant", "stale-reply"].into(),
                // Its rule asks for less; what let it have that counts as well.
                some if some < self.need() => drop(causes.insert("unbacked-grant")),
                _ => {}
            }
        }
        // One of them had lapsed when the other was let in, and was told anew.
        let (first, second) = match one.from() <= other.from() {
            true => (one, other),
            false => (other, one),
        };
        if first.deadline_at(second.from()) <= second.from() && at > second.from() {
            return ["phantom-extend", "foreign-renewal"].into();
        }
        // The lease that ran had been told by an extension after the value was gone.
        for attempt in [one, other] {
            let last = attempt.told.iter().rfind(|told| told.at <= at);
            let ended = self
                .key_history
                .of_attempt(attempt)
                .map(|value| value.until);
            let gone = ended.max().unwrap_or_default();
            if last.is_some_and(|told| !told.is_grant && told.at > gone) {
                causes.extend(["phantom-extend", "foreign-renewal"]);
            }
        }
        let rests_on = |attempt| {
            let values = self.key_history.of_attempt(attempt);
            values.filter(move |value| !is_undone(value, attempt))
        };
        for mine in rests_on(one) {
            let others = rests_on(other);
            let apart = rests_on(other).any(|value| value.node == mine.node)
                && rests_on(other).all(|value| value.node != mine.node || value.key != mine.key);
            if apart {
                causes.insert("split-key");
            }
            for theirs in others.filter(|value| value.node == mine.node && value.key == mine.key) {
                let (earlier, later) = match (mine.from, mine.line) < (theirs.from, theirs.line) {
                    true => (mine, theirs),
                    false => (theirs, mine),
                };
                if later.from <= at {
                    causes.extend(self.of_end(earlier, later));
                    causes.extend(self.of_losers(earlier, later));
                    causes.extend(self.of_removal(earlier));
                }
            }
        }
        if causes.is_empty() {
            causes.insert("undetermined");
        }
        causes
    }

    /// What ended a value, before `later` was written there.
    fn of_end(&self, value: &Value, later: &Value) -> Option<&'static str> {
        Some(match &value.end {
            End::Stays => return None,
            _ if self.was_due(value, later) => "wrong-expiry",
            End::Evicted | End::Flushed => "evicted",
            End::Restarted if self.need() > 1 => "quorum-erosion",
            End::FailedOver if self.need() > 1 => "quorum-erosion",
            End::Restarted => "lost-on-restart",
            End::FailedOver => "lost-on-failover",
            End::Unseen => "undetermined",
            End::RanOut => match self.leapt(value) {
                true => "clock-jump",
                false => "wrong-expiry",
            },
            End::Removed(_) => "stolen-release",
            End::Overwritten(by) => self.of_overwriting(by, value, later),
        })
    }

    /// What ended the values that attempts which were not granted wrote over it, before `later` was written there.
    fn of_losers(&self, value: &Value, later: &Value) -> Vec<&'static str> {
        let granted = |op: u64| {
            let mut own = self.attempts.iter().filter(|one| one.op == op);
            own.any(Attempt::granted)
        };
        let lost = |by: &Author| by.phase == "acquire" && !granted(by.op);
        let over = matches!(&value.end, End::Overwritten(by) if lost(by));
        let between = self.key_history.values.iter().filter(|one| {
            let here = (one.node, &one.key) == (value.node, &value.key);
            let in_time = value.until <= one.from && one.until <= later.from;
            over && here && in_time && one.author.as_ref().is_some_and(lost)
        });
        between.filter_map(|one| self.of_end(one, later)).collect()
    }

    /// What else a removal may be called: a takeover that looked before, or the holder's own command.
    fn of_removal(&self, value: &Value) -> Vec<&'static str> {
        let End::Removed(by) = &value.end else {
            return Vec::new();
        };
        let own = value.owner.is_some_and(|(worker, _)| worker == by.worker);
        match by.phase.as_str() {
            _ if own => vec!["own-removal", "undetermined"],
            "acquire" => vec![
                "race",
                "not-exclusive",
                "clock-skew",
                "clock-jump",
                "shared-token",
            ],
            _ => vec!["shared-token"],
        }
    }

    /// True if it would have run out before the later value was written, whatever befell it.
    fn was_due(&self, value: &Value, later: &Value) -> bool {
        let befell = match value.end {
            End::RanOut => self.leapt(value),
            End::Evicted | End::Flushed | End::Restarted | End::FailedOver => {
                let mut set = self.file.of("fault-began");
                !set.any(|line| {
                    line.has("clock") && line.list("nodes").contains(&(value.node as i64))
                })
            }
            _ => false,
        };
        befell && value.runs_out(value.until) <= later.from
    }

    /// True if the command that ended the value wrote what its attempt had taken the lock with.
    pub fn took_again(&self, by: &Author, value: &Value) -> bool {
        let mine = |one: &&Value| {
            let author = one.author.as_ref();
            author.is_some_and(|author| author.op == by.op && author.worker == by.worker)
        };
        let mut all = self.key_history.values.iter().filter(mine);
        let here = |one: &&Value| {
            one.node == value.node && one.key == value.key && one.from == value.until
        };
        let written = all.clone().find(here);
        let took = |one: &Value| one.author.as_ref().is_some_and(|by| by.phase == "acquire");
        written.is_some_and(|written| all.any(|one| took(one) && one.text == written.text))
    }

    fn of_overwriting(&self, by: &Author, value: &Value, later: &Value) -> &'static str {
        let skewed = self.file.of("fault-began").any(|line| {
            line.text("fault") == "clock-skew"
                && line.at <= later.from
                && !self.was_right_again(line, value)
                && misleads(line, by, value)
        });
        match by.phase.as_str() {
            "extend" | "idle" => "phantom-extend",
            "release" if self.took_again(by, value) => "phantom-extend",
            "release" => "stolen-release",
            _ if skewed => "clock-skew",
            _ if value.expiries.last().is_some_and(|last| last.ttl.is_none())
                && self.set_forward(value) =>
            {
                "clock-jump"
            }
            _ if by.command.starts_with("EVAL") && value.text == later.text => "shared-token",
            _ if by.command.starts_with("EVAL") => "not-exclusive",
            _ => "race",
        }
    }

    /// True if the node's clock had been set forward by the end of a value.
    fn set_forward(&self, value: &Value) -> bool {
        self.file.of("fault-began").any(|line| {
            let by = line.raw("clock")["by_ns"].as_i64().unwrap_or_default();
            let struck = line.list("nodes").contains(&(value.node as i64));
            by > 0 && line.at <= value.until && struck && !self.was_right_again(line, value)
        })
    }

    /// True if the clock that this fault had set was right before the value was written.
    fn was_right_again(&self, began: &Line, value: &Value) -> bool {
        let id = began.raw("id").as_i64();
        let mut ends = self.file.of("fault-ended");
        let over = ends.any(|line| line.raw("id").as_i64() == id && line.at < value.from);
        over && began.raw("clock")["for_good"].as_bool() != Some(true)
    }

    /// True if it ran out before its time, and the node's clock had been set forward.
    pub fn leapt(&self, value: &Value) -> bool {
        let early = value.until + 2 * MS < value.runs_out(value.until);
        let jumped = self.file.of("fault-began").any(|line| {
            let by = line.raw("clock")["by_ns"].as_i64().unwrap_or_default();
            let struck = line.list("nodes").contains(&(value.node as i64));
            // A clock that was set back leaps forward when it is set right again.
            let leap = match by {
                1.. => Some(line.at),
                0 => None,
                _ => self.end_of(line),
            };
            struck && leap.is_some_and(|at| at <= value.until)
        });
        early && jumped
    }

    pub fn end_of(&self, began: &Line) -> Option<u64> {
        let mut ends = self.file.of("fault-ended");
        let end = ends.find(|line| line.num("id") == began.num("id"));
        end.map(|end| end.at)
    }

    /// Why two holds overlap.
    pub fn of_holds(&self, one: &Attempt, other: &Attempt, at: u64) -> Causes {
        if let Some(leased_at) = Case::leases_overlap(one, other, false) {
            return self.of_leases(one, other, leased_at);
        }
        let (first, second) = match one.from() <= other.from() {
            true => (one, other),
            false => (other, one),
        };
        let expired = |attempt: &Attempt| {
            let grant = attempt.told.first();
            // Without a validity that was told, nobody knows that it had run out.
            let late = grant.is_some_and(|told| told.claims && told.least <= told.at);
            late && attempt.deadline_at(at) <= at
        };
        // The second was let in while the first one's lease ran, by a grant that had nothing behind it.
        let ran = first.deadline_at(second.from()) > second.from();
        let unbacked = self.file.key_history && ran && !self.is_backed(second);
        if unbacked && !expired(second) {
            return ["unbacked-grant"].into();
        }
        let mut causes: Causes = match expired(one) || expired(other) {
            true if unbacked => ["expired-grant", "unbacked-grant"].into(),
            true => ["expired-grant"].into(),
            // The judge does not look at extensions that nobody heard of.
            false => ["outlived-lease", "late-extension"].into(),
        };
        // The lease may have run: nobody was told for how long.
        if let Some(leased_at) = Case::leases_overlap(one, other, true) {
            causes.extend(self.of_leases(one, other, leased_at));
        }
        causes
    }
}

/// True if the attempt took the value back itself before it was granted.
fn is_undone(value: &Value, attempt: &Attempt) -> bool {
    matches!(&value.end, End::Removed(by)
        if by.op == attempt.op && by.phase == "acquire" && value.until <= attempt.from())
}

/// True if a clock that is off as the fault says makes its client take this value for over too soon, or the client that
/// has written it write so.
fn misleads(began: &Line, by: &Author, value: &Value) -> bool {
    let by_ns = began.raw("clock")["by_ns"].as_i64();
    let is_off = |ahead: bool| by_ns.is_none_or(|by_ns| (by_ns > 0) == ahead);
    let workers = began.list("workers");
    let is_of = |worker: u64| workers.contains(&(worker as i64));
    let writer = value.author.as_ref().map(|author| author.worker);
    is_of(by.worker) && is_off(true) || writer.is_some_and(is_of) && is_off(false)
}
