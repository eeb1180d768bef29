//! The metrics that limits can use.

use std::collections::BTreeMap;

use picklock_scenarios::BackendName;
use picklock_verdicts::check::Property;
use picklock_verdicts::latency::{HANDOVER, LOSS_REPORT, REQUESTED};
use picklock_verdicts::record::{Cell, Counts, Latency};

/// Reads a time from a latency, in microseconds.
type TimeOf = fn(&Latency) -> u64;

/// Reads a count. Returns `None` if it was not counted.
type CountOf = fn(&Counts) -> Option<f64>;

/// A metric of a cell, identified by its name in limits.
#[derive(Debug, Clone)]
pub struct Metric {
    name: String,
    source: Source,
}

/// The field of a cell's record that has the value.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// A latency of an operation that succeeded, over all runs of the cell.
    Time(&'static str, TimeOf),
    /// The number of operations that succeeded.
    Successes(&'static str),
    /// The number of runs in which the property was violated.
    Violations(Property),
    /// The number of runs in which the property is inconclusive.
    Unknown(Property),
    /// A count of the shown run.
    Count(CountOf),
}

/// In an open loop, `acquire` is measured from the buyer's arrival, [`REQUESTED`] from the worker's request.
/// [`HANDOVER`] and [`LOSS_REPORT`] are computed from the key history.
const OPERATIONS: [&str; 5] = ["acquire", REQUESTED, "release", HANDOVER, LOSS_REPORT];

const TIMES: [(&str, TimeOf); 5] = [
    ("p50", |latency| latency.p50_us),
    ("p90", |latency| latency.p90_us),
    ("p99", |latency| latency.p99_us),
    ("p999", |latency| latency.p999_us),
    ("max", |latency| latency.max_us),
];

/// `unserved` is counted only in an open loop.
const COUNTS: [(&str, CountOf); 9] = [
    ("granted", |counts| Some(counts.granted as f64)),
    ("refused", |counts| Some(counts.refused as f64)),
    ("failed", |counts| Some(counts.failed as f64)),
    ("sold", |counts| Some(counts.sold as f64)),
    ("unserved", |counts| Some(counts.unserved? as f64)),
    ("commands.grant", Counts::commands_per_grant),
    ("commands.waited_second", |counts| {
        Some(counts.waiting_per_s? as f64)
    }),
    ("commands.held_second", |counts| {
        Some(counts.holding_per_s? as f64)
    }),
    ("undeclared_keys", |counts| {
        Some(counts.undeclared_keys as f64)
    }),
];

impl Metric {
    /// Returns all metrics.
    pub fn all() -> Vec<Metric> {
        let mut all = Vec::new();
        let mut add = |name: String, source: Source| all.push(Metric { name, source });
        for operation in OPERATIONS {
            for (figure, read) in TIMES {
                add(
                    format!("{operation}.{figure}"),
                    Source::Time(operation, read),
                );
            }
            add(format!("{operation}.count"), Source::Successes(operation));
        }
        for property in Property::ALL {
            add(
                format!("violations.{property}"),
                Source::Violations(property),
            );
            add(format!("unknown.{property}"), Source::Unknown(property));
        }
        for (name, read) in COUNTS {
            add(name.to_owned(), Source::Count(read));
        }
        all
    }

    /// Returns the metric called `name`.
    pub fn named(name: &str) -> Option<Metric> {
        Metric::all().into_iter().find(|metric| metric.name == name)
    }

    /// Returns the name that limits use.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// Returns `true` for a time. Times are in microseconds, and in a server backend they depend on the machine.
    pub fn is_time(&self) -> bool {
        matches!(self.source, Source::Time(..))
    }

    /// Returns `true` for an integer count. The number of commands per grant is a fraction.
    pub fn is_whole(&self) -> bool {
        !self.is_time() && self.name != "commands.grant"
    }

    /// Returns its value, in microseconds for a time, or `None` if it was not measured.
    pub fn value_in(&self, cell: &Cell) -> Option<f64> {
        let value = match self.source {
            Source::Time(..) => return self.time_in(&cell.latency),
            Source::Successes(operation) => match cell.latency.get(operation) {
                Some(latency) => latency.count,
                // An event that never occurred has no latency.
                None if matches!(operation, HANDOVER | LOSS_REPORT) && has_key_history(cell) => 0,
                None => return None,
            },
            Source::Violations(property) => cell.tally.get(&property)?.violated,
            Source::Unknown(property) => cell.tally.get(&property)?.unknown,
            Source::Count(read) => return read(&cell.counts),
        };
        Some(value as f64)
    }

    /// Returns the number of runs of the cell that may hide an event of this metric.
    pub fn inconclusive_runs(&self, cell: &Cell) -> u64 {
        match self.source {
            Source::Violations(property) => {
                cell.tally.get(&property).map_or(0, |tally| tally.unknown)
            }
            _ => 0,
        }
    }

    /// Returns the time from these latencies by operation, in microseconds, or `None` if the metric is not a
    /// time or was not measured.
    pub fn time_in(&self, latencies: &BTreeMap<String, Latency>) -> Option<f64> {
        let Source::Time(operation, read) = self.source else {
            return None;
        };
        let latency = latencies.get(operation).filter(|it| it.count > 0)?;
        // The histogram's resolution is a microsecond, so a shorter time counts as one.
        Some(read(latency).max(1) as f64)
    }
}

/// Returns `true` if every run has a confirmed key history. The simulation always has one.
fn has_key_history(cell: &Cell) -> bool {
    let confirmed = cell
        .key_history
        .map(|key_history| key_history.confirmed_runs);
    cell.backend == BackendName::Sim || confirmed == Some(cell.runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metric_is_found_by_its_name() {
        let all = Metric::all();
        assert_eq!(all.len(), 30 + 8 + 8 + 9);
        for metric in all {
            let found = Metric::named(metric.as_str()).unwrap();
            assert_eq!(found.as_str(), metric.as_str());
            assert_eq!(format!("{found:?}"), format!("{metric:?}"));
        }
        assert!(Metric::named("acquire.p95").is_none());
    }

    #[test]
    fn unmeasured_time_is_not_zero() {
        let metric = Metric::named("acquire.p99").unwrap();
        let nothing = BTreeMap::from([("acquire".to_owned(), Latency::default())]);
        assert_eq!(metric.time_in(&nothing), None);
    }
}
