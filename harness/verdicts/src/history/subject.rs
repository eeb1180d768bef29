//! The attempt, the worker and the key that an event is about.

use super::event::EventKind;

impl EventKind {
    /// Returns the worker and number of the attempt that the event is about, or `None` if it is not about one
    /// attempt.
    pub fn attempt(&self) -> Option<(usize, u64)> {
        match *self {
            EventKind::Acquire { worker, op, .. }
            | EventKind::Granted { worker, op, .. }
            | EventKind::Cancel { worker, op }
            | EventKind::Refused { worker, op }
            | EventKind::AcquireFailed { worker, op, .. }
            | EventKind::Extended { worker, op, .. }
            | EventKind::Extend { worker, op, .. }
            | EventKind::ExtendGranted { worker, op, .. }
            | EventKind::ExtendRefused { worker, op }
            | EventKind::ExtendFailed { worker, op, .. }
            | EventKind::Act { worker, op }
            | EventKind::MayAct { worker, op, .. }
            | EventKind::ActFailed { worker, op, .. }
            | EventKind::Lost { worker, op }
            | EventKind::StockRead { worker, op, .. }
            | EventKind::StockChanged { worker, op, .. }
            | EventKind::ValueRead { worker, op, .. }
            | EventKind::ValueWritten { worker, op, .. }
            | EventKind::JobBegan { worker, op, .. }
            | EventKind::FencedOff { worker, op, .. }
            | EventKind::Reenter { worker, op, .. }
            | EventKind::Reentered { worker, op, .. }
            | EventKind::InnerReleased { worker, op }
            | EventKind::SectionFailed { worker, op }
            | EventKind::Release { worker, op }
            | EventKind::Released { worker, op, .. }
            | EventKind::ReleaseFailed { worker, op, .. }
            | EventKind::IdleWhileWaiting { worker, op, .. }
            | EventKind::GrantWithoutCommand { worker, op, .. } => Some((worker, op)),
            _ => None,
        }
    }

    /// Returns `true` if a client read or changed the stock, or the value of a read/write lock.
    pub fn is_access(&self) -> bool {
        matches!(
            self,
            EventKind::StockRead { .. }
                | EventKind::StockChanged { .. }
                | EventKind::ValueRead { .. }
                | EventKind::ValueWritten { .. }
        )
    }

    /// Returns the worker that the event is about, or `None` if it is not about one worker.
    pub fn worker(&self) -> Option<usize> {
        match *self {
            EventKind::WorkerUp { worker, .. }
            | EventKind::WorkerDown { worker, .. }
            | EventKind::FreezeBreach { worker, .. }
            | EventKind::TickDue { worker, .. }
            | EventKind::Misbehaved { worker, .. } => Some(worker),
            _ => self.attempt().map(|(worker, _)| worker),
        }
    }

    /// Returns the key that the event names, by its position in the header.
    pub fn key(&self) -> Option<u32> {
        match *self {
            EventKind::Acquire { key, .. }
            | EventKind::StockRead { key, .. }
            | EventKind::StockChanged { key, .. }
            | EventKind::ValueRead { key, .. }
            | EventKind::ValueWritten { key, .. }
            | EventKind::JobBegan { key, .. }
            | EventKind::FencedOff { key, .. }
            | EventKind::Probe { key, .. }
            | EventKind::KeyLeft { key, .. } => Some(key),
            _ => None,
        }
    }
}
