//! The figures of one cell: latency, throughput, fairness, recovery, orphaned locks.

use hdrhistogram::Histogram;
use picklock_verdicts::latency::{ASKED, decode};
use picklock_verdicts::record::Cell;
use picklock_verdicts::timeline::Timeline;

use super::name::{Name, sentence};
use super::percentiles::{Drawing, drawing};
use crate::command_log::{CommandLog, Cost};
use crate::measures::{Measures, Orphan, Phase, Recovery, Speed, cost, measure};
use crate::units::{count, span_ns, trigger_ns};

/// The name of a curve.
const ALL_RUNS: &str = "all runs";

/// Further rows of a table are omitted.
const MAX_ROWS: usize = 50;

/// All figures of a cell.
#[derive(Default)]
pub(super) struct Figures {
    pub(super) drawings: Vec<Drawing>,
    /// The runs that the drawings are from.
    pub(super) drawn_from: &'static str,
    pub(super) speeds: Vec<SpeedRow>,
    pub(super) fairness: Vec<String>,
    /// The commands of an acquisition, in words.
    pub(super) commands: Option<String>,
    pub(super) recoveries: Vec<Row>,
    pub(super) orphans: Vec<Row>,
    /// The number of omitted rows in the two tables before.
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

/// When, what, and how long it cost.
pub(super) struct Row {
    pub(super) at: String,
    pub(super) what: Name,
    pub(super) cost: String,
}

/// The figures of a shown run, phase by phase.
pub(super) fn of_timeline(timeline: &Timeline<'_>, proxy: Option<&CommandLog>) -> Figures {
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

/// The figures of all runs of a cell together, from its histograms.
pub(super) fn of_cell(cell: &Cell) -> Figures {
    // A histogram that does not decode is not drawn; a comparison reports the error.
    let decoded = |operation: &str| decode(&cell.latency.get(operation)?.histogram).ok();
    let mut drawings = Vec::new();
    let acquire = decoded("acquire");
    match (&acquire, decoded(ASKED)) {
        (Some(intended), Some(asked)) => drawings.extend(open_loop(intended, &asked)),
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

/// Both latencies of an open loop side by side: a closed loop would have hidden the first one.
fn open_loop(intended: &Histogram<u64>, asked: &Histogram<u64>) -> Option<Drawing> {
    let intended = (0, "from the intended start", intended);
    drawing("acquire", &[intended, (1, "from the request", asked)])
}

/// All acquisitions of a run, timed from the intended start and from the request.
fn whole_run(speeds: &[Speed]) -> Option<Drawing> {
    let sum = |of: fn(&Speed) -> &Histogram<u64>| {
        let mut parts = speeds.iter().map(of);
        let mut sum = parts.next()?.clone();
        parts.for_each(|part| sum += part);
        Some(sum)
    };
    let asked = sum(|speed| &speed.asked_us).filter(|asked| !asked.is_empty())?;
    open_loop(&sum(|speed| &speed.acquire.latency_us)?, &asked)
}

fn drawings(speeds: &[Speed]) -> Vec<Drawing> {
    let series = |of: fn(&Speed) -> &Histogram<u64>| {
        let each = speeds.iter();
        let each = each.map(|speed| (speed.phase as usize, speed.phase.words(), of(speed)));
        each.collect::<Vec<_>>()
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
        phase: speed.phase.words(),
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
            "Jain’s fairness index {jain:.2} (1: equal shares): {got} of the {} workers that \
             asked got the lock, one of them {most} times.",
            fairness.asked
        ));
    }
    if let Some(wait) = fairness.longest_wait {
        let outcome = match wait.granted {
            true => "then got it",
            false => "and did not get it",
        };
        lines.push(format!(
            "Longest wait: worker {} for {} from {}, {outcome}.",
            wait.worker,
            span_ns(wait.waited_ns),
            trigger_ns(wait.from_ns)
        ));
    }
    lines
}

fn commands(cost: Cost) -> String {
    format!(
        "Commands to get the lock once: {:.1} on average over {}, at most {}, tries that found it taken included.",
        cost.mean,
        count(cost.grants, "grant"),
        cost.most
    )
}

fn recovery_row(recovery: &Recovery) -> Row {
    Row {
        at: trigger_ns(recovery.ended_at_ns),
        what: sentence(&recovery.detail),
        cost: match recovery.next_grant_ns {
            Some(ns) => format!("next grant after {}", span_ns(ns)),
            None => "no grant after it".to_owned(),
        },
    }
}

fn orphan_row(orphan: &Orphan) -> Row {
    let lost = match orphan.died {
        true => "died with the lock",
        false => "failed to release the lock",
    };
    let over = match orphan.granted_ns {
        Some(granted_ns) => format!("free again after {}", span_ns(granted_ns - orphan.from_ns)),
        None => "never granted again".to_owned(),
    };
    Row {
        at: trigger_ns(orphan.from_ns),
        what: sentence(&format!("worker {} {lost}", orphan.worker)),
        cost: format!(
            "kept others waiting for {}; {over}",
            span_ns(orphan.blocked_ns)
        ),
    }
}

/// Every phase has a fixed place in the order of series.
const _: () = assert!(Phase::ALL.len() == 3);
