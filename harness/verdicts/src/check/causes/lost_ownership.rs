//! Why two clients had one lock at a time, from the key history of its key.
//!
//! Of two attempts, the one that took the lock first on the servers is the earlier claim. On each
//! node that the later one took, the account says what had become of the earlier value there: how it
//! ended, or that it was never written. A majority that the later one could not have had without one
//! kind of end has that end as its cause. (On a single node, one node is the majority.)
//!
//! What the account does not show is `undetermined`: no party is blamed because no other is left.

use std::collections::HashSet;

use picklock_scenarios::Phase;

use crate::history::KeyCommand;
use crate::key_history::{SpanEnd, ValueSpan};
use crate::timeline::{FaultSpan, Hold, HoldEnd, Lease, is_instantaneous, overlap, spoils_clocks};

use crate::check::claims::taken_value::{adds_element, is_of_several, shares_element};
use crate::check::verdict::Cause;

/// Two attempts on the same key, and what the servers and the faults say.
pub(in crate::check) struct LostOwnership<'a> {
    pub spans: &'a [ValueSpan],
    /// How many nodes a grant must rest on.
    pub quorum: usize,
    pub faults: &'a [FaultSpan<'a>],
    /// All holds, in the order in which they began.
    pub holds: &'a [Hold],
}

