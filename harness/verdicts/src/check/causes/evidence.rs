//! What causes and stories are drawn from: the history, read a second time.
//!
//! Only a violation is explained, so each part is computed when it is first asked for, and once.
//! Causes that need more than the history get it from here, too.

use std::cell::OnceCell;
use std::collections::HashMap;

use picklock_scenarios::{Phase, Property};

use crate::check::causes::facts::{Facts, Found, Outside, Overlap, Taken};
use crate::check::causes::lost_ownership::{is_same_token, took_again};
use crate::check::claims::promised_renewal::{late_extension_ns, ran_out_ns};
use crate::check::finding::{
    Finding, ForeignRelease, Judgement, Seen, StaleToken, Taking, WrongStock,
};
use crate::check::properties::exclusion::judge_holds;
use crate::check::properties::lease::judge_leases;
use crate::check::properties::ownership::foreign_releases;
use crate::check::sales::{Overtaken, overtaken};
use crate::check::stalls::stall_correction::StallCorrection;
use crate::history::{Event, EventKind, History, KeyCommand};
use crate::key_history::{KeyHistory, ValueSpan};
use crate::timeline::{Hold, Lease, Timeline, overlap};

/// What a violation is explained from.
#[derive(Debug)]
pub(in crate::check) struct Evidence<'a> {
    pub history: &'a History,
    /// Its holds and faults.
    pub timeline: Timeline<'a>,
    /// The holds, had the harness been on time. `None`: it was.
    pub stall_correction: Option<StallCorrection>,
    foreign_releases: OnceCell<Vec<ForeignRelease>>,
    /// Where the hold of each attempt is in the list.
    places: OnceCell<HashMap<u64, usize>>,
    account: OnceCell<KeyHistory>,
}

impl<'a> Evidence<'a> {
    pub fn new(history: &'a History) -> Self {
        Evidence {
            history,
            timeline: Timeline::new(history),
            stall_correction: StallCorrection::from_history(history),
            foreign_releases: OnceCell::new(),
            places: OnceCell::new(),
            account: OnceCell::new(),
        }
    }

    /// A violation, unless it would not be there, had the harness been on time. If another one would, that is the
    /// finding.
    pub fn judged_on_time(&self, property: Property, judgement: Judgement) -> Judgement {
        let (Judgement::Violated { first, .. }, Some(stall_correction)) =
            (&judgement, &self.stall_correction)
        else {
            return judgement;
        };
        let late = match first.seen {
            Seen::ForeignRelease(first) => {
                return self.released_on_time(judgement, &first, stall_correction);
            }
            // What was sold remains sold. Whether two sellers overlapped is the question.
            Seen::WrongStock(stock) => {
                let sellers = self.sellers(&stock, first.at_ns);
                let late = sellers.filter(|sellers| !sellers.stall_correction);
                late.map(|late| [late.pair.0.op, late.pair.1.op])
            }
            Seen::Overlap { earlier, later } => {
                let holds = stall_correction.holds(self.timeline.holds());
                // What would have come earlier may meet others then. Nobody saw that.
                let met = |one: &Hold, other: &Hold| {
                    let seen = self.hold(one.op).zip(self.hold(other.op));
                    seen.is_some_and(|(one, other)| one.overlaps(other))
                };
                let again = match property {
                    Property::Lease => judge_leases(&holds, &met),
                    _ => judge_holds(&holds, &met),
                };
                match again {
                    Judgement::Violated { .. } => return again,
                    _ => Some([earlier, later]),
                }
            }
            _ => None,
        };
        let excuse = late.and_then(|ops| stall_correction.reason(ops, self.history));
        excuse.map_or(judgement, Judgement::Unknown)
    }

