//! Judgements without the violations that only the machine explains: stalls, and renewals that it delayed.

use picklock_scenarios::Property;

use crate::check::causes::evidence::Evidence;
use crate::check::finding::{ForeignTaking, Judgement, Observation};
use crate::check::inconclusive::InconclusiveReason;
use crate::check::properties::exclusion::judge_holds;
use crate::check::properties::lease::judge_leases;
use crate::check::stalls::stall_correction::StallCorrection;
use crate::timeline::Hold;

impl Evidence<'_> {
    /// Removes the violations that rest on a stall from a judgement. If other violations remain, the first of them is
    /// the finding; otherwise the property is `Unknown`.
    pub fn correct_for_stalls(&self, property: Property, judgement: Judgement) -> Judgement {
        let judgement = match property {
            // Two leases that overlap do so on the servers, whether a client outlived its lease or not.
            Property::Lease => judgement,
            _ => self.correct_for_renewals(judgement),
        };
        let (Judgement::Violated { first, .. }, Some(correction)) =
            (&judgement, self.stall_correction())
        else {
            return judgement;
        };
        let stalled_ops = match &first.observation {
            Observation::ForeignTaking(taking) => {
                return self.correct_releases(judgement.clone(), taking, correction);
            }
            // The correction does not undo sales. It only decides whether two sellers overlapped.
            Observation::WrongStock(stock) => {
                let sellers = self.sellers(stock, first.at_ns);
                let stalled = sellers.filter(|sellers| !sellers.overlap_without_stalls);
                stalled.map(|sellers| vec![sellers.pair.0.op, sellers.pair.1.op])
            }
            // The overlap of two jobs of one tick. Another overlap of the run says nothing about the tick.
            Observation::Overlap { holders, later } if property == Property::Once => {
                let mut pairs = holders.iter().filter_map(|op| self.pair(*op, *later));
                let remains = pairs.any(|(one, other)| correction.overlap(one, other));
                (!remains).then(|| holders.iter().chain([later]).copied().collect())
            }
            Observation::Overlap { holders, later } => {
                let capacity = self.history.header.capacity;
                let holds = correction.holds(self.timeline.holds());
                // The correction may make a hold begin earlier, so that it overlaps other holds only because of the
                // correction. The history does not show such an overlap, so it does not count.
                let overlapped = |one: &Hold, other: &Hold| {
                    let recorded = self.hold(one.op).zip(self.hold(other.op));
                    recorded.is_some_and(|(one, other)| one.overlaps(other))
                };
                let corrected = match property {
                    Property::Lease => judge_leases(&holds, capacity, &overlapped),
                    _ => judge_holds(&holds, capacity, &overlapped),
                };
                match corrected {
                    Judgement::Violated { .. } => return corrected,
                    _ => Some(holders.iter().chain([later]).copied().collect()),
                }
            }
            _ => None,
        };
        let reason = stalled_ops.and_then(|ops: Vec<u64>| correction.reason(&ops, self.history));
        reason.map_or(judgement, Judgement::Unknown)
    }

    /// Returns `Unknown` instead of a violation in which a client outlived its lease, if perhaps only the machine kept
    /// the lock from renewing the lease or from reporting its end.
    fn correct_for_renewals(&self, judgement: Judgement) -> Judgement {
        let Judgement::Violated { first, .. } = &judgement else {
            return judgement;
        };
        let pairs = match &first.observation {
            Observation::Overlap { holders, later } => {
                holders.iter().map(|op| (*op, *later)).collect()
            }
            Observation::WrongStock(stock) => {
                let sellers = self.sellers(stock, first.at_ns);
                sellers.map_or(Vec::new(), |sellers| {
                    vec![(sellers.pair.0.op, sellers.pair.1.op)]
                })
            }
            _ => return judgement,
        };
        let doubt = pairs.iter().find_map(|(op, later)| {
            let hold = self.hold(*op)?;
            let missed = self.missed_renewal(hold);
            let missed = missed.filter(|missed| missed.at_ns <= first.at_ns);
            missed
                .and_then(|missed| missed.doubt(hold.worker))
                .or_else(|| self.doubt_about_report((*op, *later), first.at_ns))
        });
        doubt.map_or(judgement, Judgement::Unknown)
    }

    /// Returns why it is unknown whose fault the overlap of two holds is: the lock did not report the end of the lease,
    /// and only the machine excuses that.
    fn doubt_about_report(
        &self,
        (op, later): (u64, u64),
        at_ns: u64,
    ) -> Option<InconclusiveReason> {
        let pair = self.pair(op, later)?;
        let overlap = self.overlap(pair, at_ns);
        let delayed_ms = overlap
            .report_delay_ms
            .filter(|_| overlap.is_only_outlived())?;
        let worker = overlap.first.worker;
        Some(InconclusiveReason::RenewalDelayed { worker, delayed_ms })
    }

    /// Removes releases of another client's lock that a stall may have delayed from a judgement. If the client or the
    /// server had not stalled, such a release might have arrived in time.
    fn correct_releases(
        &self,
        judgement: Judgement,
        first: &ForeignTaking,
        correction: &StallCorrection,
    ) -> Judgement {
        let stall_reason = |taking: &ForeignTaking| {
            let worker = self.worker_of(taking.taker)?;
            let hold = self.hold(taking.taker);
            let since_ns = hold.map_or(taking.sent_ns, |hold| hold.acquire_ns);
            correction.stall(worker, (since_ns, taking.took_effect_ns))
        };
        let Some(reason) = stall_reason(first) else {
            return judgement;
        };
        let in_time = (self.foreign_takings().iter())
            .filter(|taking| stall_reason(taking).is_none())
            .map(|taking| (taking.took_effect_ns, Observation::ForeignTaking(*taking)));
        match Judgement::from_observations(in_time.collect()) {
            Judgement::Held => Judgement::Unknown(reason),
            corrected => corrected,
        }
    }
}
