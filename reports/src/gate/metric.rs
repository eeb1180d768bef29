//! The metrics that limits use.

use picklock_verdicts::check::Property;
use picklock_verdicts::latency::ASKED;
use picklock_verdicts::record::{Cell, Latency};

/// A metric of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Of a successful operation, over all runs of the cell.
    Operation(Operation, Figure),
    /// The number of runs in which the property was violated.
    Violations(Property),
    /// The number of runs in which it could not be decided.
    Unknown(Property),
    /// Of the shown run.
    Count(Counted),
}

/// The timed operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// In an open loop, from the buyer's arrival.
    Acquire,
    /// Only in an open loop: from the worker's request.
    AcquireAsked,
    Release,
}

/// A figure of the operation's latency, or the number of successes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    P50,
    P90,
    P99,
    P999,
    Max,
    Count,
}

/// The counted events of a cell's shown run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counted {
    Granted,
    Refused,
    Failed,
    Sold,
    /// Only in an open loop.
    Unserved,
}

const OPERATIONS: [(Operation, &str); 3] = [
    (Operation::Acquire, "acquire"),
    (Operation::AcquireAsked, ASKED),
    (Operation::Release, "release"),
];

const FIGURES: [(Figure, &str); 6] = [
    (Figure::P50, "p50"),
    (Figure::P90, "p90"),
    (Figure::P99, "p99"),
    (Figure::P999, "p999"),
    (Figure::Max, "max"),
    (Figure::Count, "count"),
];

const COUNTED: [(Counted, &str); 5] = [
    (Counted::Granted, "granted"),
    (Counted::Refused, "refused"),
    (Counted::Failed, "failed"),
    (Counted::Sold, "sold"),
    (Counted::Unserved, "unserved"),
];

impl Metric {
    /// Every metric with its word.
    pub fn all() -> Vec<(Metric, String)> {
        let mut all = Vec::new();
        for (operation, name) in OPERATIONS {
            for (figure, suffix) in FIGURES {
                all.push((
                    Metric::Operation(operation, figure),
                    format!("{name}.{suffix}"),
                ));
            }
        }
        for property in Property::ALL {
            all.push((
                Metric::Violations(property),
                format!("violations.{property}"),
            ));
        }
        for property in Property::ALL {
            all.push((Metric::Unknown(property), format!("unknown.{property}")));
        }
        for (counted, name) in COUNTED {
            all.push((Metric::Count(counted), name.to_owned()));
        }
        all
    }

    /// The metric of that word.
    pub fn named(word: &str) -> Option<Metric> {
        let mut all = Metric::all().into_iter();
        all.find(|(_, name)| name == word).map(|(metric, _)| metric)
    }

    /// The word that limits use.
    pub fn word(self) -> String {
        let mut all = Metric::all().into_iter();
        all.find(|(metric, _)| *metric == self)
            .map(|(_, name)| name)
            .unwrap_or_default()
    }

    /// True for a time: in microseconds, and in a server backend dependent on the machine.
    pub fn is_time(self) -> bool {
        matches!(self, Metric::Operation(_, figure) if figure != Figure::Count)
    }

    /// Its value: microseconds or a number. `None` if nothing was measured.
    pub fn of(self, cell: &Cell) -> Option<f64> {
        let tally = |property| cell.tally.get(&property);
        let counts = &cell.counts;
        let value = match self {
            Metric::Operation(operation, _) => {
                return self.of_latency(cell.latency.get(name(operation))?);
            }
            Metric::Violations(property) => tally(property)?.violated as f64,
            Metric::Unknown(property) => tally(property)?.unknown as f64,
            Metric::Count(Counted::Granted) => counts.granted as f64,
            Metric::Count(Counted::Refused) => counts.refused as f64,
            Metric::Count(Counted::Failed) => counts.failed as f64,
            Metric::Count(Counted::Sold) => counts.sold as f64,
            Metric::Count(Counted::Unserved) => counts.unserved? as f64,
        };
        Some(value)
    }

    /// The operation that it is about, by its name in records.
    pub fn operation(self) -> Option<&'static str> {
        match self {
            Metric::Operation(operation, _) => Some(name(operation)),
            _ => None,
        }
    }

    /// Its value in the latency of its operation; `None` if nothing was measured, or if it is not a
    /// latency.
    pub fn of_latency(self, latency: &Latency) -> Option<f64> {
        let Metric::Operation(_, figure) = self else {
            return None;
        };
        let value = match figure {
            Figure::Count => return Some(latency.count as f64),
            _ if latency.count == 0 => return None,
            Figure::P50 => latency.p50_us,
            Figure::P90 => latency.p90_us,
            Figure::P99 => latency.p99_us,
            Figure::P999 => latency.p999_us,
            Figure::Max => latency.max_us,
        };
        // The histogram's resolution is a microsecond: a shorter time is not zero.
        Some(value.max(1) as f64)
    }
}

fn name(operation: Operation) -> &'static str {
    let found = OPERATIONS.iter().find(|(known, _)| *known == operation);
    found.map_or("", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_names_its_metric() {
        let all = Metric::all();
        assert_eq!(all.len(), 18 + 7 + 7 + 5);
        for (metric, word) in all {
            assert_eq!(Metric::named(&word), Some(metric), "{word}");
            assert_eq!(metric.word(), word);
        }
        assert_eq!(Metric::named("acquire.p95"), None);
    }

    #[test]
    fn nothing_measured_is_no_zero() {
        let metric = Metric::named("acquire.p99").unwrap();
        assert_eq!(metric.of_latency(&Latency::default()), None);
        let count = Metric::named("acquire.count").unwrap();
        assert_eq!(count.of_latency(&Latency::default()), Some(0.0));
    }
}