impl LostOwnership<'_> {
    /// Why both attempts had the lock, though the lease of each was running.
    pub fn cause(&self, one: &Hold, other: &Hold) -> Cause {
        let Some((one_ns, other_ns)) = self.taken_ns(one).zip(self.taken_ns(other)) else {
            return Cause::UnbackedGrant;
        };
        let (earlier, later) = match one_ns <= other_ns {
            true => (one, other),
            false => (other, one),
        };
        let mut ends = Vec::new();
        let claims = self.claims(later);
        let nodes: Vec<usize> = by_node(&claims).map(|span| span.node).collect();
        for node in &nodes {
            let here = || claims.iter().copied().filter(|span| span.node == *node);
            let met = here().find_map(|taken| Some((taken, self.last_before(earlier, taken)?)));
            match met {
                Some((taken, span)) => {
                    let span = self.outlasting(span);
                    ends.push(self.cause_of_end(span, taken, earlier, later));
                }
                None if here().all(|taken| self.took_another_key(earlier, taken)) => {
                    ends.push(Cause::SplitKey);
                }
                None => {}
            }
        }
        decisive(&ends, nodes.len(), self.quorum)
    }

    /// True if an attempt took the lock on this node as well, and in keys of which the other one wrote none.
    fn took_another_key(&self, hold: &Hold, taken: &ValueSpan) -> bool {
        let mut claims = self.claims(hold).into_iter();
        claims.any(|span| span.node == taken.node && span.key != taken.key)
    }

    /// The values that an attempt was granted the lock with, in the order in which they were written:
    /// of each key the last, because an attempt may have tried more than once.
    fn claims<'a>(&'a self, hold: &'a Hold) -> Vec<&'a ValueSpan> {
        let mut claims: Vec<&ValueSpan> = Vec::new();
        for span in self.spans_of(hold) {
            let acquires = span.phase() == Some(Phase::Acquire) && span.from_ns <= hold.begin_ns;
            if acquires && !is_undone(span, hold) {
                claims.retain(|one| (one.node, &one.key) != (span.node, &span.key));
                claims.push(span);
            }
        }
        // A counter beside the lock is none of its nodes.
        claims.retain(|span| span.may_be_lock_value());
        claims
    }

    /// When the attempt had taken a quorum. `None`: it never had.
    fn taken_ns(&self, hold: &Hold) -> Option<u64> {
        let claims = self.claims(hold);
        // In the order of time, so the last of the quorum completes it.
        let taken = by_node(&claims).nth(self.quorum.checked_sub(1)?);
        taken.map(|span| span.from_ns)
    }

    fn spans_of<'a>(&'a self, hold: &'a Hold) -> impl Iterator<Item = &'a ValueSpan> {
        let spans = self.spans.iter();
        spans.filter(|span| span.is_of(hold.worker, hold.op))
    }

    /// The last value of the earlier attempt on a node before the later one took it.
    fn last_before<'a>(&'a self, earlier: &'a Hold, taken: &ValueSpan) -> Option<&'a ValueSpan> {
        let spans = self.spans_of(earlier);
        spans
            .filter(|span| span.node == taken.node && span.key == taken.key)
            .filter(|span| span.from_ns <= taken.from_ns && !is_undone(span, earlier))
            .last()
    }

    /// A value, or what attempts that got nothing wrote over it and put back, or was lost: their writing took no lock.
    fn outlasting<'a>(&'a self, span: &'a ValueSpan) -> &'a ValueSpan {
        let mut last = span;
        let before = |one: &&ValueSpan| !std::ptr::eq(*one, span);
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
        match last.value == span.value || last.end.is_loss() {
            true => last,
            false => span,
        }
    }

    /// What the end of a value means for the lock that rested on it.
    fn cause_of_end(
        &self,
        span: &ValueSpan,
        taken: &ValueSpan,
        earlier: &Hold,
        later: &Hold,
    ) -> Cause {
        let due_ns = self.due_ns(span).filter(|due_ns| *due_ns <= taken.from_ns);
        let cause = match (&span.end, due_ns) {
            (SpanEnd::RanOut, _) => match of_running_out(span.until_ns, earlier, later) {
                Cause::WrongExpiry if is_off_by_its_clock(self.faults, span, earlier) => {
                    Cause::ClockSkew
                }
                cause => cause,
            },
            // Lost or not, the later attempt would have found it gone.
            (end, Some(_)) if end.is_loss() && has_lapsed(earlier, later) => Cause::PhantomExtend,
            (end, Some(due_ns)) if end.is_loss() => of_running_out(due_ns, earlier, later),
            (SpanEnd::ClockLeapt, Some(due_ns)) => of_running_out(due_ns, earlier, later),
            _ => self.cause_of_loss(span, taken, earlier, later),
        };
        // What it extended was the other client's value.
        let extended = |by: &KeyCommand| by.is_of(earlier.worker, earlier.op);
        let mut renewals = taken.foreign_renewals();
        match cause == Cause::PhantomExtend && renewals.any(|renewal| extended(&renewal.by)) {
            true => Cause::ForeignRenewal,
            false => cause,
        }
    }

    /// The same of a value without whose end the later attempt would have found it.
    fn cause_of_loss(
        &self,
        span: &ValueSpan,
        taken: &ValueSpan,
        earlier: &Hold,
        later: &Hold,
    ) -> Cause {
        match &span.end {
            SpanEnd::ClockLeapt => Cause::ClockJump,
            SpanEnd::Removed(by) => self.of_removal(by, span, earlier, later),
            SpanEnd::Overwritten(_) if shares_element(&span.value, &taken.value) => {
                match adds_element(&span.value, &taken.value) {
                    // Both stand in it.
                    true => Cause::NotExclusive,
                    // The later client found its own name there.
                    false => Cause::SharedToken,
                }
            }
            SpanEnd::Overwritten(by) => match self.of_overwriting(by, span, earlier) {
                // It was free for all to take, until an extension was granted.
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

    /// When the value would have been over if nothing had befallen it. `None`: never; or the node's
    /// clock was set, and it is not known when it would have been.
    fn due_ns(&self, span: &ValueSpan) -> Option<u64> {
        let expiry = span.expiry?;
        let was_set = |fault: &FaultSpan<'_>| {
            fault.clock.is_some() && fault.took_effect() && fault.nodes.contains(&span.node)
        };
        // A leap forward is what befell it.
        let knows = span.end == SpanEnd::ClockLeapt || !self.faults.iter().any(was_set);
        knows.then(|| expiry.ended_at_ns())
    }

    /// A client wrote over a value that was still there. A renewal may come as late as during the release: it
    /// writes once more what the attempt took the lock with.
    fn of_overwriting(&self, by: &KeyCommand, span: &ValueSpan, earlier: &Hold) -> Cause {
        match by.phase {
            Phase::Idle | Phase::Extend => Cause::PhantomExtend,
            Phase::Release if took_again(self.spans, by, span.until_ns) => Cause::PhantomExtend,
            Phase::Release => Cause::StolenRelease,
            Phase::Acquire => (self.of_clocks(by, span, earlier)).unwrap_or_else(|| {
                if is_same_token(self.spans, self.holds, by, span) {
                    Cause::SharedToken
                } else if by.is_script() {
                    Cause::NotExclusive
                } else {
                    Cause::Race
                }
            }),
        }
    }

    /// Why a client took a value for over that was not, if it went by a clock: one of the two clients' was wrong by
    /// then, or the server's leapt, and the value has no expiry of the server's own.
    fn of_clocks(&self, by: &KeyCommand, span: &ValueSpan, earlier: &Hold) -> Option<Cause> {
        let mut clocks = self.faults.iter().filter(|fault| {
            spoils_clocks(fault.fault) && fault.took_effect() && fault.began_ns <= span.until_ns
        });
        clocks.find_map(|fault| {
            let is_lasting =
                (fault.clock).map_or(is_instantaneous(fault.fault), |shift| shift.for_good);
            let is_over = !is_lasting && fault.ended_ns.is_some_and(|ns| ns < span.from_ns);
            // Ahead, the later client's clock takes it for over too soon; behind, the earlier one's writes that it is.
            let leads = |ahead: bool| fault.clock.is_none_or(|shift| (shift.by_ns > 0) == ahead);
            let is_of = |worker: usize| fault.workers.contains(&worker);
            let skewed = is_of(by.worker) && leads(true) || is_of(earlier.worker) && leads(false);
            let leapt = fault.nodes.contains(&span.node)
                && fault.clock.is_some_and(|shift| shift.by_ns > 0)
                && span.expiry.is_none();
            match (skewed, leapt) {
                _ if is_over => None,
                (true, _) => Some(Cause::ClockSkew),
                (_, true) => Some(Cause::ClockJump),
                _ => None,
            }
        })
    }

    /// A command removed the earlier value: by whose?
    fn of_removal(&self, by: &KeyCommand, span: &ValueSpan, earlier: &Hold, later: &Hold) -> Cause {
        let own = by.is_of(earlier.worker, earlier.op);
        match by.phase {
            // It took the lock and gave it back before it was granted.
            Phase::Acquire if own => Cause::UnbackedGrant,
            Phase::Release if own => Cause::Undetermined,
            _ if own && late_release(self.holds, by, earlier.key, span.until_ns).is_none() => {
                Cause::OwnRemoval
            }
            _ if own => Cause::StolenRelease,
            _ if is_own_token(self.spans, by, span) => Cause::OwnRemoval,
            _ if is_same_token(self.spans, self.holds, by, span) => Cause::SharedToken,
            Phase::Acquire if by.op == later.op => self.of_takeover(by, span, earlier),
            _ => Cause::StolenRelease,
        }
    }

    /// A client removed the earlier value, and took the lock itself. A lock that takes over by removal has looked
    /// before, and removed what came meanwhile; with others the removal is not of this acquisition.
    fn of_takeover(&self, by: &KeyCommand, span: &ValueSpan, earlier: &Hold) -> Cause {
        let takes_over = self.spans.iter().any(|other| {
            let in_acquisition =
                matches!(&other.end, SpanEnd::Removed(by) if by.phase == Phase::Acquire);
            let is_old = other.until_ns.saturating_sub(other.from_ns) >= earlier.ttl_ns;
            in_acquisition && is_old && (other.node, &other.key) == (span.node, &span.key)
        });
        let by_clocks = self.of_clocks(by, span, earlier);
        by_clocks.unwrap_or(match (by.is_script(), takes_over) {
            (true, _) => Cause::NotExclusive,
            (false, true) => Cause::Race,
            (false, false) => Cause::StolenRelease,
        })
    }
}

/// The first of these values on each node.
fn by_node<'a>(claims: &'a [&'a ValueSpan]) -> impl Iterator<Item = &'a ValueSpan> {
    let mut nodes = HashSet::new();
    let claims = claims.iter().copied();
    claims.filter(move |span| nodes.insert(span.node))
}

/// The hold whose release is perhaps late with this command, which removed a value outside any release: the last one
/// of the same client and lock that was given back at most a lease before.
pub(in crate::check) fn late_release<'a>(
    holds: &'a [Hold],
    by: &KeyCommand,
    lock: u32,
    at_ns: u64,
) -> Option<&'a Hold> {
    let mut earlier = holds.iter().rev();
    earlier.find(|hold| {
        (hold.worker, hold.key) == (by.worker, lock)
            && hold.ended == HoldEnd::Released
            && (hold.end_ns..=hold.end_ns.saturating_add(hold.ttl_ns)).contains(&at_ns)
    })
}

