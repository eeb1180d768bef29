//! Claims about a hold: that its lease is renewed, that the client lost the lock, and that it held the lock until now
//! or no longer held it.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::check::claims::continuity::{Course, Reports};
use crate::check::claims::promised_renewal::{MissedRenewal, missed_renewal};
use crate::check::claims::untrue_answers::{gone_ns, is_denied, refused_ns};
use crate::check::finding::Claim;
use crate::check::inconclusive::InconclusiveReason;
use crate::check::stalls::disturbances::Disturbances;
use crate::history::{EventKind, KeyName};
use crate::key_history::{KeyHistory, NodesUsed, ValueSpan};
use crate::timeline::{Hold, Timeline, ms_from_ns};

/// The state of a run by which holds are judged.
pub(in crate::check) struct HoldJudge<'a> {
    pub(in crate::check) nodes_used: &'a NodesUsed,
    /// The keys that all grants of a lock have written, by lock.
    pub(in crate::check) lock_keys: &'a BTreeMap<u32, Vec<KeyName>>,
    /// The attempts whose release reported success after the end of the requested lease, counted from the grant.
    pub(in crate::check) released_late: &'a HashSet<u64>,
    /// When a release reported that the lock was no longer its client's, by attempt.
    pub(in crate::check) denied_ns: &'a HashMap<u64, u64>,
}

/// An untrue claim about a hold.
pub(in crate::check) struct UntrueClaim {
    pub(in crate::check) at_ns: u64,
    pub(in crate::check) about: Claim,
    pub(in crate::check) op: u64,
    /// The observation.
    pub(in crate::check) statement: String,
}

impl HoldJudge<'_> {
    /// Returns the untrue claims about all holds, hold by hold, and why a claim may be untrue that is not among them.
    pub(in crate::check) fn judge(
        &self,
        timeline: &Timeline<'_>,
    ) -> (Vec<UntrueClaim>, Option<InconclusiveReason>) {
        let history = timeline.history();
        let refused: HashSet<u64> = (history.events.iter())
            .filter_map(|event| match event.what {
                EventKind::ExtendRefused { op, .. } => Some(op),
                _ => None,
            })
            .collect();
        let key_history = KeyHistory::from_history(history);
        let reports = Reports::from_history(history);
        let mut values: HashMap<(usize, u64), Vec<&ValueSpan>> = HashMap::new();
        for span in &key_history.spans {
            if let Some(by) = &span.author {
                values.entry((by.worker, by.op)).or_default().push(span);
            }
        }
        let disturbances = Disturbances::new(timeline);
        let (mut found, mut doubt) = (Vec::new(), None);
        for hold in timeline.holds() {
            let course = Course {
                timeline,
                own: (values.get(&(hold.worker, hold.op))).map_or(&[][..], Vec::as_slice),
                hold,
                quorum: self.nodes_used.quorum(hold.lock),
                keys: (self.lock_keys.get(&hold.lock)).map_or(&[][..], Vec::as_slice),
            };
            let mut claims = course.false_claims(&reports);
            if let Some(missed) = missed_renewal(timeline, course.own, hold, course.quorum) {
                match missed.doubt(hold.worker) {
                    None => claims.push(expired(&missed, hold)),
                    delayed => doubt = doubt.or(delayed),
                }
            }
            if refused.contains(&hold.op) {
                claims.extend(refused_extension(&course));
            }
            if self.released_late.contains(&hold.op) {
                claims.extend(late_release(&course));
            }
            if let Some(answered_ns) = self.denied_ns.get(&hold.op) {
                claims.extend(denied_release(&course, &disturbances, *answered_ns));
            }
            found.extend(
                claims
                    .into_iter()
                    .map(|(at_ns, about, statement)| UntrueClaim {
                        at_ns,
                        about,
                        op: hold.op,
                        statement,
                    }),
            );
        }
        (found, doubt)
    }
}

/// The time of an untrue claim, its subject, and the observation.
type DatedClaim = (u64, Claim, String);

/// Returns the claim of a lock that promises renewal, and whose key expired during the hold.
fn expired(missed: &MissedRenewal, hold: &Hold) -> DatedClaim {
    let statement = format!(
        "client {}'s key expired while it held the lock, although the lock promises to renew it",
        hold.worker
    );
    (missed.at_ns, Claim::Renewal, statement)
}

/// Returns the claim of a refused extension, if nothing prevented the extension.
fn refused_extension(course: &Course<'_, '_>) -> Option<DatedClaim> {
    let at_ns = refused_ns(course.timeline, course.own, course.hold, course.quorum)?;
    let statement = format!(
        "client {} was refused an extension, although its value still existed with time left",
        course.hold.worker
    );
    Some((at_ns, Claim::Extension, statement))
}

/// Returns the claim of a successful release, if the value had gone before.
fn late_release(course: &Course<'_, '_>) -> Option<DatedClaim> {
    let (at_ns, before_ns) = gone_ns(course.timeline, course.own, course.hold, course.quorum)?;
    let statement = format!(
        "client {} reported a successful release, but its value had disappeared {} ms before the release",
        course.hold.worker,
        ms_from_ns(before_ns)
    );
    Some((at_ns, Claim::Release, statement))
}

/// Returns the claim of a release that the lock was no longer its client's, if the release had removed its value.
fn denied_release(
    course: &Course<'_, '_>,
    disturbances: &Disturbances,
    answered_ns: u64,
) -> Option<DatedClaim> {
    let answer = (course.quorum, answered_ns);
    let statement = || {
        format!(
            "client {} reported that the lock was no longer its own, but this release had removed its value",
            course.hold.worker
        )
    };
    is_denied(disturbances, course.own, course.hold, answer)
        .then(|| (answered_ns, Claim::Release, statement()))
}
