//! The faults that are currently imposed on the links, and how many frames each has affected.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use picklock_scenarios::Direction;
use tokio::sync::watch;

use crate::proxy::LinkId;
use crate::proxy::faults::fault::{Effect, ImposedId, LinkFault};
use crate::proxy::lock;

/// An imposed fault. All links that it matches share it, so a frame limit counts the frames of all of them.
#[derive(Debug)]
pub(crate) struct Imposed {
    id: ImposedId,
    fault: LinkFault,
    frames_left: Option<AtomicU32>,
    affected: AtomicU64,
    /// The connections in which the fault has dropped frames, and that must be reset at its end.
    gaps: Mutex<Vec<u64>>,
}

impl Imposed {
    pub(in crate::proxy) fn new(id: ImposedId, fault: LinkFault) -> Self {
        Imposed {
            id,
            frames_left: fault.frames.map(AtomicU32::new),
            fault,
            affected: AtomicU64::new(0),
            gaps: Mutex::default(),
        }
    }

    pub(in crate::proxy) fn id(&self) -> ImposedId {
        self.id
    }

    /// Returns `true` if the fault affects a limited number of frames, on any connection.
    pub(in crate::proxy) fn has_frame_limit(&self) -> bool {
        self.frames_left.is_some() && self.fault.conn.is_none()
    }

    pub(in crate::proxy) fn effect(&self) -> Effect {
        self.fault.effect
    }

    /// Counts one more affected frame and returns `true`, or returns `false` if the frame limit is reached.
    pub(in crate::proxy) fn try_affect(&self) -> bool {
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

    /// Records that the fault has dropped a frame of this connection.
    pub(in crate::proxy) fn record_gap(&self, conn: u64) {
        // A fault with a frame limit ends as soon as it has affected these frames. Its end does not reset connections.
        if self.frames_left.is_none() {
            lock(&self.gaps).push(conn);
        }
    }

    /// Counts one more affected frame, regardless of the limit.
    pub(in crate::proxy) fn count_affected(&self) {
        self.affected.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns `true` if the fault applies to this connection in this direction, or in any direction if `direction` is
    /// `None`.
    fn matches(&self, link: LinkId, conn: u64, direction: Option<Direction>) -> bool {
        let either = |only: Direction| direction.is_none_or(|direction| only == direction);
        self.fault.matches_link(link)
            && self.fault.conn.is_none_or(|only| only == conn)
            && self.fault.direction.is_none_or(either)
    }
}

/// All faults that are imposed on the links of a proxy, with the number of frames that each has affected.
pub(crate) struct ImposedFaults {
    faults: Mutex<Faults>,
    /// Number of changes so far, so that a link can detect without a lock that the table has not changed.
    version: AtomicU64,
    /// The same number, for tasks that wait for a change.
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

    /// Lifts a fault. Returns the connections that must be reset because a frame is missing in them.
    #[must_use]
    pub(crate) fn lift(&self, id: ImposedId) -> Vec<u64> {
        self.change(|faults| {
            let Some(imposed) = faults.in_force.remove(&id) else {
                return Vec::new();
            };
            let gaps = std::mem::take(&mut *lock(&imposed.gaps));
            faults.lifted.insert(id, imposed);
            gaps
        })
    }

    /// Removes a fault, together with its count.
    pub(crate) fn forget(&self, id: ImposedId) {
        self.change(|faults| {
            faults.in_force.remove(&id);
            faults.lifted.remove(&id);
        });
    }

    /// Returns the number of frames that a fault has affected, whether it is in force or lifted.
    pub(crate) fn affected_frames(&self, id: ImposedId) -> u64 {
        self.with(|faults| {
            let imposed = faults.in_force.get(&id).or_else(|| faults.lifted.get(&id));
            imposed.map_or(0, |imposed| imposed.affected.load(Ordering::Relaxed))
        })
    }

    /// Returns the number of times that faults were imposed or lifted so far.
    pub(in crate::proxy) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Returns the version of the table, and the faults that match a connection.
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

    /// Returns a handle that reports when faults are imposed or lifted.
    pub(in crate::proxy) fn subscribe(&self) -> FaultChanges {
        FaultChanges(self.changes.subscribe())
    }

    fn change<T>(&self, change: impl FnOnce(&mut Faults) -> T) -> T {
        let result = self.with(|faults| {
            let result = change(faults);
            self.version.fetch_add(1, Ordering::Release);
            result
        });
        self.changes.send_modify(|count| *count += 1);
        result
    }

    fn with<T>(&self, f: impl FnOnce(&mut Faults) -> T) -> T {
        f(&mut lock(&self.faults))
    }
}

/// Notifies a task of faults that were imposed or lifted.
pub(in crate::proxy) struct FaultChanges(watch::Receiver<u64>);

impl FaultChanges {
    /// Forgets the changes so far. Call this before reading the faults, so that a later change is not missed.
    pub(in crate::proxy) fn mark_seen(&mut self) {
        self.0.mark_unchanged();
    }

    /// Waits for a change since the last [`FaultChanges::mark_seen`].
    pub(in crate::proxy) async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            // This cannot happen, because the table lives as long as the proxy.
            std::future::pending::<()>().await;
        }
    }
}
