//! Latencies of the lock, as HdrHistograms.
//!
//! Latency is measured from the driver's request to the worker's answer, on the driver's clock.
//! Only operations that succeeded are measured: a refusal takes as long as the scenario lets the
//! client wait, and would hide the lock's own time.
//!
//! In an open loop `acquire` begins earlier, when the buyer arrived, even if no worker was free then. For comparison
//! there is also [`REQUESTED`], measured from the worker's own request. It excludes the time in which a buyer waited
//! for a free worker.
//!
//! [`HANDOVER`] and [`LOSS_REPORT`] are computed from the servers' keys, if the run has a key history.
//!
//! Several runs are combined as [`Samples`] if their histories are available, and with [`merge`] if
//! there are only summaries.

mod key_times;

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

pub use crate::encoded_histogram::{DecodeError, decode, empty_histogram};
use crate::encoded_histogram::{MAX_US, encode};
use crate::history::History;
use crate::record::Latency;
use crate::timeline::{Operation, OperationKind, each_operation};

const ACQUIRE: &str = "acquire";
const RELEASE: &str = "release";

/// Name in records of an open loop's acquisitions, measured from the worker's request.
pub const REQUESTED: &str = "acquire_requested";

/// Name in records of the time for which a lock was free, and some client was waiting for it, before it was taken.
pub const HANDOVER: &str = "handover";

/// Name in records of the time from the loss of a lock to the report of the loss to its holder.
pub const LOSS_REPORT: &str = "loss_report";

/// Computes the percentiles and the histogram of `values_us`, which are in microseconds.
///
/// All values, including the maximum, are read from the histogram, so decoding it yields the same ones. They exceed
/// the recorded values by at most 0.1 %. If nothing was recorded, all are zero.
pub fn summarize(values_us: impl Iterator<Item = u64>) -> Latency {
    let mut histogram = empty_histogram();
    for value_us in values_us {
        histogram.saturating_record(value_us);
    }
    summary_of(&histogram)
}

fn summary_of(histogram: &Histogram<u64>) -> Latency {
    // All quantiles in one pass, because a histogram has many more buckets than a run has values.
    let mut quantiles = histogram.value_at_quantiles([0.5, 0.9, 0.99, 0.999]);
    let mut next = || quantiles.next().unwrap_or_default();
    Latency {
        count: histogram.len(),
        p50_us: next(),
        p90_us: next(),
        p99_us: next(),
        p999_us: next(),
        max_us: histogram.max(),
        histogram: encode(histogram),
    }
}

/// Returns the latencies of one run, by operation.
pub fn from_history(history: &History) -> BTreeMap<String, Latency> {
    samples(history).summary()
}

/// The measured values of one or more runs in microseconds, by operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Samples(BTreeMap<&'static str, Vec<u64>>);

impl Default for Samples {
    fn default() -> Self {
        Samples([(ACQUIRE, Vec::new()), (RELEASE, Vec::new())].into())
    }
}

impl Samples {
    /// Adds the values of another run. The order of runs does not matter.
    pub fn add(&mut self, other: Samples) {
        for (operation, values_us) in other.0 {
            self.values(operation).extend(values_us);
        }
    }

    /// Returns the number of values.
    pub fn count(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    fn values(&mut self, operation: &'static str) -> &mut Vec<u64> {
        self.0.entry(operation).or_default()
    }

    fn take(&mut self, operation: &Operation) {
        let ended_at_ns = operation.ended_at_ns;
        let from_request_us = micros(operation.requested_at_ns, ended_at_ns);
        // An intended time means that the loop is open.
        if operation.intended_ns.is_some() {
            self.values(REQUESTED);
        }
        if operation.succeeded(OperationKind::Release) {
            self.values(RELEASE).push(from_request_us);
        }
        if operation.succeeded(OperationKind::Acquire) {
            let from_arrival_us = micros(operation.wanted_ns(), ended_at_ns);
            self.values(ACQUIRE).push(from_arrival_us);
            if let Some(all) = self.0.get_mut(REQUESTED) {
                all.push(from_request_us);
            }
        }
    }

    /// Summarizes by operation: `acquire`, `release`, [`REQUESTED`] in an open loop, and the times from the servers'
    /// keys.
    pub fn summary(&self) -> BTreeMap<String, Latency> {
        let all = self.0.iter();
        all.map(|(operation, all)| ((*operation).to_owned(), summarize(all.iter().copied())))
            .collect()
    }
}

/// Combines the latencies of several runs, by operation. Skips summaries whose histogram cannot be decoded, because
/// another program wrote them.
pub fn merge<'a>(
    runs: impl IntoIterator<Item = &'a BTreeMap<String, Latency>>,
) -> BTreeMap<String, Latency> {
    let mut merged: BTreeMap<String, Histogram<u64>> = BTreeMap::new();
    for (operation, latency) in runs.into_iter().flatten() {
        let Ok(one) = decode(&latency.histogram) else {
            continue;
        };
        let all = merged
            .entry(operation.clone())
            .or_insert_with(empty_histogram);
        for step in one.iter_recorded() {
            let value_us = step.value_iterated_to().min(MAX_US);
            all.saturating_record_n(value_us, step.count_at_value());
        }
    }
    let summaries = merged.into_iter();
    summaries
        .map(|(operation, histogram)| (operation, summary_of(&histogram)))
        .collect()
}

