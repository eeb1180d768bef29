//! The evidence for causes and stories, from a second reading of the history.
//!
//! Only violations are explained, so each part is computed on first use, and only once.

use std::cell::OnceCell;
use std::collections::HashMap;

use picklock_scenarios::Phase;

use crate::check::causes::cause::cause;
use crate::check::causes::ending_command::{is_same_token, took_again};
use crate::check::causes::facts::{Facts, OutsideFault, Overlap, ResolvedObservation, Taken};
use crate::check::causes::phantom_leader::phantom_ns;
use crate::check::causes::unbacked_grant::is_unwritten;
use crate::check::claims::promised_renewal::{
    MissedRenewal, late_extension_ns, missed_renewal, unreported_loss,
};
use crate::check::finding::{Finding, ForeignTaking, Observation, StaleToken, Taking, WrongStock};
use crate::check::properties::ownership::foreign_takings;
use crate::check::sales::{OutdatedSale, outdated_sales};
use crate::check::stalls::reply_delays::ReplyDelays;
use crate::check::stalls::stall_correction::StallCorrection;
use crate::check::verdict::Cause;
use crate::history::{Event, EventKind, History, KeyCommand};
use crate::key_history::{KeyHistory, ValueSpan};
use crate::timeline::{Hold, Lease, Timeline, overlap};

/// The evidence for an explanation.
#[derive(Debug)]
pub(in crate::check) struct Evidence<'a> {
    pub history: &'a History,
    pub timeline: Timeline<'a>,
    stall_correction: OnceCell<Option<StallCorrection>>,
    foreign_takings: OnceCell<Vec<ForeignTaking>>,
    /// Index of each attempt's hold in the list of holds.
    hold_indices: OnceCell<HashMap<u64, usize>>,
    key_history: OnceCell<KeyHistory>,
}

impl<'a> Evidence<'a> {
    pub fn new(history: &'a History) -> Self {
        Evidence {
            history,
            timeline: Timeline::new(history),
            stall_correction: OnceCell::new(),
            foreign_takings: OnceCell::new(),
            hold_indices: OnceCell::new(),
            key_history: OnceCell::new(),
        }
    }

    /// Returns the holds as they would have been without stalls, or `None` if nothing stalled.
    pub fn stall_correction(&self) -> Option<&StallCorrection> {
        let correction =
            (self.stall_correction).get_or_init(|| StallCorrection::new(&self.timeline));
        correction.as_ref()
    }

    /// Returns how this holder lost its key, although its lock promises renewal.
    pub(super) fn missed_renewal(&self, hold: &Hold) -> Option<MissedRenewal> {
        let is_own = |span: &&ValueSpan| span.is_of(hold.worker, hold.op);
        let own: Vec<&ValueSpan> = self.spans().iter().filter(is_own).collect();
        let key_history = self.key_history();
        let quorum = key_history.map_or(1, |lock| lock.nodes.quorum(hold.lock));
        missed_renewal(&self.timeline, &own, hold, quorum)
    }

    /// Returns the facts behind a finding. If several clients held the lock when another client got it, the facts are
    /// about the first holder for which a cause can be decided.
    pub fn facts<'e>(&'e self, finding: &'e Finding) -> Facts<'e> {
        if let Observation::Overlap { holders, .. } = &finding.observation
            && holders.len() > 1
        {
            let explains = |op: &&u64| {
                let cause = cause(&self.facts_about(finding, Some(**op)));
                !matches!(
                    cause,
                    Cause::Undetermined | Cause::NotExclusive | Cause::TornRead | Cause::Race
                )
            };
            let deciding = holders.iter().find(explains).or(holders.first());
            return self.facts_about(finding, deciding.copied());
        }
        self.facts_about(finding, None)
    }