    /// A release of another client's lock, unless its client or a server stood still before it struck: without that it
    /// might have come in time. If another one shows that nobody stood still before, that is the finding.
    fn released_on_time(
        &self,
        judgement: Judgement,
        first: &ForeignRelease,
        stall_correction: &StallCorrection,
    ) -> Judgement {
        let late = |release: &ForeignRelease| {
            let worker = self.worker_of(release.releaser)?;
            let hold = self.hold(release.releaser);
            let since_ns = hold.map_or(release.sent_ns, |hold| hold.acquire_ns);
            stall_correction.stall(worker, (since_ns, release.fired_at_ns))
        };
        let Some(reason) = late(first) else {
            return judgement;
        };
        let releases = self.foreign_releases().iter();
        let in_time = releases.filter(|release| late(release).is_none());
        let in_time = in_time.map(|release| (release.fired_at_ns, Seen::ForeignRelease(*release)));
        match Judgement::of(in_time.collect()) {
            Judgement::Held => Judgement::Unknown(reason),
            again => again,
        }
    }

    /// A finding with what it names.
    pub fn facts<'e>(&'e self, finding: &'e Finding) -> Facts<'e> {
        let at_ns = finding.at_ns;
        let holds_of = |ops: &[u64]| ops.iter().filter_map(|op| self.hold(*op)).collect();
        let found = match &finding.seen {
            Seen::Overlap { earlier, later } => {
                let pair = self.pair(*earlier, *later);
                pair.map_or(Found::Nothing, |pair| Found::Overlap(self.overlap(pair)))
            }
            Seen::WrongStock(stock) => {
                let sellers = self
                    .sellers(stock, at_ns)
                    .filter(|sellers| sellers.stall_correction);
                Found::WrongStock {
                    stock,
                    sellers: sellers.map(|sellers| self.overlap(sellers.pair)),
                    outside: self.outside(stock, at_ns),
                    is_interleaved: overtaken(self.history, stock.key, u64::MAX)
                        .next()
                        .is_some(),
                }
            }
            Seen::ForeignRelease(release) => Found::ForeignRelease(self.taken(release)),
            Seen::StaleToken(stale) => Found::StaleToken {
                stale,
                hold: self.hold(stale.op),
                before: self.hold_before(stale, at_ns),
            },
            Seen::Starvation(starvation) => {
                let mut holds = self.timeline.holds().iter();
                let last = holds.rfind(|hold| {
                    hold.key == starvation.key && hold.begin_ns <= starvation.from_ns
                });
                Found::Starvation { starvation, last }
            }
            Seen::FalseClaim(claim) => Found::Attempts {
                claim: Some(claim.about),
                ops: &claim.ops,
                holds: holds_of(&claim.ops),
                statement: &claim.statement,
            },
            Seen::Attempts { ops, statement } => Found::Attempts {
                claim: None,
                ops,
                holds: holds_of(ops),
                statement,
            },
        };
        let key = match &found {
            Found::Overlap(holds) => holds.first.key,
            Found::WrongStock { stock, .. } => stock.key,
            Found::Starvation { starvation, .. } => starvation.key,
            _ => 0,
        };
        let header = &self.history.header;
        Facts {
            history: self.history,
            holds: self.timeline.holds(),
            faults: self.timeline.faults(),
            key_history: self.key_history(),
            at_ns,
            lock: header.named(key, "the lock"),
            stock: header.named(key, "the stock"),
            found,
        }
    }