/// Measures the latencies of one run from its history.
pub fn samples(history: &History) -> Samples {
    let mut samples = Samples::default();
    each_operation(history, |operation| samples.take(&operation));
    let times = key_times::key_times(history).unwrap_or_default();
    for (operation, values_us) in [
        (HANDOVER, times.handover_us),
        (LOSS_REPORT, times.loss_report_us),
    ] {
        if !values_us.is_empty() {
            samples.values(operation).extend(values_us);
        }
    }
    samples
}

fn micros(from_ns: u64, to_ns: u64) -> u64 {
    to_ns.saturating_sub(from_ns) / 1_000
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::history::{Event, EventKind, read_history};

    fn decode(latency: &Latency) -> Histogram<u64> {
        super::decode(&latency.histogram).unwrap()
    }

    #[test]
    fn invalid_histogram_is_omitted_from_a_merge() {
        let invalid = Latency {
            count: 7,
            histogram: "nonsense".into(),
            ..Latency::default()
        };
        let runs = [
            BTreeMap::from([("acquire".to_owned(), invalid)]),
            BTreeMap::from([("acquire".to_owned(), summarize([5].into_iter()))]),
        ];
        assert_eq!(merge(&runs)["acquire"].count, 1);
        assert!(merge(&runs[..1]).is_empty());
    }

    /// Returns the smallest value that is not less than the fraction `quantile` of all values.
    fn naive(sorted_us: &[u64], quantile: f64) -> u64 {
        let rank = (quantile * sorted_us.len() as f64).ceil() as usize;
        sorted_us[rank.clamp(1, sorted_us.len()) - 1]
    }

    #[test]
    fn empty_histogram_is_all_zero_and_decodes() {
        let latency = summarize(std::iter::empty());
        assert_eq!((latency.count, latency.p50_us, latency.max_us), (0, 0, 0));
        assert_eq!(decode(&latency).len(), 0);
    }

    #[test]
    fn latency_above_an_hour_counts_as_an_hour() {
        let latency = summarize([u64::MAX].into_iter());
        assert_eq!(latency.count, 1);
        assert!(latency.max_us >= MAX_US && latency.max_us <= MAX_US / 1_000 * 1_001);
    }

    #[test]
    fn histogram_distinguishes_a_microsecond_from_an_hour() {
        let latency = summarize([1, 1, 1, MAX_US].into_iter());
        assert_eq!(latency.p50_us, 1);
        assert!(latency.p999_us >= MAX_US);
    }

    proptest! {
        #[test]
        fn merged_runs_equal_one_run_with_all_values(
            first_us in prop::collection::vec(0..=MAX_US, 0..50),
            second_us in prop::collection::vec(0..5_000_u64, 0..50),
        ) {
            let run = |values_us: &[u64]| {
                BTreeMap::from([("acquire".to_owned(), summarize(values_us.iter().copied()))])
            };
            let together = [first_us.as_slice(), second_us.as_slice()].concat();
            let merged = merge([&run(&first_us), &run(&second_us)]);
            prop_assert_eq!(decode(&merged["acquire"]), decode(&run(&together)["acquire"]));
        }

        /// A matrix with many runs merges them in batches.
        #[test]
        fn merging_in_batches_equals_merging_at_once(
            runs_us in prop::collection::vec(prop::collection::vec(0..=MAX_US, 0..20), 1..9),
            first in 0..9_usize,
        ) {
            let runs: Vec<_> = runs_us
                .iter()
                .map(|run_us| BTreeMap::from([("acquire".to_owned(), summarize(run_us.iter().copied()))]))
                .collect();
            let (some, rest) = runs.split_at(first.min(runs.len()));
            let batch = merge(some);
            prop_assert_eq!(merge(std::iter::once(&batch).chain(rest)), merge(&runs));
        }

        #[test]
        fn percentiles_survive_encoding_and_match_a_sorted_list(
            mut values_us in prop::collection::vec(
                prop_oneof![0..2_000_u64, 0..10_000_000_u64, 0..=MAX_US], 1..400),
        ) {
            let latency = summarize(values_us.iter().copied());
            let decoded = decode(&latency);
            values_us.sort_unstable();
            prop_assert_eq!(latency.count, values_us.len() as u64);
            prop_assert_eq!(decoded.len(), latency.count);
            prop_assert_eq!(decoded.max(), latency.max_us);
            for (quantile, shown_us) in [
                (0.5, latency.p50_us),
                (0.9, latency.p90_us),
                (0.99, latency.p99_us),
                (0.999, latency.p999_us),
                (1.0, latency.max_us),
            ] {
                prop_assert_eq!(decoded.value_at_quantile(quantile), shown_us);
                let exact_us = naive(&values_us, quantile);
                prop_assert!(
                    shown_us >= exact_us && shown_us - exact_us <= exact_us / 1_000,
                    "quantile {}: {} shown for {}", quantile, shown_us, exact_us
                );
            }
        }
    }

    fn history(events: Vec<(u64, EventKind)>) -> History {
        let header = concat!(
            r#"{"format":"picklock-history/1","scenario":"calm","lock":"s","backend":"sim","#,
            r#""seed":1,"workers":2,"nodes":1,"keys":["k"],"ttl_ms":1000,"stock_start":1,"#,
            r#""update":"decrement","min_grants":0,"progress_within_ms":1000}"#,
        );
        let mut history = read_history(header.as_bytes()).unwrap();
        history.events = events
            .into_iter()
            .map(|(at_us, what)| Event {
                at_ns: at_us * 1_000,
                what,
            })
            .collect();
        history
    }

    fn acquire(worker: usize, op: u64) -> EventKind {
        EventKind::Acquire {
            worker,
            op,
            key: 0,
            ttl_ms: 1000,
            wait_ms: 0,
            intended_ns: None,
            weight: 1,
        }
    }

    fn acquire_for(worker: usize, op: u64, intended_us: u64) -> EventKind {
        let EventKind::Acquire {
            key,
            ttl_ms,
            wait_ms,
            ..
        } = acquire(worker, op)
        else {
            unreachable!("`acquire` returns this variant");
        };
        EventKind::Acquire {
            worker,
            op,
            key,
            ttl_ms,
            wait_ms,
            intended_ns: Some(intended_us * 1_000),
            weight: 1,
        }
    }

    fn granted(worker: usize, op: u64) -> EventKind {
        EventKind::Granted {
            worker,
            op,
            token: "t".into(),
            fence: None,
            valid_ms: None,
            elapsed_ms: None,
        }
    }

    #[test]
    fn only_successes_count_and_are_paired_by_number() {
        let history = history(vec![
            (0, acquire(0, 1)),
            (100, acquire(1, 2)),
            (300, granted(0, 1)),
            (400, EventKind::Refused { worker: 1, op: 2 }),
            (1_000, EventKind::Release { worker: 0, op: 1 }),
            (
                1_050,
                EventKind::Released {
                    worker: 0,
                    op: 1,
                    released: Some(true),
                    last_command_ns: None,
                },
            ),
            // A grant without a request must be ignored, and must not crash the report.
            (1_100, granted(1, 99)),
        ]);
        let latency = from_history(&history);
        assert_eq!(
            (latency["acquire"].count, latency["acquire"].max_us),
            (1, 300)
        );
        assert_eq!(
            (latency["release"].count, latency["release"].max_us),
            (1, 50)
        );
    }

    #[test]
    fn closed_loop_has_no_latency_from_the_request() {
        let closed = history(vec![(0, acquire(0, 1)), (100, granted(0, 1))]);
        let operations: Vec<_> = from_history(&closed).into_keys().collect();
        assert_eq!(operations, ["acquire", "release"]);
    }

    #[test]
    fn waiting_for_a_worker_counts_as_waiting() {
        let history = history(vec![
            (0, acquire_for(0, 1, 0)),
            // The lock and its only worker are slow.
            (900, granted(0, 1)),
            (900, acquire_for(0, 2, 300)),
            (910, granted(0, 2)),
            // After a refusal and a retry, the buyer has waited since it arrived.
            (920, acquire_for(0, 3, 600)),
            (930, EventKind::Refused { worker: 0, op: 3 }),
            (940, acquire_for(0, 4, 600)),
            (950, granted(0, 4)),
        ]);
        let mut samples = samples(&history);
        assert_eq!(samples.0[ACQUIRE], [900, 610, 350]);
        assert_eq!(samples.0[REQUESTED], [900, 10, 10]);
        samples.add(super::samples(&history));
        let summary = samples.summary();
        assert_eq!(
            (summary["acquire"].count, summary["acquire"].p50_us),
            (6, 610)
        );
        assert_eq!(
            (summary[REQUESTED].count, summary[REQUESTED].p50_us),
            (6, 10)
        );
    }
}
