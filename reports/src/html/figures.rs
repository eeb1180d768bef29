//! The figures of one cell: latency, throughput, fairness, recovery, orphaned locks.

use hdrhistogram::Histogram;
use picklock_verdicts::latency::{REQUESTED, decode};
use picklock_verdicts::record::Cell;
use picklock_verdicts::timeline::Timeline;

use super::name::{Name, sentence};
use super::percentiles::{Drawing, drawing};
use crate::command_log::{CommandLog, Cost};
use crate::measures::{Measures, Orphan, Phase, Recovery, Speed, cost, measure};
use crate::units::{count, span_ns, time_ns};

/// The title of a curve over all runs.
const ALL_RUNS: &str = "all runs";

/// Maximum number of rows per table.
const MAX_ROWS: usize = 50;

/// All figures of a cell.
#[derive(Default)]
pub(super) struct Figures {
    pub(super) drawings: Vec<Drawing>,
    /// The runs that the drawings are based on.
    pub(super) drawn_from: &'static str,
    pub(super) speeds: Vec<SpeedRow>,
    pub(super) fairness: Vec<String>,
    /// The number of commands per acquisition, as text.
    pub(super) commands: Option<String>,
    pub(super) recoveries: Vec<Row>,
    pub(super) orphans: Vec<Row>,
    /// The number of rows omitted from the two tables above.
    pub(super) more_rows: usize,
}

/// Throughput of one phase.
pub(super) struct SpeedRow {
    pub(super) phase: &'static str,
    pub(super) length: String,
    pub(super) grants: u64,
    pub(super) rate: String,
    pub(super) refused: u64,
    pub(super) failed: u64,
    pub(super) unanswered: u64,
}

/// A row of a table: the time, the event, and how long it blocked the lock.
pub(super) struct Row {
    pub(super) at: String,
    pub(super) what: Name,
    pub(super) cost: String,
}

/// Returns the figures of the shown run, phase by phase.
pub(super) fn from_timeline(timeline: &Timeline<'_>, proxy: Option<&CommandLog>) -> Figures {
    let measures = measure(timeline);
    let (recoveries, orphans) = (&measures.recoveries, &measures.orphans);
    let more = |all: usize| all.saturating_sub(MAX_ROWS);
    Figures {
        drawings: drawings(&measures.speeds),
        drawn_from: "the run that is shown, phase by phase",
        speeds: measures.speeds.iter().map(speed_row).collect(),
        fairness: fairness(&measures),
        commands: proxy.and_then(|log| cost(timeline, log)).map(commands),
        recoveries: recoveries.iter().take(MAX_ROWS).map(recovery_row).collect(),
        orphans: orphans.iter().take(MAX_ROWS).map(orphan_row).collect(),
        more_rows: more(recoveries.len()) + more(orphans.len()),
    }
}

/// Returns the figures of all runs of a cell together, computed from its histograms.
pub(super) fn from_cell(cell: &Cell) -> Figures {
    // A histogram that cannot be decoded is not drawn. A comparison reports the error.
    let decoded = |operation: &str| decode(&cell.latency.get(operation)?.histogram).ok();
    let mut drawings = Vec::new();
    let acquire = decoded("acquire");
    match (&acquire, decoded(REQUESTED)) {
        (Some(intended), Some(from_request)) => drawings.extend(open_loop(intended, &from_request)),
        (Some(acquire), None) => drawings.extend(drawing("acquire", &[(0, ALL_RUNS, acquire)])),
        (None, _) => {}
    }
    if let Some(release) = decoded("release") {
        drawings.extend(drawing("release", &[(0, ALL_RUNS, &release)]));
    }
    Figures {
        drawings,
        drawn_from: "all runs of the cell together",
        ..Figures::default()
    }
}

/// Draws both latencies of an open loop side by side. A closed loop would hide the first one.
fn open_loop(intended: &Histogram<u64>, from_request: &Histogram<u64>) -> Option<Drawing> {
    let intended = (0, "from the intended start", intended);
    drawing(
        "acquire",
        &[intended, (1, "from the request", from_request)],
    )
}