    /// Returns the facts about a finding. If several clients held the lock when another client got it, the facts are
    /// about the holder with the attempt `deciding`.
    fn facts_about<'e>(&'e self, finding: &'e Finding, deciding: Option<u64>) -> Facts<'e> {
        let at_ns = finding.at_ns;
        let holds_of = |ops: &[u64]| ops.iter().filter_map(|op| self.hold(*op)).collect();
        let about = match &finding.observation {
            Observation::Overlap { holders, later } => {
                let deciding = deciding.or(holders.first().copied());
                let overlap = self.overlap_of(deciding, (holders, *later), at_ns);
                overlap.map_or(ResolvedObservation::Nothing, ResolvedObservation::Overlap)
            }
            Observation::WrongStock(stock) => {
                let sellers = self
                    .sellers(stock, at_ns)
                    .filter(|sellers| sellers.overlap_without_stalls);
                let mut outdated = outdated_sales(self.history, stock.lock, u64::MAX);
                ResolvedObservation::WrongStock {
                    stock,
                    sellers: sellers.map(|sellers| self.overlap(sellers.pair, at_ns)),
                    outside: self.outside_fault(stock, at_ns),
                    is_interleaved: outdated.next().is_some(),
                }
            }
            Observation::ForeignTaking(taking) => {
                ResolvedObservation::ForeignTaking(self.taken(taking))
            }
            Observation::StaleToken(stale) => ResolvedObservation::StaleToken {
                stale,
                hold: self.hold(stale.op),
                before: self.hold_before(stale, at_ns),
            },
            Observation::Starvation(starvation) => {
                let mut holds = self.timeline.holds().iter();
                let last = holds.rfind(|hold| {
                    hold.lock == starvation.lock && hold.begin_ns <= starvation.from_ns
                });
                ResolvedObservation::Starvation { starvation, last }
            }
            Observation::ClientDeath(death) => ResolvedObservation::ClientDeath(death),
            Observation::Deadlock(deadlock) => ResolvedObservation::Deadlock(deadlock),
            Observation::FalseClaim(claim) => ResolvedObservation::Attempts {
                claim: Some(claim.about),
                ops: &claim.ops,
                holds: holds_of(&claim.ops),
                statement: &claim.statement,
            },
            Observation::Attempts { ops, statement } => ResolvedObservation::Attempts {
                claim: None,
                ops,
                holds: holds_of(ops),
                statement,
            },
        };
        let lock = match &about {
            ResolvedObservation::Overlap(holds) => holds.first.lock,
            ResolvedObservation::WrongStock { stock, .. } => stock.lock,
            ResolvedObservation::Starvation { starvation, .. } => starvation.lock,
            _ => 0,
        };
        let header = &self.history.header;
        Facts {
            history: self.history,
            holds: self.timeline.holds(),
            faults: self.timeline.faults(),
            key_history: self.key_history(),
            at_ns,
            lock: header.named(lock, "the lock"),
            stock: header.named(lock, "the stock"),
            about,
        }
    }

