//! What a lock costs, from the cells of scenarios that measure it.

use picklock_scenarios::{BackendName, Measure};
use picklock_verdicts::record::Cell;
use serde::Serialize;

/// What it costs to use a lock. Each figure is left out if no cell measured it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Costs {
    /// Where it was measured; of several backends the one that is closest to production.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<BackendName>,
    /// Commands for each acquisition while the lock is mostly free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<f64>,
    /// The same while many clients want it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands_contended: Option<f64>,
    /// To acquire while the lock is mostly free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub healthy: Option<Percentiles>,
    /// To acquire while many clients want it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contended: Option<Percentiles>,
    /// To acquire in a run with a failover.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failover: Option<Percentiles>,
    /// The share of requests that were granted while a minority of the nodes was out of reach, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granted_without_minority: Option<f64>,
}

/// How long it took to acquire, microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Percentiles {
    /// The median.
    pub p50_us: u64,
    /// 99 % took no longer.
    pub p99_us: u64,
}

impl Costs {
    /// What one lock costs.
    pub(super) fn from_cells(cells: &[&Cell]) -> Costs {
        let measured = |cell: &&&Cell| cell.setting.is_some_and(|it| it.measures.is_some());
        let backends = cells.iter().filter(measured).map(|cell| cell.backend);
        let Some(backend) = backends.max_by_key(|backend| *backend != BackendName::Sim) else {
            return Costs::default();
        };
        let measuring = |measure| {
            let here = cells.iter().filter(move |cell| cell.backend == backend);
            here.filter(move |cell| cell.setting.is_some_and(|it| it.measures == Some(measure)))
        };
        let commands =
            |measure| measuring(measure).find_map(|cell| cell.counts.commands_per_grant());
        let latency = |measure| measuring(measure).find_map(|cell| percentiles(cell));
        Costs {
            backend: Some(backend),
            commands: commands(Measure::Healthy),
            commands_contended: commands(Measure::Contended),
            healthy: latency(Measure::Healthy),
            contended: latency(Measure::Contended),
            failover: latency(Measure::Failover),
            granted_without_minority: granted(measuring(Measure::Minority).copied()),
        }
    }
}

fn percentiles(cell: &Cell) -> Option<Percentiles> {
    let acquire = cell.latency.get("acquire").filter(|it| it.count > 0)?;
    Some(Percentiles {
        p50_us: acquire.p50_us,
        p99_us: acquire.p99_us,
    })
}

/// The share of requests that were granted in these cells.
fn granted<'a>(cells: impl Iterator<Item = &'a Cell>) -> Option<f64> {
    let counts = cells.map(|cell| {
        let counts = &cell.counts;
        let refused = counts.refused.saturating_add(counts.failed);
        (counts.granted, counts.granted.saturating_add(refused))
    });
    let (granted, asked) = counts.fold((0_u64, 0_u64), |(granted, asked), (more, of)| {
        (granted.saturating_add(more), asked.saturating_add(of))
    });
    (asked > 0).then(|| granted as f64 / asked as f64)
}
