//! Decides the effect of the imposed faults on the frames of one direction of one connection.

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

/// The decision of the fault rules about a frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FrameDecision {
    /// The frame is dropped.
    Drop,
    /// An earlier frame was dropped, so this frame cannot arrive, and the connection is reset.
    Reset,
    /// The frame is forwarded, under these conditions.
    Pass(PassConditions),
}

/// Conditions under which a frame may be forwarded.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PassConditions {
    /// Minimum time between arrival and forwarding.
    pub(crate) delay: Duration,
    /// Faults that keep the frame back while they are in force.
    pub(crate) holds: Vec<ImposedId>,
    /// The error with which the command is answered, or that replaces the reply.
    pub(crate) answer: Option<ServerError>,
}

/// The faults that match one direction of one connection. The matching faults are looked up again only if the table of
/// faults has changed.
pub(crate) struct FaultRules {
    table: Arc<ImposedFaults>,
    link: LinkId,
    conn: u64,
    direction: Option<Direction>,
    /// The version of the table that `matching` is from, or `None` before the first lookup.
    version: Option<u64>,
    matching: Vec<Arc<Imposed>>,
    /// Whether a frame was dropped. If so, no later frame may arrive.
    has_gap: bool,
    seed: u64,
    /// The generator for jitter. It is created for the first frame that needs it, because most connections never need
    /// it.
    jitter: Option<StdRng>,
}

impl ImposedFaults {
    /// Returns the rules of one direction of one connection, or of both if `direction` is `None`. Jitter is drawn
    /// from `seed`.
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
            has_gap: false,
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

    /// Returns `true` if no fault matches and no earlier fault has dropped a frame.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.refresh();
        self.matching.is_empty() && !self.has_gap
    }

    /// Decides what happens to the next frame, and counts the frame for every fault that affects it. `command` is the
    /// command that the frame is or answers, or `None` for bytes that are not RESP. Such bytes have no frame boundaries
    /// and cannot be dropped.
    pub(crate) fn decide(&mut self, command: Option<&str>) -> FrameDecision {
        self.refresh();
        let mut conditions = PassConditions::default();
        for imposed in &self.matching {
            if imposed.has_frame_limit() && command.is_some_and(is_greeting) {
                continue;
            }
            match imposed.effect() {
                Effect::Drop if command.is_some() && imposed.try_affect() => {
                    if !std::mem::replace(&mut self.has_gap, true) {
                        imposed.record_gap(self.conn);
                    }
                    return FrameDecision::Drop;
                }
                Effect::Answer(error)
                    if command.is_some_and(|command| refuses(error, command))
                        && imposed.try_affect() =>
                {
                    conditions.answer = Some(error);
                }
                Effect::Delay { by, jitter: width } if imposed.try_affect() => {
                    conditions.delay += by;
                    if !width.is_zero() {
                        let make = || rng::stream(self.seed, "wire jitter", self.conn);
                        conditions.delay += draw(self.jitter.get_or_insert_with(make), width);
                    }
                }
                Effect::Hold if imposed.try_affect() => conditions.holds.push(imposed.id()),
                _ => {}
            }
        }
        if self.has_gap {
            FrameDecision::Reset
        } else {
            FrameDecision::Pass(conditions)
        }
    }

    /// Returns `true` if any of these faults is still in force.
    pub(crate) fn holds(&mut self, holds: &[ImposedId]) -> bool {
        if holds.is_empty() {
            return false;
        }
        self.refresh();
        let mut matching = self.matching.iter();
        matching.any(|imposed| holds.contains(&imposed.id()))
    }

    /// Returns `true` if a partition stops this direction. If `newly_stopped` is true, the frame was not stopped
    /// before, and counts as one more affected frame of the partition.
    pub(crate) fn is_partitioned(&mut self, newly_stopped: bool) -> bool {
        self.refresh();
        let mut partitioned = false;
        for imposed in &self.matching {
            if imposed.effect() == Effect::Partition {
                partitioned = true;
                if newly_stopped {
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
