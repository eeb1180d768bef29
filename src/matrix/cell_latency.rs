//! The latencies of a cell's runs, combined as they arrive, because a matrix may run for days.

use std::collections::BTreeMap;

use picklock_harness::latency::{Samples, merge};
use picklock_harness::record::Latency;

/// Maximum number of samples to keep before they are summarized. The result is the same as that of a single summary.
const MAX_SAMPLES: usize = 1 << 16;

/// Maximum number of summaries to keep before they are combined.
const MAX_SUMMARIES: usize = 64;

/// Latencies of one run.
#[derive(Debug, Clone)]
pub enum RunLatency {
    /// The individual samples.
    Samples(Samples),
    /// Summaries, by operation.
    Summary(BTreeMap<String, Latency>),
}

/// The measurements so far.
#[derive(Debug, Default)]
pub struct CellLatency {
    samples: Samples,
    summaries: Vec<BTreeMap<String, Latency>>,
}

impl CellLatency {
    pub fn add(&mut self, run: RunLatency) {
        match run {
            RunLatency::Samples(samples) => {
                self.samples.add(samples);
                if self.samples.count() >= MAX_SAMPLES {
                    self.summarize_samples();
                }
            }
            RunLatency::Summary(summary) => self.summarize(summary),
        }
    }

    /// Returns the summary of all runs, by operation.
    pub fn summary(mut self) -> BTreeMap<String, Latency> {
        if self.summaries.is_empty() {
            return self.samples.summary();
        }
        self.summarize_samples();
        merge(&self.summaries)
    }

    fn summarize_samples(&mut self) {
        let samples = std::mem::take(&mut self.samples);
        if samples.count() > 0 {
            self.summarize(samples.summary());
        }
    }

    fn summarize(&mut self, summary: BTreeMap<String, Latency>) {
        self.summaries.push(summary);
        if self.summaries.len() >= MAX_SUMMARIES {
            self.summaries = vec![merge(&self.summaries)];
        }
    }
}

#[cfg(test)]
mod tests {
    use picklock_harness::history::read_history;
    use picklock_harness::latency::samples;

    use super::*;

    const RUNS: [&str; 3] = [
        include_str!("../../harness/verdicts/tests/histories/calm.jsonl"),
        include_str!("../../harness/verdicts/tests/histories/clock-jump.jsonl"),
        include_str!("../../harness/verdicts/tests/histories/ambiguous-acquire.jsonl"),
    ];

    fn run(text: &str) -> Samples {
        samples(&read_history(text.as_bytes()).expect("the history is whole"))
    }

    #[test]
    fn many_runs_give_the_same_as_all_of_them_at_once() {
        let (mut all, mut cell) = (Samples::default(), CellLatency::default());
        let runs = RUNS.map(run);
        assert!(runs.iter().all(|run| run.count() > 0));
        // Adds enough runs to exceed one summary, and some more that wait for the next.
        for run in runs.iter().cycle() {
            all.add(run.clone());
            cell.add(RunLatency::Samples(run.clone()));
            if !cell.summaries.is_empty() && cell.samples.count() > 20 {
                break;
            }
        }
        assert!(all.count() > MAX_SAMPLES);
        assert_eq!(cell.summary(), all.summary());
    }
}
