//! Faults, each drawn as a band over its duration.

use picklock_verdicts::timeline::{FaultSpan, Timeline, ends_clients, is_instantaneous};
use serde::Serialize;

use super::name::{name, sentence};

#[derive(Debug, Clone, Serialize)]
pub(super) struct FaultBand {
    pub(super) from_ns: u64,
    /// The end, which equals the start for an instantaneous fault.
    pub(super) to_ns: u64,
    pub(super) kind: String,
    pub(super) detail: String,
    #[serde(skip)]
    pub(super) nodes: Vec<usize>,
    /// Whether the history has the offset that the fault causes. If so, the lanes of the affected clocks show the
    /// offset.
    #[serde(skip)]
    pub(super) has_offset: bool,
}

/// Returns the faults that fired, ordered by their start.
pub(super) fn fault_bands(timeline: &Timeline<'_>) -> Vec<FaultBand> {
    let band = |span: &FaultSpan<'_>| FaultBand {
        from_ns: span.began_ns,
        to_ns: if is_instantaneous(span.fault) && !ends_clients(span.fault) {
            span.began_ns
        } else {
            span.ended_ns.unwrap_or(timeline.end_ns())
        },
        kind: name(span.fault).shown,
        detail: sentence(span.detail).shown,
        nodes: span.nodes.to_vec(),
        has_offset: span.clock.is_some(),
    };
    let fired = timeline.faults().iter().filter(|span| !span.missed);
    fired.map(band).collect()
}
