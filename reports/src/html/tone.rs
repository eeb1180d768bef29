//! The tones of a page, which select colours.

use std::fmt;

use crate::cell_mark::CellMark;
use crate::responsibility::Party;

/// The tone of an element. A sign and a word always accompany the colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// Held, or better.
    Held,
    /// Fencing protected the stock.
    Fenced,
    /// A client's fault.
    Client,
    /// The application's fault.
    Application,
    /// Redis lost the lock.
    Redis,
    /// A violation whose party at fault is unknown.
    Undetermined,
    /// A violation by the lock, or a verdict that got worse.
    Lock,
    /// Inconclusive, or no change.
    Unknown,
    /// Failed to run.
    Failed,
    /// Not applicable.
    Absent,
    /// Unexpected results.
    Mismatch,
}

impl Tone {
    /// Returns `true` for a violation, and for a cell that failed to run.
    pub(super) fn is_red(self) -> bool {
        use Tone::{Application, Client, Failed, Fenced, Lock, Redis, Undetermined};
        matches!(
            self,
            Application | Client | Failed | Fenced | Lock | Redis | Undetermined
        )
    }
}

impl From<Party> for Tone {
    fn from(party: Party) -> Tone {
        match party {
            Party::Outside => Tone::Application,
            Party::Client => Tone::Client,
            Party::Redis => Tone::Redis,
            Party::Undetermined => Tone::Undetermined,
            Party::Lock => Tone::Lock,
        }
    }
}

impl From<CellMark> for Tone {
    fn from(mark: CellMark) -> Tone {
        match mark {
            CellMark::Held => Tone::Held,
            CellMark::Fenced => Tone::Fenced,
            CellMark::Fault(party) => party.into(),
            CellMark::Inconclusive => Tone::Unknown,
            CellMark::NotRun => Tone::Failed,
            CellMark::NotApplicable => Tone::Absent,
        }
    }
}

/// Formats the suffix of the tone's CSS class, which is `tone-…`.
impl fmt::Display for Tone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Tone::Held => "held",
            Tone::Fenced => "fenced",
            Tone::Client => "client",
            Tone::Application => "application",
            Tone::Redis => "redis",
            Tone::Undetermined => "undetermined",
            Tone::Lock => "lock",
            Tone::Unknown => "unknown",
            Tone::Failed => "failed",
            Tone::Absent => "absent",
            Tone::Mismatch => "mismatch",
        })
    }
}
