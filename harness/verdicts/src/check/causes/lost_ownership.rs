//! Why two clients owned one lock at the same time, from the key history of its keys.
//!
//! The earlier of two attempts is the attempt that took the lock first on the servers. For each node that the later
//! attempt took, the key history shows how the earlier value ended, or that it was never written. The cause is the kind
//! of end without which the later attempt could not have reached a quorum. (On a single node, that node is the quorum.)
//!
//! If the key history does not show the cause, it is `undetermined`. The lock is never blamed merely because no other
//! reason was found.

use std::collections::HashSet;

use picklock_scenarios::Phase;

use crate::history::{History, KeyCommand, KeyName};
use crate::key_history::{SpanEnd, ValueSpan, adds_element, shares_element};
use crate::timeline::{EXPIRY_SLACK_NS, FaultSpan, Hold, Lease, names_token, overlap};

use crate::check::causes::ending_command::{
    is_own_token, is_same_token, is_unrequested_removal, late_release, names_permit,
    took_after_removal, took_again,
};
use crate::check::causes::wrong_clock::{cause_of_clocks, is_off_by_its_clock};
use crate::check::verdict::Cause;

/// The evidence about the attempts on one key.
pub(in crate::check) struct LostOwnership<'a> {
    pub spans: &'a [ValueSpan],
    /// Number of nodes that a grant must rest on.
    pub quorum: usize,
    pub faults: &'a [FaultSpan<'a>],
    /// All holds, in the order in which they began.
    pub holds: &'a [Hold],
    pub history: &'a History,
}