    /// Returns the facts about two overlapping holds: the hold of the attempt `deciding`, which is one of `holders`,
    /// and the hold of `later`, which began at `at_ns`.
    fn overlap_of(
        &self,
        deciding: Option<u64>,
        (holders, later): (&[u64], u64),
        at_ns: u64,
    ) -> Option<Overlap<'_>> {
        let pair = self.pair(deciding?, later)?;
        let others = holders.iter().filter(|op| Some(**op) != deciding);
        Some(Overlap {
            others: others.filter_map(|op| self.hold(*op)).collect(),
            ..self.overlap(pair, at_ns)
        })
    }

    /// Returns the facts about two holds that overlap at `at_ns`. Events after that time are ignored.
    pub(super) fn overlap<'e>(
        &'e self,
        (first, second): (&'e Hold, &'e Hold),
        at_ns: u64,
    ) -> Overlap<'e> {
        let faults = self.timeline.faults();
        let shared_since_ns = Lease::shared_since_ns(&first.leases, &second.leases);
        let shared = shared_since_ns.is_some_and(|since_ns| since_ns <= at_ns);
        let are_over = |leases: &[Lease]| {
            let meets = |lease: &Lease| overlap(lease.span(), second.span());
            !shared && !leases.iter().any(meets)
        };
        let is_own = |span: &&ValueSpan| span.is_of(first.worker, first.op);
        let own: Vec<&ValueSpan> = self.spans().iter().filter(is_own).collect();
        let missed = self.missed_renewal(first);
        let lost = missed.filter(|missed| missed.delayed_ms.is_none());
        // A lock that confirmed an extension after the loss was not silent. If the leases overlap only because of that
        // extension, the extension is the cause.
        let is_confirmed_since =
            |lost_ns: u64| shared && first.leases.iter().any(|lease| lease.from_ns >= lost_ns);
        let second_arrived_late = second.arrived_late(faults);
        let releases = self.foreign_takings().iter();
        let between = releases.clone().filter(|taking| {
            let between_ns = first.begin_ns + 1..second.begin_ns;
            taking.lock == first.lock && between_ns.contains(&taking.took_effect_ns)
        });
        // The first client stays inside because it prolongs a value that belongs to the second client by then.
        let prolonged = releases.filter(|taking| {
            taking.how == Taking::Prolonged
                && taking.took_effect_ns >= second.begin_ns
                && (taking.taker, taking.owner) == (first.op, second.op)
        });
        let taken = between.chain(prolonged.take(1));
        let is_outlived = are_over(&first.possible_leases);
        let unreported = is_outlived
            .then(|| unreported_loss(&self.timeline, first, second.begin_ns))
            .flatten();
        Overlap {
            first,
            second,
            others: Vec::new(),
            has_expired_grant: !shared && (second_arrived_late || first.arrived_late(faults)),
            second_arrived_late,
            is_outlived,
            is_perhaps_outlived: are_over(&first.leases),
            late_loss_report: self.late_loss_report(first, second),
            late_extension_ns: late_extension_ns(&self.timeline, self.spans(), first),
            is_silent_loss: lost.is_some_and(|lost| {
                lost.at_ns <= second.begin_ns && !is_confirmed_since(lost.at_ns)
            }) || unreported
                .is_some_and(|unreported| unreported.delayed_ms.is_none()),
            report_delay_ms: unreported.and_then(|unreported| unreported.delayed_ms),
            unbacked: self.unbacked([first, second]),
            phantom_ns: phantom_ns(self.history, &own, first, second),
            taken: taken.map(|taking| self.taken(taking)).collect(),
        }
    }

    /// Returns `true` if the lock reported the loss to the first client only when the second client was inside. Returns
    /// `false` if the first client was frozen, because a frozen client receives no report.
    fn late_loss_report(&self, first: &Hold, second: &Hold) -> bool {
        let is_lost =
            |event: &&Event| matches!(event.what, EventKind::Lost { op, .. } if op == first.op);
        let Some(lost) = self.history.events.iter().find(is_lost) else {
            return false;
        };
        let since_ns = first.earliest_deadline_ns.min(second.begin_ns);
        let frozen = self.timeline.frozen().get(&first.worker);
        let mut frozen = frozen.into_iter().flatten();
        let was_frozen =
            frozen.any(|(from_ns, until_ns)| *from_ns <= lost.at_ns && *until_ns >= since_ns);
        lost.at_ns > second.begin_ns && !was_frozen
    }

    fn taken<'e>(&'e self, taking: &'e ForeignTaking) -> Taken<'e> {
        let by = self.taken_by(taking);
        let is_same = |(by, span)| is_same_token(self.spans(), self.timeline.holds(), by, span);
        Taken {
            taking,
            taker: self.worker_of(taking.taker),
            owner: self.worker_of(taking.owner),
            taker_hold: self.hold(taking.taker),
            owner_hold: self.hold(taking.owner),
            by,
            is_extension: self.is_extension(taking),
            is_same_token: by.is_some_and(is_same),
        }
    }

    /// Returns the overlapping holds in which the stock was sold twice, because one client changed the stock between
    /// the other client's reading and its change.
    ///
    /// If the stock is below zero, the change that made it negative did the damage; otherwise the first such change
    /// did. Holds that overlap even without stalls are preferred.
    pub fn sellers(&self, stock: &WrongStock, at_ns: u64) -> Option<Sellers<'_>> {
        let mut sellers = (self.damaging_sales(stock, at_ns))
            .filter_map(|outdated| self.pair(outdated.missed.op, outdated.sale.op))
            .filter(|(first, second)| first.overlaps(second))
            .map(|pair| Sellers {
                pair,
                overlap_without_stalls: (self.stall_correction())
                    .is_none_or(|correction| correction.overlap(pair.0, pair.1)),
            });
        let first = sellers.next()?;
        if first.overlap_without_stalls {
            return Some(first);
        }
        sellers
            .find(|sellers| sellers.overlap_without_stalls)
            .or(Some(first))
    }

    /// Returns the outdated sales that damaged the stock.
    fn damaging_sales(&self, stock: &WrongStock, at_ns: u64) -> impl Iterator<Item = OutdatedSale> {
        let seller = stock.op.filter(|_| stock.left < 0);
        let outdated = outdated_sales(self.history, stock.lock, at_ns);
        outdated.filter(move |outdated| seller.is_none_or(|seller| seller == outdated.sale.op))
    }

    /// Returns the fault outside the lock that damaged a stock, if there was one.
    fn outside_fault(&self, stock: &WrongStock, at_ns: u64) -> Option<OutsideFault<'_>> {
        let begin_ns = |op| self.hold(op).map(|hold| hold.begin_ns);
        self.damaging_sales(stock, at_ns).find_map(|outdated| {
            let (fault, [op, other]) = outdated.outside_fault(begin_ns)?;
            let holds = [self.hold(op)?, self.hold(other)?];
            Some(OutsideFault { fault, holds })
        })
    }

    /// Returns the hold of an attempt. If two holds have the same number, the first one counts.
    pub fn hold(&self, op: u64) -> Option<&Hold> {
        let holds = self.timeline.holds();
        let indices = self.hold_indices.get_or_init(|| {
            let last_first = holds.iter().enumerate().rev();
            last_first.map(|(index, hold)| (hold.op, index)).collect()
        });
        holds.get(*indices.get(&op)?)
    }

    /// Returns the worker of an attempt, whether or not it was granted.
    pub fn worker_of(&self, attempt: u64) -> Option<usize> {
        let mut events = self.history.events.iter();
        events.find_map(|event| match event.what {
            EventKind::Acquire { worker, op, .. } if op == attempt => Some(worker),
            _ => None,
        })
    }

    /// Returns the holds of two attempts, in the order in which they began.
    pub(super) fn pair(&self, op: u64, other_op: u64) -> Option<(&Hold, &Hold)> {
        let (one, other) = (self.hold(op)?, self.hold(other_op)?);
        let is_in_order = one.begin_ns <= other.begin_ns;
        Some(if is_in_order {
            (one, other)
        } else {
            (other, one)
        })
    }

    /// Returns all releases that succeeded on another client's lock.
    pub fn foreign_takings(&self) -> &[ForeignTaking] {
        self.foreign_takings
            .get_or_init(|| foreign_takings(&self.timeline))
    }

    /// Returns `true` if the command replaced the value in order to renew the sender's own lease.
    ///
    /// A command of a release may also write a mark that the lock is free. A renewal that arrives during the release
    /// writes the value with which the attempt had taken the lock.
    fn is_extension(&self, taking: &ForeignTaking) -> bool {
        let spans = self.spans();
        let by = spans.iter().find_map(|span| {
            let by = (span.author.as_ref()).filter(|_| span.from_ns == taking.took_effect_ns);
            by.filter(|by| (by.op, by.phase) == (taking.taker, Phase::Release))
        });
        taking.how == Taking::Replaced
            && by.is_none_or(|by| took_again(spans, by, taking.took_effect_ns))
    }

    /// Returns the command that took or prolonged a value, and the value, or `None` if the key history does not show
    /// it.
    fn taken_by(&self, taking: &ForeignTaking) -> Option<(&KeyCommand, &ValueSpan)> {
        let taker = (taking.took_effect_ns, taking.taker);
        self.key_history()?.spans.iter().find_map(|span| {
            span.author.as_ref().filter(|by| by.op == taking.owner)?;
            let renewals = (span.renewals.iter()).map(|renewal| (renewal.at_ns, &renewal.by));
            let ended = span.end.by().map(|by| (span.until_ns, by));
            let mut commands = ended.into_iter().chain(renewals);
            let (_, by) = commands.find(|(at_ns, by)| (*at_ns, by.op) == taker)?;
            Some((by, span))
        })
    }

    /// Returns the cause if one of two holds was granted without any value on the servers.
    fn unbacked(&self, holds: [&Hold; 2]) -> Option<Cause> {
        let spans = &self.key_history()?.spans;
        holds.into_iter().find_map(|hold| {
            let doubts = self.doubts_before(hold);
            if !is_unwritten(spans, hold, &doubts) {
                return None;
            }
            let of_doubt = |span: &&ValueSpan| doubts.iter().any(|op| span.is_of(hold.worker, *op));
            let delays = ReplyDelays::from_history(self.history);
            let is_late_reply = spans
                .iter()
                .filter(of_doubt)
                .any(|span| delays.can_bridge(hold.worker, span.from_ns, hold.acquire_ns));
            Some(if is_late_reply {
                Cause::StaleReply
            } else {
                Cause::UnbackedGrant
            })
        })
    }

    /// Returns the attempts of this hold's client since its last definite answer before, all of which ended without
    /// one.
    fn doubts_before(&self, hold: &Hold) -> Vec<u64> {
        let is_later = |event: &&Event| event.what.attempt() != Some((hold.worker, hold.op));
        let before = self.history.events.iter().rev().skip_while(is_later);
        // `None` stands for a definite answer.
        let answers = before.filter_map(|event| match event.what {
            EventKind::AcquireFailed {
                worker,
                op,
                definite,
                ..
            } if worker == hold.worker => Some((!definite).then_some(op)),
            EventKind::Granted { worker, op, .. } | EventKind::Refused { worker, op }
                if worker == hold.worker && op != hold.op =>
            {
                Some(None)
            }
            _ => None,
        });
        answers.map_while(|doubt| doubt).collect()
    }

    /// Returns the key history, or `None` if the history has none.
    pub(in crate::check) fn key_history(&self) -> Option<&KeyHistory> {
        let has_key_history = self.history.header.key_history;
        has_key_history.then(|| {
            self.key_history
                .get_or_init(|| KeyHistory::from_history(self.history))
        })
    }

    fn spans(&self) -> &[ValueSpan] {
        (self.key_history()).map_or(&[][..], |key_history| &key_history.spans)
    }

    /// Returns the earlier hold with the higher token that makes a token stale.
    fn hold_before(&self, stale: &StaleToken, at_ns: u64) -> Option<&Hold> {
        let key = self.hold(stale.op)?.lock;
        self.timeline.holds().iter().rfind(|hold| {
            hold.begin_ns <= at_ns
                && hold.op != stale.op
                && hold.lock == key
                && hold.fence == Some(stale.highest)
        })
    }
}

/// Two overlapping holds in which a stock was sold twice, in the order in which they began.
#[derive(Debug, Clone, Copy)]
pub(in crate::check) struct Sellers<'a> {
    pub pair: (&'a Hold, &'a Hold),
    /// Whether the holds would have overlapped without stalls.
    pub overlap_without_stalls: bool,
}
