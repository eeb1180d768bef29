//! Claims about values that stayed: that the lock is free, and that the client did not get the lock.

use std::collections::BTreeMap;

use crate::check::claims::leftover_value::{LeftoverValue, ReportedState};
use crate::check::finding::Claim;
use crate::check::inconclusive::{InconclusiveReason, StallContext};
use crate::check::stalls::harness_stall::HarnessStall;
use crate::check::stalls::thresholds::{ANSWER_DELAY, AROUND_WRITE};
use crate::history::KeyName;
use crate::key_history::NodesUsed;
use crate::timeline::ms_from_ns;

/// The state of a run by which leftover values are judged.
pub(in crate::check) struct LeftoverJudge<'a> {
    /// Number of nodes.
    pub(in crate::check) nodes: usize,
    pub(in crate::check) nodes_used: &'a NodesUsed,
    /// The keys that all grants of a lock have written, by lock.
    pub(in crate::check) lock_keys: &'a BTreeMap<u32, Vec<KeyName>>,
    pub(in crate::check) ttl_ns: u64,
    pub(in crate::check) harness_stalls: &'a [HarnessStall],
}

/// The judgement on a value that stayed on too many nodes.
pub(in crate::check) enum Leftover {
    /// The report was untrue: its subject, and the observation.
    Untrue(Claim, String),
    /// A stall may be the reason: the client gave up a delayed answer, or its clean-up failed.
    InDoubt(InconclusiveReason),
}

impl LeftoverJudge<'_> {
    /// Judges a value that stayed. Returns `None` if it stayed on so few nodes that the report was true.
    pub(in crate::check) fn judge(&self, left: &LeftoverValue) -> Option<Leftover> {
        let stayed = self.stayed_on(left);
        let is_on_one_node = self.nodes_used.only_node(left.lock).is_some();
        let quorum = self.nodes / 2 + 1;
        let too_many = match (is_on_one_node, left.reported.is_of_release()) {
            (true, _) => 1,
            // The value stayed on so many nodes that the others are fewer than a quorum.
            (false, true) => self.nodes - quorum + 1,
            (false, false) => quorum,
        };
        if stayed < too_many {
            return None;
        }
        if let Some(stall) = left.stall {
            return Some(Leftover::InDoubt(InconclusiveReason::HarnessStall {
                late_ms: stall.length_ns / 1_000_000,
                until_ns: stall.until_ns,
                during: StallContext::CleanUp,
                count: 1,
            }));
        }
        if left.reported == ReportedState::Refused
            && let Some(reason) = self.reason_for_delayed_answer(left)
        {
            return Some(Leftover::InDoubt(reason));
        }
        let statement = format!(
            "client {} {}, but its value stayed on {stayed} of {} nodes",
            left.worker,
            left.reported.describe(),
            self.nodes
        );
        let about = match left.reported {
            ReportedState::Refused | ReportedState::NothingHappened => Claim::Refusal,
            ReportedState::Nothing => Claim::SilentRelease,
            _ => Claim::Release,
        };
        Some(Leftover::Untrue(about, statement))
    }

    /// Returns the reason if the client may have given up an answer that the harness delayed, because the harness was
    /// stalled around the time at which the value was written.
    fn reason_for_delayed_answer(&self, left: &LeftoverValue) -> Option<InconclusiveReason> {
        let written_ns = left.written_ns?;
        let around_ns = AROUND_WRITE.part_of(self.ttl_ns);
        let from_ns = written_ns.saturating_sub(around_ns);
        let until_ns = written_ns.saturating_add(around_ns).min(left.at_ns);
        let (mut stalled_ns, mut last_ns) = (0_u64, 0);
        for stall in self.harness_stalls {
            if stall.from_ns < until_ns && stall.until_ns > from_ns {
                stalled_ns = stalled_ns.saturating_add(stall.until_ns - stall.from_ns);
                last_ns = stall.until_ns;
            }
        }
        let is_long = stalled_ns >= ANSWER_DELAY.part_of(self.ttl_ns).max(1);
        is_long.then_some(InconclusiveReason::HarnessStall {
            late_ms: ms_from_ns(stalled_ns),
            until_ns: last_ns,
            during: StallContext::Attempt,
            count: 1,
        })
    }

    /// Returns the number of nodes on which a value stayed. A report that the lock is free concerns every value that
    /// the attempt has written; other reports concern only the keys that certainly belong to the lock.
    fn stayed_on(&self, left: &LeftoverValue) -> usize {
        let keys = (self.lock_keys.get(&left.lock)).map_or(&[][..], Vec::as_slice);
        left.nodes((left.reported != ReportedState::Free).then_some(keys))
    }
}