impl LostOwnership<'_> {
    /// Returns why both attempts owned the lock, although the lease of each was running.
    pub fn cause(&self, one: &Hold, other: &Hold) -> Cause {
        let (Some(one_ns), Some(other_ns)) = (self.taken_ns(one), self.taken_ns(other)) else {
            let holds = [one, other];
            return if holds.iter().any(|hold| self.has_foreign_permit(hold)) {
                Cause::SharedToken
            } else if holds.iter().any(|hold| self.only_counted(hold)) {
                Cause::Undetermined
            } else {
                Cause::UnbackedGrant
            };
        };
        // A server may report two commands with one reading of the clock. The replaced value is the earlier one.
        let is_reversed = one_ns > other_ns || one_ns == other_ns && self.overwrites(one, other);
        let (earlier, later) = if is_reversed {
            (other, one)
        } else {
            (one, other)
        };
        let mut ends = Vec::new();
        let acquired = self.acquired_values(later);
        let nodes: Vec<usize> = first_per_node(&acquired).map(|span| span.node).collect();
        for node in &nodes {
            let on_node = || acquired.iter().copied().filter(|span| span.node == *node);
            let earlier_value =
                on_node().find_map(|taken| Some((taken, self.last_before(earlier, taken)?)));
            match earlier_value {
                // Two permits of a semaphore exist at the same time.
                Some((taken, span)) if span.key != taken.key && span.exists_at(taken.from_ns) => {
                    ends.push(self.cause_of_crowding(taken, span, earlier));
                }
                Some((taken, span)) => {
                    let lasting = self.outlasting(span);
                    ends.push(self.cause_of_end(lasting, taken, earlier, later));
                }
                None if on_node().all(|taken| self.took_another_key(earlier, taken)) => {
                    ends.push(Cause::SplitKey);
                }
                None => {}
            }
        }
        decisive(&ends, nodes.len(), self.quorum)
    }

    /// Returns `true` if the permit with the token of this hold was written by another client.
    fn has_foreign_permit(&self, hold: &Hold) -> bool {
        self.spans.iter().any(|span| {
            let author = span.author.as_ref();
            names_permit(span, hold)
                && span.exists_at(hold.begin_ns)
                && author.is_some_and(|author| author.worker != hold.worker)
        })
    }

    /// Returns `true` if the attempt has no value, but changed a number next to the holders of its lock. A read/write
    /// lock may count its readers, and a number does not show whose hold it counts.
    fn only_counted(&self, hold: &Hold) -> bool {
        self.taken_ns(hold).is_none()
            && self.spans_of(hold).any(|span| {
                let is_beside =
                    matches!(&span.key, KeyName::Beside { beside, .. } if *beside == hold.lock);
                is_beside
                    && span.phase() == Some(Phase::Acquire)
                    && span.value.parse::<f64>().is_ok()
            })
    }

    /// Returns `true` if an attempt took the lock on the node of `taken`, but in another key.
    fn took_another_key(&self, hold: &Hold, taken: &ValueSpan) -> bool {
        let mut acquired = self.acquired_values(hold).into_iter();
        acquired.any(|span| span.node == taken.node && !span.key.competes_with(&taken.key))
    }

    /// Returns the values with which an attempt was granted the lock, in the order in which they were written. For each
    /// key only the last one counts, because an attempt may have tried more than once.
    fn acquired_values<'a>(&'a self, hold: &'a Hold) -> Vec<&'a ValueSpan> {
        let mut acquired: Vec<&ValueSpan> = Vec::new();
        for span in self.spans_of(hold) {
            let acquires = span.phase() == Some(Phase::Acquire) && span.from_ns <= hold.begin_ns;
            if acquires && !is_undone(span, hold) {
                acquired
                    .retain(|candidate| (candidate.node, &candidate.key) != (span.node, &span.key));
                acquired.push(span);
            }
        }
        // Other keys, such as a counter, do not count.
        acquired.retain(|span| span.may_be_lock_value());
        retain_granted(&mut acquired, hold);
        acquired
    }

    /// Returns when the attempt had taken a quorum, or `None` if it never had.
    fn taken_ns(&self, hold: &Hold) -> Option<u64> {
        let acquired = self.acquired_values(hold);
        // The values are in the order of time, so the last one of the quorum completes it.
        let last = first_per_node(&acquired).nth(self.quorum.checked_sub(1)?);
        last.map(|span| span.from_ns)
    }

    /// Returns `true` if a command of the attempt `one` replaced a value of the attempt `other`.
    fn overwrites(&self, one: &Hold, other: &Hold) -> bool {
        self.spans_of(other).any(|span| match &span.end {
            SpanEnd::Overwritten(by) => by.is_of(one.worker, one.op),
            _ => false,
        })
    }

    fn spans_of<'a>(&'a self, hold: &'a Hold) -> impl Iterator<Item = &'a ValueSpan> {
        let spans = self.spans.iter();
        spans.filter(|span| span.is_of(hold.worker, hold.op))
    }

    /// Returns the last value of the earlier attempt in the key of `taken`, before the later attempt took that key.
    fn last_before<'a>(&'a self, earlier: &'a Hold, taken: &ValueSpan) -> Option<&'a ValueSpan> {
        let spans = self.spans_of(earlier);
        spans
            .filter(|span| span.node == taken.node && span.key.competes_with(&taken.key))
            .filter(|span| span.from_ns <= taken.from_ns && !is_undone(span, earlier))
            .last()
    }

    /// Returns `span` itself, unless attempts without a grant overwrote the value and then restored or lost it. Their
    /// writing did not take the lock, so the last value of that chain is returned.
    fn outlasting<'a>(&'a self, span: &'a ValueSpan) -> &'a ValueSpan {
        let mut last = span;
        let before = |candidate: &&ValueSpan| !std::ptr::eq(*candidate, span);
        for next in self.spans.iter().skip_while(before).skip(1) {
            if let SpanEnd::Overwritten(by) = &last.end
                && by.phase == Phase::Acquire
                && next.is_of(by.worker, by.op)
                && (next.node, &next.key, next.from_ns) == (span.node, &span.key, last.until_ns)
                && self.holds.iter().all(|hold| hold.op != by.op)
            {
                last = next;
            }
        }
        let is_restored_or_lost = last.value == span.value || last.end.is_loss();
        if is_restored_or_lost { last } else { span }
    }

    /// Returns the cause that the end of the earlier value indicates for the lock that rested on it.
    fn cause_of_end(
        &self,
        span: &ValueSpan,
        taken: &ValueSpan,
        earlier: &Hold,
        later: &Hold,
    ) -> Cause {
        let due_ns = self.due_ns(span).filter(|due_ns| *due_ns <= taken.from_ns);
        let latest_due_ns = taken.from_ns.saturating_add(EXPIRY_SLACK_NS);
        let is_nearly_due = self
            .due_ns(span)
            .is_some_and(|due_ns| due_ns <= latest_due_ns);
        let cause = match (&span.end, due_ns) {
            (SpanEnd::RanOut, _) if self.ran_out_in_leap(span) => Cause::ClockJump,
            (SpanEnd::RanOut, _) => match cause_of_expiry(span.until_ns, earlier, later) {
                Cause::WrongExpiry
                    if is_off_by_its_clock(self.faults, span, earlier, span.until_ns) =>
                {
                    Cause::ClockSkew
                }
                cause => cause,
            },
            // Even if the server had not lost the value, the later attempt would have found the key empty, then or with
            // its next command.
            (end, _) if end.is_loss() && is_nearly_due && has_lapsed(earlier, later) => {
                Cause::PhantomExtend
            }
            (end, Some(due_ns)) if end.is_loss() => cause_of_expiry(due_ns, earlier, later),
            (SpanEnd::ClockLeapt, Some(due_ns)) => cause_of_expiry(due_ns, earlier, later),
            _ => self.cause_of_loss(span, taken, earlier, later),
        };
        // The earlier attempt may have extended the other client's value.
        let mut renewals = taken.foreign_renewals();
        let foreign = renewals.find(|renewal| renewal.by.is_of(earlier.worker, earlier.op));
        match foreign {
            Some(renewal) if cause == Cause::PhantomExtend => {
                if is_same_token(self.spans, self.holds, &renewal.by, taken) {
                    Cause::SharedToken
                } else {
                    Cause::ForeignRenewal
                }
            }
            _ => cause,
        }
    }

    /// Returns `true` if a permit was gone with its expired key after the clock of its node had been set forward. The
    /// permit itself has no expiry that could show whether it ended early.
    fn ran_out_in_leap(&self, span: &ValueSpan) -> bool {
        let has_leapt = |fault: &FaultSpan<'_>| {
            fault.clock.is_some_and(|shift| shift.by_ns > 0)
                && fault.nodes.contains(&span.node)
                && (span.from_ns..=span.until_ns).contains(&fault.began_ns)
        };
        span.expiry.is_none() && self.faults.iter().any(has_leapt)
    }

    /// Like [`Self::cause_of_end`], for a value that would still have existed when the later attempt took the lock if
    /// it had not been ended early.
    fn cause_of_loss(
        &self,
        span: &ValueSpan,
        taken: &ValueSpan,
        earlier: &Hold,
        later: &Hold,
    ) -> Cause {
        match &span.end {
            SpanEnd::ClockLeapt => Cause::ClockJump,
            SpanEnd::Removed(by) => self.cause_of_removal(by, span, earlier, later),
            SpanEnd::Overwritten(_) if shares_element(&span.value, &taken.value) => {
                if adds_element(&span.value, &taken.value) {
                    // The value contains the elements of both clients.
                    Cause::NotExclusive
                } else {
                    // The later client's element was already in the value, so both clients use the same element.
                    Cause::SharedToken
                }
            }
            SpanEnd::Overwritten(by) => match self.cause_of_overwriting(by, span, earlier) {
                // The lock was free until the earlier client's extension was granted.
                Cause::Race if !share_granted_leases(earlier, later) => Cause::PhantomExtend,
                cause => cause,
            },
            SpanEnd::Evicted | SpanEnd::Flushed => Cause::Evicted,
            SpanEnd::LostInRestart if self.quorum > 1 => Cause::QuorumErosion,
            SpanEnd::LostInRestart => Cause::LostOnRestart,
            SpanEnd::LostInFailover => Cause::LostOnFailover,
            SpanEnd::RanOut | SpanEnd::Stays | SpanEnd::Unseen => Cause::Undetermined,
        }
    }

    /// Returns the first value that the attempt of a command wrote to the key of `span` when the command ended `span`,
    /// or later.
    fn taken_after(&self, span: &ValueSpan, by: &KeyCommand) -> Option<&ValueSpan> {
        self.spans.iter().find(|candidate| {
            candidate.node == span.node
                && candidate.key.competes_with(&span.key)
                && candidate.is_of(by.worker, by.op)
                && candidate.from_ns >= span.until_ns
        })
    }

    /// Returns why a permit was granted although permits of other clients existed.
    fn cause_of_crowding(&self, taken: &ValueSpan, span: &ValueSpan, earlier: &Hold) -> Cause {
        let by = taken.author.as_ref();
        let values = (span, Some(taken));
        let by_clocks = by.and_then(|by| cause_of_clocks(self.faults, by, values, earlier));
        by_clocks.unwrap_or(if by.is_some_and(KeyCommand::is_script) {
            Cause::NotExclusive
        } else {
            Cause::Race
        })
    }

    /// Returns when the value would have expired if nothing had ended it before. Returns `None` if it has no expiry, or
    /// if a fault changed its node's clock, so that the time is unknown.
    fn due_ns(&self, span: &ValueSpan) -> Option<u64> {
        let expiry = span.expiry?;
        let sets_clock = |fault: &FaultSpan<'_>| {
            fault.clock.is_some() && fault.took_effect() && fault.nodes.contains(&span.node)
        };
        // If a leap of the clock ended the value, the undisturbed time is known.
        let is_known = span.end == SpanEnd::ClockLeapt || !self.faults.iter().any(sets_clock);
        is_known.then(|| expiry.expires_at_ns())
    }

    /// Returns why a client overwrote a value that still existed. A renewal that arrives during the release writes
    /// again the value with which the attempt had taken the lock.
    fn cause_of_overwriting(&self, by: &KeyCommand, span: &ValueSpan, earlier: &Hold) -> Cause {
        match by.phase {
            Phase::Idle | Phase::Extend => Cause::PhantomExtend,
            Phase::Release if took_again(self.spans, by, span.until_ns) => Cause::PhantomExtend,
            Phase::Release => Cause::StolenRelease,
            Phase::Acquire => {
                let values = (span, self.taken_after(span, by));
                (cause_of_clocks(self.faults, by, values, earlier)).unwrap_or_else(|| {
                    if is_same_token(self.spans, self.holds, by, span) {
                        Cause::SharedToken
                    } else if by.is_script() {
                        Cause::NotExclusive
                    } else {
                        Cause::Race
                    }
                })
            }
        }
    }

    /// Returns why a command removed the earlier value, depending on its sender.
    fn cause_of_removal(
        &self,
        by: &KeyCommand,
        span: &ValueSpan,
        earlier: &Hold,
        later: &Hold,
    ) -> Cause {
        let is_own = by.is_of(earlier.worker, earlier.op);
        match by.phase {
            // The attempt took the lock and gave it back before it was granted.
            Phase::Acquire if is_own => Cause::UnbackedGrant,
            Phase::Release if is_own => Cause::Undetermined,
            _ if is_own && late_release(self.holds, by, earlier.lock, span.until_ns).is_none() => {
                Cause::OwnRemoval
            }
            _ if is_own => Cause::StolenRelease,
            _ if is_own_token(self.spans, by, span) => {
                // If the client has taken its lock twice, the release of the inner hold belongs to the later attempt.
                let is_late = span.author.as_ref().is_some_and(|author| by.op < author.op);
                if is_late {
                    Cause::SharedToken
                } else {
                    Cause::OwnRemoval
                }
            }
            _ if is_same_token(self.spans, self.holds, by, span) => Cause::SharedToken,
            Phase::Acquire if by.op == later.op => self.cause_of_takeover(by, span, earlier),
            _ if is_unrequested_removal(
                self.history,
                self.holds,
                by,
                (earlier.lock, span.until_ns),
            ) =>
            {
                Cause::ForeignRemoval
            }
            // It took another permit than the later client.
            Phase::Acquire if took_after_removal(self.spans, by, span) => {
                self.cause_of_takeover(by, span, earlier)
            }
            _ => Cause::StolenRelease,
        }
    }

    /// Returns why a client removed the earlier value and took the lock itself.
    ///
    /// If the lock takes expired locks over by removing their values, the client checked a value and then removed a
    /// newer one, which was written in between. With any other lock, the removal does not belong to this acquisition.
    pub fn cause_of_takeover(&self, by: &KeyCommand, span: &ValueSpan, earlier: &Hold) -> Cause {
        let takes_over = self.spans.iter().any(|other| {
            let in_acquisition =
                matches!(&other.end, SpanEnd::Removed(by) if by.phase == Phase::Acquire);
            let is_old = other.until_ns.saturating_sub(other.from_ns) >= earlier.ttl_ns;
            in_acquisition && is_old && (other.node, &other.key) == (span.node, &span.key)
        });
        let values = (span, self.taken_after(span, by));
        let by_clocks = cause_of_clocks(self.faults, by, values, earlier);
        by_clocks.unwrap_or(match (by.is_script(), takes_over) {
            (true, _) => Cause::NotExclusive,
            (false, true) => Cause::Race,
            (false, false) => Cause::StolenRelease,
        })
    }
}