/// True if a script of a client's earlier attempt took what its later one had written: the two have one token.
fn is_own_token(spans: &[ValueSpan], by: &KeyCommand, span: &ValueSpan) -> bool {
    let is_later = |author: &KeyCommand| author.worker == by.worker && author.op != by.op;
    let wrote = |own: &ValueSpan| {
        own.is_of(by.worker, by.op) && (&own.key, &own.value) == (&span.key, &span.value)
    };
    by.is_script() && span.author.as_ref().is_some_and(is_later) && spans.iter().any(wrote)
}

/// True if a script of a client took what another client had written for its own: in this run the two, or one of them
/// and a third, wrote the same value to take the lock. A script that compares cannot tell them apart. The value at hand
/// need not be the one: who draws the same tokens as another also tries, and gives back, those that it never wrote.
/// Who was granted the lock with the other's value for its token may have written nothing at all.
pub(in crate::check) fn is_same_token(
    spans: &[ValueSpan],
    holds: &[Hold],
    by: &KeyCommand,
    span: &ValueSpan,
) -> bool {
    let author = span.author.as_ref();
    if !by.is_script() || author.is_none_or(|author| author.worker == by.worker) {
        return false;
    }
    let granted = holds.iter().find(|hold| by.is_of(hold.worker, hold.op));
    if granted.is_some_and(|hold| *hold.token == *span.value) {
        return true;
    }
    let taken = spans.iter().filter(|one| {
        let acquires = one.phase() == Some(Phase::Acquire);
        acquires && one.key == span.key && !is_of_several(&one.value)
    });
    let is_own = |one: &&ValueSpan| one.author.as_ref().is_some_and(|it| it.worker == by.worker);
    let (own, others): (Vec<&ValueSpan>, Vec<&ValueSpan>) = taken.partition(is_own);
    let own: HashSet<&str> = own.iter().map(|one| &*one.value).collect();
    others.iter().any(|other| own.contains(&*other.value))
}

