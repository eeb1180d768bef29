//! Faults, each as a band over its duration.

use picklock_verdicts::timeline::{FaultSpan, Timeline, is_instantaneous};
use serde::Serialize;

use super::name::{name, sentence};

#[derive(Debug, Clone, Serialize)]
pub(super) struct FaultBand {
    pub(super) from_ns: u64,
    /// Equal to the beginning for a fault that strikes once.
    pub(super) to_ns: u64,
    pub(super) kind: String,
    pub(super) detail: String,
    #[serde(skip)]
    pub(super) nodes: Vec<usize>,
    /// True if the history says by how much it sets clocks; the lanes of those clocks show it then.
    #[serde(skip)]
    pub(super) tells_offset: bool,
}

/// The faults in order of their beginning.
pub(super) fn fault_bands(timeline: &Timeline<'_>) -> Vec<FaultBand> {
    let band = |span: &FaultSpan<'_>| FaultBand {
        from_ns: span.began_ns,
        to_ns: match is_instantaneous(span.fault) && span.fault != "crash-client" {
            true => span.began_ns,
            false => span.ended_ns.unwrap_or(timeline.end_ns()),
        },
        kind: name(span.fault).shown,
        detail: sentence(span.detail).shown,
        nodes: span.nodes.to_vec(),
        tells_offset: span.clock.is_some(),
    };
    let struck = timeline.faults().iter().filter(|span| !span.missed);
    struck.map(band).collect()
}