/// Keeps only the values of the try that was granted, because an attempt may have tried more than once. If any value
/// names the token of the grant, the others are removed. Values that had expired when the last value was written are
/// removed, too.
fn retain_granted(acquired: &mut Vec<&ValueSpan>, hold: &Hold) {
    let is_named = |span: &&ValueSpan| names_token(&span.value, &hold.token);
    if acquired.iter().any(is_named) {
        acquired.retain(is_named);
    }
    let last_ns = acquired.iter().map(|span| span.from_ns).max().unwrap_or(0);
    // The last value counts even if its expiry had already passed when it was written.
    let is_there = |span: &&ValueSpan| span.until_ns > last_ns || span.from_ns == last_ns;
    acquired.retain(|span| span.end != SpanEnd::RanOut || is_there(span));
}

/// Returns the first of these values on each node.
fn first_per_node<'a>(values: &'a [&'a ValueSpan]) -> impl Iterator<Item = &'a ValueSpan> {
    let mut nodes = HashSet::new();
    let values = values.iter().copied();
    values.filter(move |span| nodes.insert(span.node))
}

/// Returns `true` if the attempt itself removed the value before it was granted the lock. Then its grant does not rest
/// on the value.
fn is_undone(span: &ValueSpan, hold: &Hold) -> bool {
    matches!(&span.end, SpanEnd::Removed(by)
        if by.phase == Phase::Acquire
            && by.is_of(hold.worker, hold.op)
            && span.until_ns <= hold.begin_ns)
}

/// Returns `true` if no lease of the earlier client was running when the later client was let in.
fn has_lapsed(earlier: &Hold, later: &Hold) -> bool {
    let runs = |lease: &Lease| (lease.from_ns..lease.until_ns).contains(&later.begin_ns);
    earlier.begin_ns <= later.begin_ns && !earlier.possible_leases.iter().any(runs)
}

/// Returns the cause if the earlier value expired at `expires_at_ns`, which is its written expiry.
fn cause_of_expiry(expires_at_ns: u64, earlier: &Hold, later: &Hold) -> Cause {
    let meets = |lease: &&Lease| overlap(lease.span(), later.span());
    let shared = earlier.leases.iter().find(meets);
    // The lease of an extension that was granted after the value was gone is the only one that overlaps. That extension
    // wrote no new value, and may have extended the other client's value. An extension that may have been granted
    // earlier does not explain the overlap.
    let is_too_late = shared.is_some_and(|lease| expires_at_ns <= lease.from_ns);
    if is_too_late && !share_granted_leases(earlier, later) {
        Cause::PhantomExtend
    } else {
        // The lock promised more than it had written.
        Cause::WrongExpiry
    }
}

/// Returns the cause without which the later attempt would not have reached a quorum, or the most frequent cause if
/// there is no such cause. `ends` has one cause for each node on which the earlier value ended.
fn decisive(ends: &[Cause], nodes: usize, quorum: usize) -> Cause {
    // The later attempt reached a quorum without the nodes of the earlier attempt, so the two grants rest on different
    // nodes.
    if nodes.saturating_sub(ends.len()) >= quorum {
        return Cause::UnbackedGrant;
    }
    let count = |cause: &Cause| ends.iter().filter(|end| *end == cause).count();
    let necessary = ends.iter().find(|cause| nodes - count(cause) < quorum);
    let most_frequent = || ends.iter().rev().max_by_key(|cause| count(cause));
    necessary
        .or_else(most_frequent)
        .copied()
        .unwrap_or(Cause::Undetermined)
}

/// Returns `true` if the leases with which the two holds were granted overlap, before any extension.
fn share_granted_leases(one: &Hold, other: &Hold) -> bool {
    // A lease that was over when its grant arrived never ran.
    let was_current = |hold: &Hold| hold.begin_ns < hold.first_deadline_ns;
    was_current(one)
        && was_current(other)
        && one.begin_ns < other.first_deadline_ns
        && other.begin_ns < one.first_deadline_ns
}
