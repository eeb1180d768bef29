use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use picklock_scenarios::Direction;
use tokio::sync::watch;

use crate::proxy::LinkId;
use crate::proxy::faults::fault::{Effect, ImposedId, LinkFault};
use crate::proxy::lock;

/// An imposed fault. All links that it matches share it, so a limit on the number of frames
/// counts them together.
#[derive(Debug)]
pub(crate) struct Imposed {
    id: ImposedId,
    fault: LinkFault,
    frames_left: Option<AtomicU32>,
    struck: AtomicU64,
    /// The connections in which it has left a hole, if its end is to reset them.
    holes: Mutex<Vec<u64>>,
}

impl Imposed {
    pub(in crate::proxy) fn new(id: ImposedId, fault: LinkFault) -> Self {
        Imposed {
            id,
            frames_left: fault.frames.map(AtomicU32::new),
            fault,
            struck: AtomicU64::new(0),
            holes: Mutex::default(),
        }
    }

    pub(in crate::proxy) fn id(&self) -> ImposedId {
        self.id
    }

    /// True if it strikes so many frames and no more, wherever they come.
    pub(in crate::proxy) fn is_counted(&self) -> bool {
        self.frames_left.is_some() && self.fault.conn.is_none()
    }

    pub(in crate::proxy) fn effect(&self) -> Effect {
        self.fault.effect
    }

    /// Counts one frame as struck. False when the fault has struck all the frames that it may.
    pub(in crate::proxy) fn strike(&self) -> bool {
        let take_one = |left: u32| left.checked_sub(1);
        let affects = self.frames_left.as_ref().is_none_or(|left| {
            left.fetch_update(Ordering::AcqRel, Ordering::Acquire, take_one)
                .is_ok()
        });
        if affects {
            self.count_affected();
        }
        affects
    }

    /// It has swallowed something on this connection.
    pub(in crate::proxy) fn leaves_hole(&self, conn: u64) {
        // A counted fault is over when it has struck, and its client has not been waiting for long.
        if self.frames_left.is_none() {
            lock(&self.holes).push(conn);
        }
    }

    /// Counts one more strike, without a limit.
    pub(in crate::proxy) fn count_affected(&self) {
        self.struck.fetch_add(1, Ordering::Relaxed);
    }

    /// True when the fault is meant for this connection. `direction`: `None` for both.
    fn matches(&self, link: LinkId, conn: u64, direction: Option<Direction>) -> bool {
        let either = |only: Direction| direction.is_none_or(|direction| only == direction);
        self.fault.matches_link(link)
            && self.fault.conn.is_none_or(|only| only == conn)
            && self.fault.direction.is_none_or(either)
    }
}

/// All faults that are imposed on the links of a proxy, and how often each has struck.
pub(crate) struct ImposedFaults {
    faults: Mutex<Faults>,
    /// Counts the changes, so that a link need not lock the table to see that there was none.
    version: AtomicU64,
    /// The same count, for tasks that wait for a change.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Faults {
    next: u64,
    in_force: BTreeMap<ImposedId, Arc<Imposed>>,
    lifted: BTreeMap<ImposedId, Arc<Imposed>>,
}

impl ImposedFaults {
    pub(crate) fn new() -> Self {
        ImposedFaults {
            faults: Mutex::default(),
            version: AtomicU64::new(0),
            changes: watch::Sender::new(0),
        }
    }

    pub(crate) fn impose(&self, fault: LinkFault) -> ImposedId {
        self.change(|faults| {
            let id = ImposedId(faults.next);
            faults.next += 1;
            let imposed = Arc::new(Imposed::new(id, fault));
            faults.in_force.insert(id, imposed);
            id
        })
    }

    /// Lifts a fault. Returns the connections that must be reset, because something is missing in them.
    #[must_use]
    pub(crate) fn lift(&self, id: ImposedId) -> Vec<u64> {
        self.change(|faults| {
            let Some(imposed) = faults.in_force.remove(&id) else {
                return Vec::new();
            };
            let holes = std::mem::take(&mut *lock(&imposed.holes));
            faults.lifted.insert(id, imposed);
            holes
        })
    }

    /// How many frames a fault has struck, whether it is in force or lifted.
    pub(crate) fn struck(&self, id: ImposedId) -> u64 {
        self.with(|faults| {
            let imposed = faults.in_force.get(&id).or_else(|| faults.lifted.get(&id));
            imposed.map_or(0, |imposed| imposed.struck.load(Ordering::Relaxed))
        })
    }

    /// Counts the faults that were imposed or lifted so far.
    pub(in crate::proxy) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The faults that match a connection, and the version of the table that they are from.
    pub(in crate::proxy) fn matching(
        &self,
        link: LinkId,
        conn: u64,
        direction: Option<Direction>,
    ) -> (u64, Vec<Arc<Imposed>>) {
        self.with(|faults| {
            let in_force = faults.in_force.values();
            let matching = in_force.filter(|imposed| imposed.matches(link, conn, direction));
            (self.version(), matching.cloned().collect())
        })
    }

    /// Tells a task when faults are imposed or lifted.
    pub(in crate::proxy) fn subscribe(&self) -> FaultChanges {
        FaultChanges(self.changes.subscribe())
    }

    fn change<T>(&self, work: impl FnOnce(&mut Faults) -> T) -> T {
        let done = self.with(|faults| {
            let done = work(faults);
            self.version.fetch_add(1, Ordering::Release);
            done
        });
        self.changes.send_modify(|count| *count += 1);
        done
    }

    fn with<T>(&self, work: impl FnOnce(&mut Faults) -> T) -> T {
        work(&mut lock(&self.faults))
    }
}

/// Where a task learns that faults were imposed or lifted.
pub(in crate::proxy) struct FaultChanges(watch::Receiver<u64>);

impl FaultChanges {
    /// Forgets the changes so far. Call it before the faults are looked at: a change after the
    /// look is then not missed.
    pub(in crate::proxy) fn mark_seen(&mut self) {
        self.0.mark_unchanged();
    }

    /// Ready when there was a change since the last [`FaultChanges::mark_seen`].
    pub(in crate::proxy) async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            // The table lives as long as the proxy does.
            std::future::pending::<()>().await;
        }
    }
}
