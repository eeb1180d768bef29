//! How long the subject took to answer, as HdrHistograms.
//!
//! Latency is measured where the history is: from the driver's request to the worker's answer, on
//! the driver's clock. Only what succeeded is measured; how long a refusal takes is the wait that
//! the scenario asked for, and would hide the lock's own time.

use std::collections::{BTreeMap, HashMap};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

use crate::history::{History, What};
use crate::record::Latency;

/// The longest latency that is told apart, microseconds; what is longer counts as this long.
const LONGEST_US: u64 = 3_600_000_000;

/// Percentiles are exact to this many decimal digits.
const SIGNIFICANT_DIGITS: u8 = 3;

/// Percentiles and histogram of `values_us`, microseconds.
///
/// All figures, the maximum too, are the histogram's own: whoever decodes it finds the same ones.
/// They are at most a thousandth above the value that was recorded. Nothing recorded: all zero.
pub fn summarize(values_us: impl Iterator<Item = u64>) -> Latency {
    let mut histogram = Histogram::<u64>::new_with_bounds(1, LONGEST_US, SIGNIFICANT_DIGITS)
        .expect("the bounds are constants that the histogram accepts");
    for value_us in values_us {
        histogram.saturating_record(value_us);
    }
    Latency {
        count: histogram.len(),
        p50_us: histogram.value_at_quantile(0.5),
        p90_us: histogram.value_at_quantile(0.9),
        p99_us: histogram.value_at_quantile(0.99),
        p999_us: histogram.value_at_quantile(0.999),
        max_us: histogram.max(),
        histogram: encode(&histogram),
    }
}

/// Latency by operation: `acquire` from request to grant, `release` from request to answer.
pub fn of_history(history: &History) -> BTreeMap<String, Latency> {
    let mut asked_ns: HashMap<u64, u64> = HashMap::new();
    let mut acquire_us = Vec::new();
    let mut release_us = Vec::new();
    for event in &history.events {
        match event.what {
            What::Acquire { op, .. } | What::Release { op, .. } => {
                asked_ns.insert(op, event.at_ns);
            }
            What::Granted { op, .. } => {
                acquire_us.extend(since(&mut asked_ns, op, event.at_ns));
            }
            What::Released { op, .. } => {
                release_us.extend(since(&mut asked_ns, op, event.at_ns));
            }
            What::Refused { op, .. }
            | What::AcquireFailed { op, .. }
            | What::ReleaseFailed { op, .. } => {
                asked_ns.remove(&op);
            }
            _ => {}
        }
    }
    BTreeMap::from([
        ("acquire".to_owned(), summarize(acquire_us.into_iter())),
        ("release".to_owned(), summarize(release_us.into_iter())),
    ])
}

/// Microseconds since the request of `op`, which is answered by this.
fn since(asked_ns: &mut HashMap<u64, u64>, op: u64, at_ns: u64) -> Option<u64> {
    let sent_ns = asked_ns.remove(&op)?;
    Some(at_ns.saturating_sub(sent_ns) / 1_000)
}

/// HdrHistogram V2, deflate, base64: what HdrHistogram's own tools read.
fn encode(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .expect("a histogram of these bounds fits its format, and a vector takes every write");
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::Deserializer;
    use proptest::prelude::*;

    use super::*;
    use crate::history::{Event, read_history};

    fn decode(latency: &Latency) -> Histogram<u64> {
        let bytes = STANDARD.decode(&latency.histogram).unwrap();
        Deserializer::new().deserialize(&mut &bytes[..]).unwrap()
    }

    /// The smallest value that at least `quantile` of all values do not exceed.
    fn naive(sorted_us: &[u64], quantile: f64) -> u64 {
        let rank = (quantile * sorted_us.len() as f64).ceil() as usize;
        sorted_us[rank.clamp(1, sorted_us.len()) - 1]
    }

    #[test]
    fn nothing_recorded_is_all_zero_and_still_decodes() {
        let latency = summarize(std::iter::empty());
        assert_eq!((latency.count, latency.p50_us, latency.max_us), (0, 0, 0));
        assert_eq!(decode(&latency).len(), 0);
    }

    #[test]
    fn what_exceeds_an_hour_counts_as_an_hour() {
        let latency = summarize([u64::MAX].into_iter());
        assert_eq!(latency.count, 1);
        assert!(latency.max_us >= LONGEST_US && latency.max_us <= LONGEST_US / 1_000 * 1_001);
    }

    #[test]
    fn an_hour_and_a_microsecond_are_told_apart_in_one_histogram() {
        let latency = summarize([1, 1, 1, LONGEST_US].into_iter());
        assert_eq!(latency.p50_us, 1);
        assert!(latency.p999_us >= LONGEST_US);
    }

    proptest! {
        #[test]
        fn percentiles_survive_the_encoding_and_agree_with_a_sorted_list(
            mut values_us in prop::collection::vec(
                prop_oneof![0..2_000_u64, 0..10_000_000_u64, 0..=LONGEST_US], 1..400),
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

    fn history(events: Vec<(u64, What)>) -> History {
        let header = concat!(
            r#"{"format":"picklock-history/1","scenario":"calm","subject":"s","backend":"sim","#,
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

    fn acquire(worker: usize, op: u64) -> What {
        What::Acquire {
            worker,
            op,
            key: 0,
            ttl_ms: 1000,
            wait_ms: 0,
        }
    }

    fn granted(worker: usize, op: u64) -> What {
        What::Granted {
            worker,
            op,
            token: "t".into(),
            fence: None,
            valid_ms: None,
            elapsed_ms: None,
        }
    }

    #[test]
    fn operations_are_paired_by_their_number_and_only_successes_count() {
        let history = history(vec![
            (0, acquire(0, 1)),
            (100, acquire(1, 2)),
            (300, granted(0, 1)),
            (400, What::Refused { worker: 1, op: 2 }),
            (1_000, What::Release { worker: 0, op: 1 }),
            (
                1_050,
                What::Released {
                    worker: 0,
                    op: 1,
                    released: true,
                    last_command_ns: None,
                },
            ),
            // A grant that nobody asked for must not count, nor crash the report.
            (1_100, granted(1, 99)),
        ]);
        let latency = of_history(&history);
        assert_eq!(
            (latency["acquire"].count, latency["acquire"].max_us),
            (1, 300)
        );
        assert_eq!(
            (latency["release"].count, latency["release"].max_us),
            (1, 50)
        );
    }
}
