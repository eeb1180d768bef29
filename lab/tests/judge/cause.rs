//! Why two clients were inside together, according to the key history.
//!
//! This judge's interpretation where the definitions leave something open:
//!
//! | open | read as |
//! |---|---|
//! | which nodes decide | those on which both clients' values were written; on each, how the earlier value ended |
//! | several nodes, several endings | each of them may be the cause: the answer is a set |
//! | the values that a grant rests on | those that the attempt wrote while it acquired, before its grant arrived, and did not remove itself; only those that name the token of the grant, if any does |
//! | restart or failover with a quorum | `quorum-erosion`; eviction and clocks keep their own names |
//! | a key that expired "early" | more than 2 ms before the expiry that was written last, and a clock of that node was set forward before |
//! | a value that would have expired anyway before the later one was written, or less than 2 ms later if its lease was over by then | it expired: its loss, or a clock jump, changed nothing. Unless a clock was set on that node: then this is unknown |
//! | a removal by an idle client | `foreign-removal` if the client had released no hold of this lock in the last lease, or had been started again since; otherwise a late release |
//! | a takeover by overwriting | `clock-skew` if a fault had shifted a client's clock before, and the times in the two values are a lease apart, else `race` |
//! | a grant without any value on the servers | the cause in every property, whatever its client did with it |
//! | a grant with values on too few nodes | the cause if the other lease ran when it arrived; after that a correct lock would have let the second client in, too |
//! | such a grant that was over when it arrived | either cause: it was late by its own report, and the key history shows too few values; without either of these the second client would not have been inside |
//! | a loss that was reported when the second client was inside | `late-loss-report`, unless the first client was frozen since the end of its lease |
//! | a grant on too few nodes | that, and what freed those nodes |
//! | a lease that had expired and was reported again | `phantom-extend` |
//! | an extension that was reported after the value was gone | `phantom-extend`, besides how the value had gone |
//! | a value that an attempt without a grant overwrote | the end of what was written there since may be named as well |
//! | a collection that a script writes over with the same elements | `shared-token`: the later client found its own element there. With another element it is `not-exclusive` |
//! | leases that only may have overlapped | the cause of that overlap, and the cause that applies if they did not overlap |

use std::collections::BTreeSet;

use super::attempt::{Attempt, overlap};
use super::key_history::{Author, End, KeyHistory, Value, elements};
use super::line::{File, Line, MS};

/// A history and everything that was read from it.
pub struct Case {
    pub file: File,
    pub attempts: Vec<Attempt>,
    pub key_history: KeyHistory,
}

type Causes = BTreeSet<&'static str>;

impl Case {
    /// Returns how many nodes a grant must rest on.
    pub fn need(&self) -> usize {
        // A quorum of all nodes, if there are several, means "one node, but which one is unknown".
        if self.file.quorum == self.file.nodes {
            1
        } else {
            self.file.quorum
        }
    }

    /// Returns `true` if the attempt had written a value with the token of its grant when the grant arrived.
    pub fn names_token(&self, attempt: &Attempt) -> bool {
        let mut written = self.key_history.values_of_attempt(attempt);
        written.any(|value| value.from <= attempt.from() && value.text.contains(&attempt.token))
    }

    /// Returns `true` if a value had run out when the attempt wrote the last one with which it acquired the lock.
    pub fn had_run_out(&self, attempt: &Attempt, value: &Value) -> bool {
        let written = self.key_history.values_of_attempt(attempt);
        let before = written.filter(|one| one.from <= attempt.from());
        let last = before.map(|one| one.from).max().unwrap_or_default();
        value.runs_out(last) < last
    }

