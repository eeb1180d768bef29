//! Whether the holds of each lock followed one another. If they did, most properties are decided without a list of all
//! holds.

use crate::history::Header;
use crate::timeline::{Attempt, Step};

/// The active hold of each lock.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// The attempt that got each lock last, and `true` while it holds the lock.
    latest: Vec<Option<(u64, bool)>>,
    have_overlapped: bool,
}

impl Turns {
    pub fn new(header: &Header) -> Self {
        Turns {
            latest: vec![None; header.keys.len()],
            have_overlapped: false,
        }
    }

    pub fn step(&mut self, attempt: &Attempt, step: Step) {
        let lock = attempt.lock as usize;
        match step {
            Step::Begun => match self.latest.get_mut(lock) {
                Some(latest) => {
                    let before = latest.replace((attempt.op, true));
                    self.have_overlapped |= before.is_some_and(|(_, is_active)| is_active);
                }
                // The header does not name this lock.
                None => self.have_overlapped = true,
            },
            Step::Ended(_) => {
                if let Some(Some((op, is_active))) = self.latest.get_mut(lock)
                    && *op == attempt.op
                {
                    *is_active = false;
                }
            }
            _ => {}
        }
    }

    /// Returns `true` if two holds of one lock may have overlapped.
    pub fn may_have_overlapped(&self) -> bool {
        self.have_overlapped
    }
}