    fn overlap<'e>(&'e self, (first, second): (&'e Hold, &'e Hold)) -> Overlap<'e> {
        let faults = self.timeline.faults();
        let shared = first.shares_lease_with(second);
        let over = |leases: &[Lease]| {
            let meets = |lease: &Lease| overlap(lease.span(), second.span());
            !shared && !leases.iter().any(meets)
        };
        let is_own = |span: &&ValueSpan| span.is_of(first.worker, first.op);
        let own: Vec<&ValueSpan> = self.spans().iter().filter(is_own).collect();
        let ran_out_ns = ran_out_ns(&self.timeline, &own, first);
        let second_arrived_late = second.arrived_late(faults);
        let releases = self.foreign_releases().iter();
        let between = releases.clone().filter(|release| {
            let between_ns = first.begin_ns + 1..second.begin_ns;
            release.key == first.key && between_ns.contains(&release.fired_at_ns)
        });
        // The first client stays in, because it prolongs what is the second one's by then.
        let prolonged = releases.filter(|release| {
            release.how == Taking::Prolonged
                && release.fired_at_ns >= second.begin_ns
                && (release.releaser, release.owner) == (first.op, second.op)
        });
        let taken = between.chain(prolonged.take(1));
        Overlap {
            first,
            second,
            has_expired_grant: !shared && (second_arrived_late || first.arrived_late(faults)),
            second_arrived_late,
            is_outlived: over(&first.possible_leases),
            is_perhaps_outlived: over(&first.leases),
            late_loss_report: self.late_loss_report(first, second),
            late_extension_ns: late_extension_ns(&self.timeline, self.spans(), first),
            ran_out_unrenewed: ran_out_ns.is_some_and(|at_ns| at_ns <= second.begin_ns),
            rests_on_earlier: self.rests_on_earlier(first, second),
            taken: taken.map(|release| self.taken(release)).collect(),
        }
    }

    /// True if the lock told the first client of its loss only when the second one was inside. A frozen client can
    /// be told nothing.
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

    fn taken<'e>(&'e self, release: &'e ForeignRelease) -> Taken<'e> {
        let taken = self.taken_by(release);
        let same = |(by, span)| is_same_token(self.spans(), self.timeline.holds(), by, span);
        Taken {
            release,
            taker: self.worker_of(release.releaser),
            owner: self.worker_of(release.owner),
            taker_hold: self.hold(release.releaser),
            owner_hold: self.hold(release.owner),
            by: taken,
            is_extension: self.is_extension(release),
            is_same_token: taken.is_some_and(same),
        }
    }

    /// The overlapping holds in which the stock was sold twice: one changed the stock between the other's reading
    /// and its change. Below zero, the change that took it there did the damage; else the first such change did. A
    /// pair that left each other's sales alone did none, even if the sum shows the damage only there. Holds that
    /// would have overlapped on a machine that is on time come first.
    pub fn sellers(&self, stock: &WrongStock, at_ns: u64) -> Option<Sellers<'_>> {
        let damaged = self.damaged(stock, at_ns);
        let pairs = damaged.filter_map(|sales| self.pair(sales.other.op, sales.by.op));
        let overlapping = pairs.filter(|(first, second)| first.overlaps(second));
        let mut sellers = overlapping.map(|pair| Sellers {
            pair,
            stall_correction: (self.stall_correction.as_ref())
                .is_none_or(|it| it.overlap(pair.0, pair.1)),
        });
        let first = sellers.next()?;
        if first.stall_correction {
            return Some(first);
        }
        sellers
            .find(|sellers| sellers.stall_correction)
            .or(Some(first))
    }

    /// The sales that did the damage, each with one that overtook its reading.
    fn damaged(&self, stock: &WrongStock, at_ns: u64) -> impl Iterator<Item = Overtaken> {
        let seller = stock.op.filter(|_| stock.left < 0);
        let damaged = overtaken(self.history, stock.key, at_ns);
        damaged.filter(move |sales| seller.is_none_or(|seller| seller == sales.by.op))
    }

    /// What spoilt a stock, whatever the lock did.
    fn outside(&self, stock: &WrongStock, at_ns: u64) -> Option<Outside<'_>> {
        let damaged = self.damaged(stock, at_ns);
        let begin_ns = |op| self.hold(op).map(|hold| hold.begin_ns);
        let mut acts = damaged.filter_map(|sales| sales.outside(begin_ns));
        acts.find_map(|(fault, [op, other])| {
            let holds = [self.hold(op)?, self.hold(other)?];
            Some(Outside { fault, holds })
        })
    }

    /// The hold of an attempt.
    pub fn hold(&self, op: u64) -> Option<&Hold> {
        let holds = self.timeline.holds();
        let places = self.places.get_or_init(|| {
            // Of two with one number the first counts.
            let places = holds.iter().enumerate().rev();
            places.map(|(place, hold)| (hold.op, place)).collect()
        });
        holds.get(*places.get(&op)?)
    }

    /// Whose an attempt was, whether or not it was granted.
    pub fn worker_of(&self, attempt: u64) -> Option<usize> {
        let mut events = self.history.events.iter();
        events.find_map(|event| match event.what {
            EventKind::Acquire { worker, op, .. } if op == attempt => Some(worker),
            _ => None,
        })
    }

    /// The holds of two attempts, in the order in which they began.
    fn pair(&self, one: u64, other: u64) -> Option<(&Hold, &Hold)> {
        let (one, other) = (self.hold(one)?, self.hold(other)?);
        Some(match one.begin_ns <= other.begin_ns {
            true => (one, other),
            false => (other, one),
        })
    }

    /// All releases that succeeded on another client's lock.
    pub fn foreign_releases(&self) -> &[ForeignRelease] {
        self.foreign_releases
            .get_or_init(|| foreign_releases(&self.timeline))
    }

    /// True if it put another value in the place of the one that it took away, and that was a renewal.
    /// A release may also write a mark that the lock is free; a renewal that comes as late as during the
    /// release writes what the attempt had taken the lock with.
    fn is_extension(&self, release: &ForeignRelease) -> bool {
        let spans = self.spans();
        let by = spans.iter().find_map(|span| {
            let by = (span.author.as_ref()).filter(|_| span.from_ns == release.fired_at_ns);
            by.filter(|by| (by.op, by.phase) == (release.releaser, Phase::Release))
        });
        release.how == Taking::Replaced
            && by.is_none_or(|by| took_again(spans, by, release.fired_at_ns))
    }

    /// The command that took a value away or kept it alive, and the value. `None`: the history has no account of it.
    fn taken_by(&self, release: &ForeignRelease) -> Option<(&KeyCommand, &ValueSpan)> {
        let struck = (release.fired_at_ns, release.releaser);
        self.key_history()?.spans.iter().find_map(|span| {
            span.author.as_ref().filter(|by| by.op == release.owner)?;
            let renewals = span.renewals.iter();
            let renewals = renewals.map(|renewal| (renewal.at_ns, &renewal.by));
            let ended = span.end.by().map(|by| (span.until_ns, by));
            let mut commands = ended.into_iter().chain(renewals);
            let (_, by) = commands.find(|(at_ns, by)| (*at_ns, by.op) == struck)?;
            Some((by, span))
        })
    }

    /// True if one of two holders has written nothing, while what its attempt before had written without a certain
    /// answer was there: its grant was the reply to that.
    fn rests_on_earlier(&self, one: &Hold, other: &Hold) -> bool {
        let spans = self.spans();
        [one, other].into_iter().any(|hold| {
            let wrote = |op: u64| spans.iter().any(|span| span.is_of(hold.worker, op));
            !wrote(hold.op) && self.doubt_before(hold).is_some_and(wrote)
        })
    }

    /// The attempt of the same client and lock before this one, if it ended without a certain answer.
    fn doubt_before(&self, hold: &Hold) -> Option<u64> {
        let before = self.history.events.iter().rev();
        let is_later = |event: &&Event| event.what.attempt() != Some((hold.worker, hold.op));
        let mut before = before.skip_while(is_later);
        let doubt = before.find_map(|event| match event.what {
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
        doubt.flatten()
    }

    /// The key history: all values of the servers' keys. `None`: the history has no account of them.
    pub(in crate::check) fn key_history(&self) -> Option<&KeyHistory> {
        let kept = self.history.header.key_history;
        kept.then(|| {
            self.account
                .get_or_init(|| KeyHistory::from_history(self.history))
        })
    }

    fn spans(&self) -> &[ValueSpan] {
        self.key_history().map_or(&[][..], |account| &account.spans)
    }

    /// The hold with the higher token that a stale token followed.
    fn hold_before(&self, stale: &StaleToken, at_ns: u64) -> Option<&Hold> {
        let key = self.hold(stale.op)?.key;
        self.timeline.holds().iter().rfind(|hold| {
            hold.begin_ns <= at_ns
                && hold.op != stale.op
                && hold.key == key
                && hold.fence == Some(stale.highest)
        })
    }
}

/// Two overlapping holds in which a stock was sold twice, in the order in which they began.
#[derive(Debug, Clone, Copy)]
pub(in crate::check) struct Sellers<'a> {
    pub pair: (&'a Hold, &'a Hold),
    /// They would have overlapped, had the machine been on time.
    pub stall_correction: bool,
}