    /// Returns the values that back an attempt's grant, one per node.
    pub fn backing<'b>(&'b self, attempt: &'b Attempt) -> Vec<&'b Value> {
        let written = self.key_history.values_of_attempt(attempt);
        let is_named = self.names_token(attempt);
        let counts = |value: &&Value| {
            value.from <= attempt.from()
                && (!is_named || value.text.contains(&attempt.token))
                && !self.had_run_out(attempt, value)
        };
        let mut nodes = Vec::<&Value>::new();
        for value in written.filter(counts) {
            if !is_undone(value, attempt) && !nodes.iter().any(|known| known.node == value.node) {
                nodes.push(value);
            }
        }
        nodes
    }

    /// Returns `true` if the attempt was granted the lock without any value: it wrote, prolonged and removed none, no
    /// value names its token, and its client has none from an earlier attempt. Values of
    /// attempts without a definite answer just before do not count.
    pub fn is_unwritten(&self, attempt: &Attempt) -> bool {
        let at = attempt.from();
        let is_mine = |by: &Author| by.op == attempt.op && by.phase == "acquire";
        let doubts = self.doubts_before(attempt);
        let rests = |value: &Value| {
            let author = value.author.as_ref();
            let wrote = value.from <= at && author.is_some_and(is_mine);
            let prolonged = value
                .expiries
                .iter()
                .any(|one| one.at <= at && one.by.as_ref().is_some_and(is_mine));
            let removed = value.until <= at
                && matches!(&value.end, End::Removed(by) | End::Overwritten(by) if is_mine(by));
            let is_named = value.from <= at
                && value.until >= attempt.requested_at
                && value.text.contains(&attempt.token);
            let is_kept = author.is_some_and(|by| {
                by.worker == attempt.worker && by.op < attempt.op && !doubts.contains(&by.op)
            }) && value.exists_at(at);
            wrote || prolonged || removed || is_named || is_kept
        };
        self.file.key_history && !self.key_history.values_of_lock(attempt.key).any(rests)
    }

    /// Returns `true` if the lock reported its loss to the first client only when the second one was inside, although
    /// the first one was not frozen since the end of its lease.
    fn was_told_late(&self, first: &Attempt, second: &Attempt) -> bool {
        let mut lost = self.file.events("lost");
        let lost = lost.find(|line| line.op() == Some(first.op));
        let Some(lost) = lost.filter(|line| line.at > second.from()) else {
            return false;
        };
        let since = first.deadline_at(lost.at - 1).min(second.from());
        let frozen = self.file.events("fault-began").any(|line| {
            let is_freeze = matches!(line.text("fault"), "pause-client" | "pause-task");
            let until = self.end_of(line).unwrap_or(u64::MAX);
            is_freeze
                && line.list("workers").contains(&(first.worker as i64))
                && line.at <= lost.at
                && until >= since
        });
        !frozen
    }

    /// Returns `true` if a command that removed another client's value belongs to no request: its client was idle, and
    /// had released no hold of this lock in the last lease, or had been started again since.
    pub fn is_unrequested(&self, value: &Value, by: &Author) -> bool {
        let at = value.until;
        // The value may belong to the client of the final inspection, which has no attempt.
        let mut locks = self.key_history.keys.iter();
        let key = locks.position(|keys| keys.contains(&value.key));
        let key = key.map(|key| key as u64);
        let released = self.attempts.iter().filter(|one| {
            let is_own = one.worker == by.worker && Some(one.key) == key && one.granted();
            let sent = one.release.filter(|sent| *sent <= at);
            is_own && sent.is_some_and(|sent| at <= sent.saturating_add(one.ttl))
        });
        let last = released.filter_map(|one| one.release).max();
        let is_restart = |sent: u64| {
            let mut down = self.file.events("worker-down");
            down.any(|line| {
                line.num("worker") == Some(by.worker) && sent <= line.at && line.at < at
            })
        };
        by.phase == "idle" && last.is_none_or(is_restart)
    }

    pub fn is_backed(&self, attempt: &Attempt) -> bool {
        self.backing(attempt).len() >= self.need()
    }

