//! The faults that are imposed, and what they mean for one frame.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use picklock_scenarios::Direction;
use rand::RngExt;
use rand::rngs::StdRng;
use tokio::sync::watch;

use super::LinkId;
use super::fault::{Effect, ImposedId, LinkFault};
use crate::entropy;

#[derive(Debug)]
pub(crate) struct Imposed {
    id: ImposedId,
    fault: LinkFault,
    frames_left: Option<AtomicU32>,
    struck: AtomicU64,
}

impl Imposed {
    /// Takes one frame of what the fault may strike.
    fn strike(&self) -> bool {
        let struck = self.frames_left.as_ref().is_none_or(|left| {
            left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| {
                left.checked_sub(1)
            })
            .is_ok()
        });
        if struck {
            self.struck.fetch_add(1, Ordering::Relaxed);
        }
        struck
    }
}

/// All faults of a wire.
pub(crate) struct Faults {
    table: Mutex<Table>,
    /// Counts the changes; what waits in the wire looks again whenever it changes.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Table {
    next: u64,
    in_force: BTreeMap<ImposedId, Arc<Imposed>>,
    over: BTreeMap<ImposedId, Arc<Imposed>>,
}

impl Faults {
    pub(crate) fn new() -> Self {
        Faults {
            table: Mutex::default(),
            changes: watch::Sender::new(0),
        }
    }

    pub(crate) fn impose(&self, fault: LinkFault) -> ImposedId {
        let id = self.with(|table| {
            let id = ImposedId(table.next);
            table.next += 1;
            let frames_left = fault.frames.map(AtomicU32::new);
            table.in_force.insert(
                id,
                Arc::new(Imposed {
                    id,
                    fault,
                    frames_left,
                    struck: AtomicU64::new(0),
                }),
            );
            id
        });
        self.changes.send_modify(|count| *count += 1);
        id
    }

    pub(crate) fn lift(&self, id: ImposedId) {
        self.with(|table| {
            if let Some(imposed) = table.in_force.remove(&id) {
                table.over.insert(id, imposed);
            }
        });
        self.changes.send_modify(|count| *count += 1);
    }

    pub(crate) fn struck(&self, id: ImposedId) -> u64 {
        self.with(|table| {
            let imposed = table.in_force.get(&id).or_else(|| table.over.get(&id));
            imposed.map_or(0, |imposed| imposed.struck.load(Ordering::Relaxed))
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Table) -> T) -> T {
        // The table is whole between two statements: a panic elsewhere leaves nothing half done.
        work(&mut self.table.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The faults as one connection meets them. `direction`: `None` for both.
    pub(crate) fn view(
        self: &Arc<Self>,
        link: LinkId,
        conn: u64,
        direction: Option<Direction>,
        seed: u64,
    ) -> FaultView {
        let mut changes = self.changes.subscribe();
        changes.mark_changed();
        FaultView {
            faults: Arc::clone(self),
            link,
            conn,
            direction,
            changes,
            matching: Vec::new(),
            seed,
            jitter: None,
        }
    }
}

/// What the imposed faults say about one frame.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Ruling {
    /// Swallow it.
    pub drop: bool,
    /// Let it wait for so long.
    pub delay: Duration,
    /// Keep it while one of these is in force.
    pub holds: Vec<ImposedId>,
}

/// The faults of one direction of one connection, looked up anew only after a change.
pub(crate) struct FaultView {
    faults: Arc<Faults>,
    link: LinkId,
    conn: u64,
    direction: Option<Direction>,
    changes: watch::Receiver<u64>,
    matching: Vec<Arc<Imposed>>,
    seed: u64,
    /// Made when the first frame needs it: most connections never do.
    jitter: Option<StdRng>,
}

impl FaultView {
    fn refresh(&mut self) {
        if !self.changes.has_changed().unwrap_or(false) {
            return;
        }
        self.changes.mark_unchanged();
        let (link, conn, direction) = (self.link, self.conn, self.direction);
        self.matching = self.faults.with(|table| {
            let matching = table.in_force.values().filter(|imposed| {
                let fault = &imposed.fault;
                fault.reaches(link)
                    && fault.conn.is_none_or(|only| only == conn)
                    && fault
                        .direction
                        .is_none_or(|only| direction.is_none_or(|direction| only == direction))
            });
            matching.cloned().collect()
        });
    }

    /// True when nothing is imposed here.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.refresh();
        self.matching.is_empty()
    }

    /// Asks the faults about the frame that is next in order.
    /// `whole`: it is a command or a reply, not mere bytes.
    pub(crate) fn rule(&mut self, whole: bool) -> Ruling {
        self.refresh();
        let mut ruling = Ruling::default();
        for imposed in &self.matching {
            match imposed.fault.effect {
                // Bytes that nobody understands cannot be swallowed one command at a time.
                Effect::Drop if whole && imposed.strike() => {
                    return Ruling {
                        drop: true,
                        ..Ruling::default()
                    };
                }
                Effect::Delay { by, jitter: width } if imposed.strike() => {
                    ruling.delay += by;
                    if !width.is_zero() {
                        let make = || entropy::stream(self.seed, "wire jitter", self.conn);
                        ruling.delay += draw(self.jitter.get_or_insert_with(make), width);
                    }
                }
                Effect::Hold if imposed.strike() => ruling.holds.push(imposed.id),
                _ => {}
            }
        }
        ruling
    }

    /// True when one of these faults is still in force.
    pub(crate) fn holds(&mut self, holds: &[ImposedId]) -> bool {
        self.refresh();
        !holds.is_empty()
            && self
                .matching
                .iter()
                .any(|imposed| holds.contains(&imposed.id))
    }

    /// True when nothing passes. `first`: something is being stopped that was not before.
    pub(crate) fn is_partitioned(&mut self, first: bool) -> bool {
        self.refresh();
        let mut partitions = self
            .matching
            .iter()
            .filter(|imposed| imposed.fault.effect == Effect::Partition)
            .peekable();
        let any = partitions.peek().is_some();
        if first {
            partitions.for_each(|imposed| {
                imposed.struck.fetch_add(1, Ordering::Relaxed);
            });
        }
        any
    }

    /// Ready when faults were imposed or lifted since they were last looked at.
    pub(crate) async fn changed(&mut self) {
        if self.changes.changed().await.is_err() {
            // The sender lives as long as `faults` does.
            std::future::pending::<()>().await;
        }
        self.changes.mark_changed();
    }
}

fn draw(rng: &mut StdRng, width: Duration) -> Duration {
    let nanos = u64::try_from(width.as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos(rng.random_range(0..=nanos))
}