/// Draws all acquisitions of a run, measured from the intended start and from the request.
fn whole_run(speeds: &[Speed]) -> Option<Drawing> {
    let sum = |histogram: fn(&Speed) -> &Histogram<u64>| {
        let mut parts = speeds.iter().map(histogram);
        let mut sum = parts.next()?.clone();
        parts.for_each(|part| sum += part);
        Some(sum)
    };
    let from_request =
        sum(|speed| &speed.from_request_us).filter(|latencies| !latencies.is_empty())?;
    open_loop(&sum(|speed| &speed.acquire.latency_us)?, &from_request)
}

fn drawings(speeds: &[Speed]) -> Vec<Drawing> {
    let series = |histogram: fn(&Speed) -> &Histogram<u64>| {
        let each = speeds.iter();
        each.map(|speed| (speed.phase as usize, speed.phase.as_str(), histogram(speed)))
            .collect::<Vec<_>>()
    };
    let acquire = series(|speed| &speed.acquire.latency_us);
    let release = series(|speed| &speed.release.latency_us);
    let whole_run = whole_run(speeds);
    let by_phase = match whole_run {
        Some(_) => "acquire, from the intended start",
        None => "acquire",
    };
    let all = [
        whole_run,
        drawing(by_phase, &acquire),
        drawing("release", &release),
    ];
    all.into_iter().flatten().collect()
}

fn speed_row(speed: &Speed) -> SpeedRow {
    let (acquire, release) = (&speed.acquire, &speed.release);
    SpeedRow {
        phase: speed.phase.as_str(),
        length: span_ns(speed.length_ns),
        grants: acquire.latency_us.len(),
        rate: match speed.grants_per_s() {
            Some(rate) if rate >= 99.5 => format!("{rate:.0} /s"),
            Some(rate) => format!("{rate:.1} /s"),
            None => "–".to_owned(),
        },
        refused: acquire.refused,
        failed: acquire.failed + release.failed,
        unanswered: acquire.unanswered + release.unanswered,
    }
}

fn fairness(measures: &Measures) -> Vec<String> {
    let fairness = &measures.fairness;
    let mut lines = Vec::new();
    if let Some(jain) = fairness.jain {
        let most = fairness.grants.iter().max().copied().unwrap_or(0);
        let got = fairness.grants.iter().filter(|grants| **grants > 0).count();
        lines.push(format!(
            "Jain’s fairness index {jain:.2} (1: equal shares): {got} of the {} clients that \
             requested it got the lock, one of them {most} times.",
            fairness.requesters
        ));
    }
    if let Some(wait) = fairness.longest_wait {
        let outcome = if wait.granted {
            "then got it"
        } else {
            "and did not get it"
        };
        lines.push(format!(
            "Longest wait: client {} for {} from {}, {outcome}.",
            wait.worker,
            span_ns(wait.waited_ns),
            time_ns(wait.from_ns)
        ));
    }
    lines
}

fn commands(cost: Cost) -> String {
    format!(
        "Commands per acquisition: {:.1} on average over {}, at most {}, including failed attempts.",
        cost.mean,
        count(cost.grants, "grant"),
        cost.most
    )
}

fn recovery_row(recovery: &Recovery) -> Row {
    Row {
        at: time_ns(recovery.ended_at_ns),
        what: sentence(&recovery.detail),
        cost: match recovery.next_grant_ns {
            Some(ns) => format!("next grant after {}", span_ns(ns)),
            None => "no grant after it".to_owned(),
        },
    }
}

fn orphan_row(orphan: &Orphan) -> Row {
    let loss = if orphan.died {
        "died with the lock"
    } else {
        "failed to release the lock"
    };
    let recovery = match orphan.granted_ns {
        Some(granted_ns) => format!("free again after {}", span_ns(granted_ns - orphan.from_ns)),
        None => "never granted again".to_owned(),
    };
    Row {
        at: time_ns(orphan.from_ns),
        what: sentence(&format!("client {} {loss}", orphan.worker)),
        cost: format!(
            "kept others waiting for {}; {recovery}",
            span_ns(orphan.blocked_ns)
        ),
    }
}

/// Every phase has a fixed position in the order of series.
const _: () = assert!(Phase::ALL.len() == 3);