    /// Returns the first time at which the leases of two attempts certainly ran together or, with `max`, may have.
    pub fn leases_overlap(one: &Attempt, other: &Attempt, max: bool) -> Option<u64> {
        let mut first = None;
        for part in one.leased(max) {
            for against in other.leased(max) {
                let at = overlap(part, against);
                first = [first, at].into_iter().flatten().min();
            }
        }
        first
    }

    /// Returns the possible causes for two leases running together.
    pub fn lease_causes(&self, one: &Attempt, other: &Attempt, at: u64) -> Causes {
        if !self.file.key_history {
            return ["undetermined"].into();
        }
        let mut causes = Causes::new();
        for attempt in [one, other] {
            match self.backing(attempt).len() {
                0 => return ["unbacked-grant", "stale-reply"].into(),
                // The lock's own rule needs fewer nodes, so the reason why the client got those nodes counts as well.
                some if some < self.need() => drop(causes.insert("unbacked-grant")),
                _ => {}
            }
        }
        // One of the leases had expired when the other client was let in, and was reported again.
        let (first, second) = if one.from() <= other.from() {
            (one, other)
        } else {
            (other, one)
        };
        if first.deadline_at(second.from()) <= second.from() && at > second.from() {
            return ["phantom-extend", "foreign-renewal", "shared-token"].into();
        }
        // The lease that ran had been reported by an extension after the value was gone.
        for attempt in [one, other] {
            let last = attempt.reports.iter().rfind(|report| report.at <= at);
            let ended = self
                .key_history
                .values_of_attempt(attempt)
                .map(|value| value.until);
            let gone = ended.max().unwrap_or_default();
            if last.is_some_and(|report| !report.is_grant && report.at > gone) {
                causes.extend(["phantom-extend", "foreign-renewal", "shared-token"]);
            }
        }
        let rests_on = |attempt| {
            let values = self.key_history.values_of_attempt(attempt);
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
                let (earlier, later) = if (mine.from, mine.line) < (theirs.from, theirs.line) {
                    (mine, theirs)
                } else {
                    (theirs, mine)
                };
                if later.from <= at {
                    causes.extend(self.end_cause(earlier, later));
                    causes.extend(self.loser_causes(earlier, later));
                    causes.extend(self.removal_causes(earlier));
                }
            }
        }
        if causes.is_empty() {
            causes.insert("undetermined");
        }
        causes
    }

    /// Returns the cause of a value's end, before `later` was written there.
    fn end_cause(&self, value: &Value, later: &Value) -> Option<&'static str> {
        Some(match &value.end {
            End::Stays => return None,
            _ if self.was_due(value, later) => "wrong-expiry",
            End::Evicted | End::Flushed => "evicted",
            End::Restarted if self.need() > 1 => "quorum-erosion",
            End::FailedOver if self.need() > 1 => "quorum-erosion",
            End::Restarted => "lost-on-restart",
            End::FailedOver => "lost-on-failover",
            End::Unseen => "undetermined",
            End::RanOut => {
                if self.leapt(value) {
                    "clock-jump"
                } else {
                    "wrong-expiry"
                }
            }
            End::Removed(by) if self.is_unrequested(value, by) => "foreign-removal",
            End::Removed(_) => "stolen-release",
            End::Overwritten(by) => self.overwrite_cause(by, value, later),
        })
    }

    /// Returns the causes of the ends of values by which attempts without a grant overwrote `value`, before `later`
    /// was written.
    fn loser_causes(&self, value: &Value, later: &Value) -> Vec<&'static str> {
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
        between
            .filter_map(|one| self.end_cause(one, later))
            .collect()
    }

    /// Returns the other possible causes of a removal: a takeover that checked first, or the holder's own command.
    fn removal_causes(&self, value: &Value) -> Vec<&'static str> {
        let End::Removed(by) = &value.end else {
            return Vec::new();
        };
        let own = value.owner.is_some_and(|(worker, _)| worker == by.worker);
        match by.phase.as_str() {
            _ if own => vec!["own-removal", "shared-token", "undetermined"],
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

    /// Returns `true` if the value would have expired before the later one was written, regardless of what happened to
    /// it.
    fn was_due(&self, value: &Value, later: &Value) -> bool {
        let was_affected = match value.end {
            End::RanOut => self.leapt(value),
            End::Evicted | End::Flushed | End::Restarted | End::FailedOver => {
                let mut set = self.file.events("fault-began");
                !set.any(|line| {
                    line.has("clock") && line.list("nodes").contains(&(value.node as i64))
                })
            }
            _ => false,
        };
        was_affected && value.runs_out(value.until) <= later.from
    }

    /// Returns `true` if the command that ended the value wrote the value with which its attempt had taken the lock.
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
        written.is_some_and(|written| {
            all.any(|one| took(one) && one.text == written.text && one.line < written.line)
        })
    }

    /// Returns `true` if the command came after its attempt had been granted the lock.
    fn is_after_grant(&self, by: &Author, at: u64) -> bool {
        let mut own = self.attempts.iter().filter(|one| one.op == by.op);
        own.any(|one| one.granted() && one.from() < at)
    }

    fn overwrite_cause(&self, by: &Author, value: &Value, later: &Value) -> &'static str {
        let looked_over = self.looked_over(value, later);
        let skewed = looked_over
            && self.file.events("fault-began").any(|line| {
                line.text("fault") == "clock-skew"
                    && line.at <= later.from
                    && !self.was_right_again(line, value)
                    && misleads(line, by, value)
            });
        match by.phase.as_str() {
            "extend" | "idle" => "phantom-extend",
            "release" if self.took_again(by, value) => "phantom-extend",
            // A renewal may be sent while its client reads the answer of the acquisition.
            "acquire" if self.is_after_grant(by, value.until) && self.took_again(by, value) => {
                "phantom-extend"
            }
            "release" => "stolen-release",
            _ if skewed => "clock-skew",
            _ if looked_over
                && value.expiries.last().is_some_and(|last| last.ttl.is_none())
                && self.set_forward(value) =>
            {
                "clock-jump"
            }
            _ if by.command.starts_with("EVAL")
                && elements(&value.text) == elements(&later.text) =>
            {
                "shared-token"
            }
            _ if by.command.starts_with("EVAL") => "not-exclusive",
            _ => "race",
        }
    }

    /// Returns `true` if the first times in two values, in any unit, are at least a lease apart.
    fn looked_over(&self, value: &Value, later: &Value) -> bool {
        let time = |text: &str| {
            let mut words = text.split(|one: char| !one.is_ascii_alphanumeric());
            let word = words.find(|word| {
                (10..20).contains(&word.len()) && word.chars().all(|one| one.is_ascii_digit())
            });
            let scale = |word: &str| 1000_u128.pow(3 - (word.len() as u32 - 10) / 3);
            word.and_then(|word| Some((word.parse::<u128>().ok()? * scale(word), scale(word))))
        };
        let both = time(&value.text).zip(time(&later.text));
        both.is_some_and(|((before, unit), (after, _))| {
            after + unit > before + u128::from(self.file.ttl)
        })
    }

    /// Returns `true` if the node's clock had been set forward by the end of a value.
    fn set_forward(&self, value: &Value) -> bool {
        self.file.events("fault-began").any(|line| {
            let by = line.raw("clock")["by_ns"].as_i64().unwrap_or_default();
            let is_affected = line.list("nodes").contains(&(value.node as i64));
            by > 0 && line.at <= value.until && is_affected && !self.was_right_again(line, value)
        })
    }

    /// Returns `true` if the clock that this fault had set was right again before the value was written.
    fn was_right_again(&self, began: &Line, value: &Value) -> bool {
        let id = began.raw("id").as_i64();
        let mut ends = self.file.events("fault-ended");
        let over = ends.any(|line| line.raw("id").as_i64() == id && line.at < value.from);
        over && began.raw("clock")["for_good"].as_bool() != Some(true)
    }

    /// Returns `true` if the value expired early after the node's clock had been set forward.
    pub fn leapt(&self, value: &Value) -> bool {
        let early = value.until + 2 * MS < value.runs_out(value.until);
        let jumped = self.file.events("fault-began").any(|line| {
            let by = line.raw("clock")["by_ns"].as_i64().unwrap_or_default();
            let is_affected = line.list("nodes").contains(&(value.node as i64));
            // A clock that was set back jumps forward when it is set right again.
            let leap = match by {
                1.. => Some(line.at),
                0 => None,
                _ => self.end_of(line),
            };
            is_affected && leap.is_some_and(|at| at <= value.until)
        });
        early && jumped
    }

    pub fn end_of(&self, began: &Line) -> Option<u64> {
        let mut ends = self.file.events("fault-ended");
        let end = ends.find(|line| line.num("id") == began.num("id"));
        end.map(|end| end.at)
    }

    /// Returns the possible causes for two holds overlapping.
    pub fn hold_causes(&self, one: &Attempt, other: &Attempt, at: u64) -> Causes {
        // If the leases begin to overlap only after the holds do, they do not explain why the holds overlap.
        if let Some(leased_at) = Case::leases_overlap(one, other, false).filter(|from| *from <= at)
        {
            return self.lease_causes(one, other, leased_at);
        }
        let (first, second) = if one.from() <= other.from() {
            (one, other)
        } else {
            (other, one)
        };
        // One grant has one cause, whatever its client did with it.
        if self.is_unwritten(one) || self.is_unwritten(other) {
            return ["unbacked-grant", "stale-reply"].into();
        }
        let expired = |attempt: &Attempt| {
            let grant = attempt.reports.first();
            // Without a reported validity it is unknown whether the lease had expired.
            let late = grant.is_some_and(|report| report.claims && report.min <= report.at);
            late && attempt.deadline_at(at) <= at
        };
        // The second client was let in while the first one's lease ran, by a grant without a value behind it.
        let was_running = first.deadline_at(second.from()) > second.from();
        let unbacked = self.file.key_history && was_running && !self.is_backed(second);
        if unbacked && !expired(second) {
            return ["unbacked-grant"].into();
        }
        let mut causes: Causes =
            if self.was_told_late(first, second) && !expired(one) && !expired(other) {
                ["late-loss-report"].into()
            } else if !expired(one) && !expired(other) {
                // The judge examines neither extensions that reached no server nor whether a loss was reported in time.
                let extends = !one.extensions.is_empty() || !other.extensions.is_empty();
                let others = [
                    extends.then_some("late-extension"),
                    self.file.renews.then_some("silent-loss"),
                ];
                let others = others.into_iter().flatten();
                ["outlived-lease"].into_iter().chain(others).collect()
            } else if unbacked {
                ["expired-grant", "unbacked-grant"].into()
            } else {
                ["expired-grant"].into()
            };
        // The lease may have run, because nothing was reported about its length.
        if let Some(leased_at) = Case::leases_overlap(one, other, true) {
            causes.extend(self.lease_causes(one, other, leased_at));
        }
        causes
    }
}

/// Returns `true` if the attempt removed the value itself before it was granted.
fn is_undone(value: &Value, attempt: &Attempt) -> bool {
    matches!(&value.end, End::Removed(by)
        if by.op == attempt.op && by.phase == "acquire" && value.until <= attempt.from())
}

/// Returns `true` if this clock fault may have made its client treat the value as expired too early, or may have made
/// the client that wrote the value write a wrong time.
fn misleads(began: &Line, by: &Author, value: &Value) -> bool {
    let by_ns = began.raw("clock")["by_ns"].as_i64();
    let is_off = |ahead: bool| by_ns.is_none_or(|by_ns| (by_ns > 0) == ahead);
    let workers = began.list("workers");
    let is_of = |worker: u64| workers.contains(&(worker as i64));
    let writer = value.author.as_ref().map(|author| author.worker);
    is_of(by.worker) && is_off(true) || writer.is_some_and(is_of) && is_off(false)
}
