//! The costs of a lock, from the cells of scenarios that measure them.

use picklock_scenarios::{BackendName, Measure};
use picklock_verdicts::record::Cell;
use serde::Serialize;

/// The costs of using a lock. Each figure is omitted if no cell measured it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Costs {
    /// Backend of the measurements. If there are several, the one closest to production.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<BackendName>,
    /// Commands per acquisition while the lock is mostly free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<f64>,
    /// Commands per acquisition while many clients want the lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands_contended: Option<f64>,
    /// Time to acquire while the lock is mostly free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub healthy: Option<Percentiles>,
    /// Time to acquire while many clients want the lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contended: Option<Percentiles>,
    /// Time to acquire in a run with a failover.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failover: Option<Percentiles>,
    /// Share of requests that were granted while a minority of the nodes was unreachable, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granted_without_minority: Option<f64>,
}

/// Time to acquire, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Percentiles {
    /// The median.
    pub p50_us: u64,
    /// The 99th percentile.
    pub p99_us: u64,
}

impl Costs {
    /// Computes the costs of one lock.
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

/// Returns the share of requests that were granted in these cells.
fn granted<'a>(cells: impl Iterator<Item = &'a Cell>) -> Option<f64> {
    let (mut granted, mut requests) = (0_u64, 0_u64);
    for Cell { counts, .. } in cells {
        granted = granted.saturating_add(counts.granted);
        for number in [counts.granted, counts.refused, counts.failed] {
            requests = requests.saturating_add(number);
        }
    }
    (requests > 0).then(|| granted as f64 / requests as f64)
}
