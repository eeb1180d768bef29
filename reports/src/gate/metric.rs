//! The metrics that limits use.

use std::collections::BTreeMap;

use picklock_scenarios::BackendName;
use picklock_verdicts::check::Property;
use picklock_verdicts::latency::{ASKED, HANDOVER, LOSS_REPORT};
use picklock_verdicts::record::{Cell, Counts, Latency};

/// Microseconds.
type TimeOf = fn(&Latency) -> u64;

/// `None` if nothing is counted.
type CountOf = fn(&Counts) -> Option<f64>;

/// A metric of a cell, by its word.
#[derive(Debug, Clone)]
pub struct Metric {
    word: String,
    of: Of,
}

/// Where the value stands in the record of a cell.
#[derive(Debug, Clone, Copy)]
enum Of {
    /// A latency of an operation that succeeded, over all runs of the cell.
    Time(&'static str, TimeOf),
    /// How often the operation succeeded.
    Successes(&'static str),
    /// The number of runs in which the property was violated.
    Violations(Property),
    /// The number of runs in which it could not be decided.
    Unknown(Property),
    /// A count of the shown run.
    Count(CountOf),
}

/// In an open loop, `acquire` is timed from the buyer's arrival, [`ASKED`] from the worker's request.
/// [`HANDOVER`] and [`LOSS_REPORT`] come from the servers' keys.
const OPERATIONS: [&str; 5] = ["acquire", ASKED, "release", HANDOVER, LOSS_REPORT];

const TIMES: [(&str, TimeOf); 5] = [
    ("p50", |latency| latency.p50_us),
    ("p90", |latency| latency.p90_us),
    ("p99", |latency| latency.p99_us),
    ("p999", |latency| latency.p999_us),
    ("max", |latency| latency.max_us),
];

/// `unserved` is only counted in an open loop.
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
    /// Every metric.
    pub fn all() -> Vec<Metric> {
        let mut all = Vec::new();
        let mut add = |word: String, of: Of| all.push(Metric { word, of });
        for operation in OPERATIONS {
            for (figure, of) in TIMES {
                add(format!("{operation}.{figure}"), Of::Time(operation, of));
            }
            add(format!("{operation}.count"), Of::Successes(operation));
        }
        for property in Property::ALL {
            add(format!("violations.{property}"), Of::Violations(property));
            add(format!("unknown.{property}"), Of::Unknown(property));
        }
        for (name, of) in COUNTS {
            add(name.to_owned(), Of::Count(of));
        }
        all
    }

    /// The metric of that word.
    pub fn named(word: &str) -> Option<Metric> {
        Metric::all().into_iter().find(|metric| metric.word == word)
    }

    /// The word that limits use.
    pub fn as_str(&self) -> &str {
        &self.word
    }

    /// True for a time: in microseconds, and in a server backend dependent on the machine.
    pub fn is_time(&self) -> bool {
        matches!(self.of, Of::Time(..))
    }

    /// True for a number of things. Commands for each grant are a fraction.
    pub fn is_whole(&self) -> bool {
        !self.is_time() && self.word != "commands.grant"
    }

    /// Its value: microseconds or a number. `None` if nothing was measured.
    pub fn of(&self, cell: &Cell) -> Option<f64> {
        let value = match self.of {
            Of::Time(..) => return self.time_in(&cell.latency),
            Of::Successes(operation) => match cell.latency.get(operation) {
                Some(latency) => latency.count,
                // What never happened has no latency.
                None if matches!(operation, HANDOVER | LOSS_REPORT) && has_key_history(cell) => 0,
                None => return None,
            },
            Of::Violations(property) => cell.tally.get(&property)?.violated,
            Of::Unknown(property) => cell.tally.get(&property)?.unknown,
            Of::Count(of) => return of(&cell.counts),
        };
        Some(value as f64)
    }

    /// In how many runs of the cell it could not be said whether they count.
    pub fn undecided_of(&self, cell: &Cell) -> u64 {
        match self.of {
            Of::Violations(property) => cell.tally.get(&property).map_or(0, |tally| tally.unknown),
            _ => 0,
        }
    }

    /// The time in these latencies by operation, microseconds; `None` if it is not a time, or nothing was
    /// measured.
    pub fn time_in(&self, latencies: &BTreeMap<String, Latency>) -> Option<f64> {
        let Of::Time(operation, of) = self.of else {
            return None;
        };
        let latency = latencies.get(operation).filter(|it| it.count > 0)?;
        // The histogram's resolution is a microsecond: a shorter time is not zero.
        Some(of(latency).max(1) as f64)
    }
}

/// True if it is known of every run what happened to the servers' keys. The simulation always knows.
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
    fn every_word_names_its_metric() {
        let all = Metric::all();
        assert_eq!(all.len(), 30 + 7 + 7 + 9);
        for metric in all {
            let found = Metric::named(metric.as_str()).unwrap();
            assert_eq!(found.as_str(), metric.as_str());
            assert_eq!(format!("{found:?}"), format!("{metric:?}"));
        }
        assert!(Metric::named("acquire.p95").is_none());
    }

    #[test]
    fn unmeasured_time_is_no_zero() {
        let metric = Metric::named("acquire.p99").unwrap();
        let nothing = BTreeMap::from([("acquire".to_owned(), Latency::default())]);
        assert_eq!(metric.time_in(&nothing), None);
    }
}
