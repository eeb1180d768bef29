//! What is known of a lock that clients want.

use super::finding::Starvation;
use super::outstanding::Outstanding;

/// The state of one lock, for progress.
#[derive(Debug, Clone, Default)]
pub(super) struct WantedKey {
    pub outstanding: Outstanding,
    /// The current starvation has been reported.
    pub starved: bool,
    /// A client waited for longer than the bound, and a fault that is still on kept it away.
    pub kept_away: bool,
    /// When a key without expiry was found.
    pub unexpiring_ns: Option<u64>,
    /// A key was found after the run.
    pub left: bool,
    /// Whether the probe after the run got the lock.
    pub probe_granted: Option<bool>,
}

impl WantedKey {
    /// A key without expiry that nobody got past, if that was not reported.
    pub fn unexpiring(&self, key: u32) -> Option<Starvation> {
        let at_ns = self.unexpiring_ns?;
        if self.probe_granted == Some(true) || self.starved {
            return None;
        }
        let doubt = self.outstanding.doubt_before(u64::MAX);
        let doubt = doubt.map(|doubt| (doubt.worker, doubt.at_ns));
        Some(Starvation::of_unexpiring_key(key, at_ns, doubt))
    }
}
