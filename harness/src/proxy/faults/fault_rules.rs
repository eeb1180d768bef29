//! What the imposed faults say about the frames of one direction of one connection.

use std::sync::Arc;
use std::time::Duration;

use picklock_scenarios::{Direction, ServerError};
use rand::RngExt;
use rand::rngs::StdRng;

use crate::model::is_greeting;
use crate::proxy::LinkId;
use crate::proxy::faults::fault::{Effect, ImposedId};
use crate::proxy::faults::imposed_faults::{Imposed, ImposedFaults};
use crate::proxy::faults::refused_command::refuses;
use crate::rng;

/// What happens to a frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is swallowed.
    Drop,
    /// Something before it was swallowed, so it cannot arrive: its connection is reset.
    Reset,
    /// It goes on, under these terms.
    Pass(Terms),
}

/// When a frame may go on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    /// At least so long after it came.
    pub(crate) delay: Duration,
    /// Not while one of these is in force.
    pub(crate) holds: Vec<ImposedId>,
    /// The command is answered with this error, or its reply becomes this one.
    pub(crate) answer: Option<ServerError>,
}

/// The faults that match one direction of one connection. They are looked up again only when the
/// table of faults has changed.
pub(crate) struct FaultRules {
    table: Arc<ImposedFaults>,
    link: LinkId,
    conn: u64,
    direction: Option<Direction>,
    /// The version of the table that `matching` is from; `None` before the first look.
    version: Option<u64>,
    matching: Vec<Arc<Imposed>>,
    /// Something was swallowed: nothing that comes later may arrive.
    has_hole: bool,
    seed: u64,
    /// Made for the first frame that needs it: most connections never do.
    jitter: Option<StdRng>,
}

impl ImposedFaults {
    /// The rules of one direction of one connection. `direction`: `None` for both. `seed`: what
    /// jitter is drawn from.
    pub(crate) fn rules(
        self: &Arc<Self>,
        link: LinkId,
        conn: u64,
        direction: Option<Direction>,
        seed: u64,
    ) -> FaultRules {
        FaultRules {
            table: Arc::clone(self),
            link,
            conn,
            direction,
            version: None,
            matching: Vec::new(),
            has_hole: false,
            seed,
            jitter: None,
        }
    }
}

impl FaultRules {
    fn refresh(&mut self) {
        if self.version == Some(self.table.version()) {
            return;
        }
        let (version, matching) = self.table.matching(self.link, self.conn, self.direction);
        self.version = Some(version);
        self.matching = matching;
    }

    /// True when no fault matches, and none has left a hole.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.refresh();
        self.matching.is_empty() && !self.has_hole
    }

    /// Decides about the next frame, which counts as struck by the faults that apply.
    /// `command`: the one that it is, or answers; `None` for bytes that are not RESP. Those have no
    /// beginning and no end, and cannot be dropped.
    pub(crate) fn verdict(&mut self, command: Option<&str>) -> Verdict {
        self.refresh();
        let mut terms = Terms::default();
        for imposed in &self.matching {
            if imposed.is_counted() && command.is_some_and(is_greeting) {
                continue;
            }
            match imposed.effect() {
                Effect::Drop if command.is_some() && imposed.strike() => {
                    if !std::mem::replace(&mut self.has_hole, true) {
                        imposed.leaves_hole(self.conn);
                    }
                    return Verdict::Drop;
                }
                Effect::Answer(error)
                    if command.is_some_and(|command| refuses(error, command))
                        && imposed.strike() =>
                {
                    terms.answer = Some(error);
                }
                Effect::Delay { by, jitter: width } if imposed.strike() => {
                    terms.delay += by;
                    if !width.is_zero() {
                        let make = || rng::stream(self.seed, "wire jitter", self.conn);
                        terms.delay += draw(self.jitter.get_or_insert_with(make), width);
                    }
                }
                Effect::Hold if imposed.strike() => terms.holds.push(imposed.id()),
                _ => {}
            }
        }
        match self.has_hole {
            true => Verdict::Reset,
            false => Verdict::Pass(terms),
        }
    }

    /// True when one of these faults is still in force.
    pub(crate) fn holds(&mut self, holds: &[ImposedId]) -> bool {
        if holds.is_empty() {
            return false;
        }
        self.refresh();
        let mut matching = self.matching.iter();
        matching.any(|imposed| holds.contains(&imposed.id()))
    }

    /// True when nothing passes. `affects`: the partition stops something that it had not
    /// stopped before, and that counts as a strike.
    pub(crate) fn is_partitioned(&mut self, affects: bool) -> bool {
        self.refresh();
        let mut partitioned = false;
        for imposed in &self.matching {
            if imposed.effect() == Effect::Partition {
                partitioned = true;
                if affects {
                    imposed.count_affected();
                }
            }
        }
        partitioned
    }
}

fn draw(rng: &mut StdRng, width: Duration) -> Duration {
    let nanos = u64::try_from(width.as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos(rng.random_range(0..=nanos))
}