/// True if the attempt wrote at this time once more what it had taken the lock with.
pub(in crate::check) fn took_again(spans: &[ValueSpan], by: &KeyCommand, at_ns: u64) -> bool {
    let mut own_spans = (spans.iter()).filter(|span| span.is_of(by.worker, by.op));
    let written = own_spans
        .clone()
        .find(|span| span.from_ns == at_ns && span.phase() == Some(by.phase));
    written.is_some_and(|written| {
        own_spans.any(|span| span.phase() == Some(Phase::Acquire) && span.value == written.value)
    })
}

/// The attempt took the value back itself before it was granted the lock, so its grant does not rest
/// on it.
fn is_undone(span: &ValueSpan, hold: &Hold) -> bool {
    matches!(&span.end, SpanEnd::Removed(by)
        if by.phase == Phase::Acquire
            && by.is_of(hold.worker, hold.op)
            && span.until_ns <= hold.begin_ns)
}

/// No lease of the earlier client ran when the later one was let in.
fn has_lapsed(earlier: &Hold, later: &Hold) -> bool {
    let runs = |lease: &Lease| (lease.from_ns..lease.until_ns).contains(&later.begin_ns);
    earlier.begin_ns <= later.begin_ns && !earlier.possible_leases.iter().any(runs)
}

/// The value was over at `ended_at_ns`, as it had been written.
fn of_running_out(ended_at_ns: u64, earlier: &Hold, later: &Hold) -> Cause {
    let meets = |lease: &&Lease| overlap(lease.span(), later.span());
    let told = earlier.leases.iter().find(meets);
    // An extension was granted when the value was gone already: only since then do the leases
    // overlap. It wrote nothing of its own, and perhaps extended the other client's value. An
    // extension that may as well have been granted before explains nothing.
    let too_late = told.is_some_and(|lease| ended_at_ns <= lease.from_ns);
    match too_late && !share_granted_leases(earlier, later) {
        true => Cause::PhantomExtend,
        // The lock promised more than it had written.
        false => Cause::WrongExpiry,
    }
}

/// True if the expiry of a value is off from the lease by as much as a fault has set its client's clock.
pub(in crate::check) fn is_off_by_its_clock(
    faults: &[FaultSpan<'_>],
    span: &ValueSpan,
    hold: &Hold,
) -> bool {
    let Some(expiry) = span.expiry else {
        return false;
    };
    let past_ns = expiry.set_ns.saturating_sub(hold.acquire_ns);
    let lease_ns = i128::from(hold.ttl_ns.saturating_sub(past_ns));
    let off_ns = i128::from(expiry.ttl_ms) * 1_000_000 - lease_ns;
    let set = |fault: &FaultSpan<'_>| {
        let by_ns = fault.clock.map_or(0, |shift| i128::from(shift.by_ns));
        let near_ns = (by_ns.abs() / 10).max(20_000_000);
        spoils_clocks(fault.fault)
            && fault.affects(hold.worker)
            && fault.workers.contains(&hold.worker)
            && (off_ns - by_ns).abs() <= near_ns
    };
    faults.iter().any(set)
}

/// The end without which the later attempt would not have had its quorum.
fn decisive(ends: &[Cause], nodes: usize, quorum: usize) -> Cause {
    // It needed none of the earlier one's nodes: two grants on different nodes.
    if nodes.saturating_sub(ends.len()) >= quorum {
        return Cause::UnbackedGrant;
    }
    let count = |cause: &Cause| ends.iter().filter(|end| *end == cause).count();
    let necessary = ends.iter().find(|cause| nodes - count(cause) < quorum);
    let most = || ends.iter().rev().max_by_key(|cause| count(cause));
    necessary
        .or_else(most)
        .copied()
        .unwrap_or(Cause::Undetermined)
}

/// True if the leases that the two were granted with overlap, before any extension.
fn share_granted_leases(one: &Hold, other: &Hold) -> bool {
    one.begin_ns < other.first_deadline_ns && other.begin_ns < one.first_deadline_ns
}
