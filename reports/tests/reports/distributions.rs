//! Percentile distributions and interval logs, held to the reference's algorithm and to its output.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use picklock_reports::combine::of_run;
use picklock_reports::hgrm;
use picklock_reports::report_input::ReportInput;
use picklock_verdicts::latency::summarize;
use proptest::prelude::*;

use crate::cells::{file, matrix};
use crate::samples;

/// What `HistogramLogProcessor` of HdrHistogram for Java 2.1.11 made of [`material`]'s log:
/// `-i latency.hlog -o reference -tag set-nx-px-calm-process-acquire -outputValueUnitRatio 1000`.
const REFERENCE: &str = include_str!("../reference.hgrm");

/// Values over six orders of magnitude.
fn values_us() -> Vec<u64> {
    (1..=5_000_u64)
        .map(|i| i * i * i % 1_000_003 * (1 + i % 7))
        .collect()
}

fn material() -> ReportInput {
    let (record, _) = samples::calm();
    let mut material = of_run(record, None);
    let cell = &mut material.matrix.cells[0];
    cell.latency
        .insert("acquire".into(), summarize(values_us().into_iter()));
    material
}

#[test]
fn the_reference_implementation_prints_the_same() {
    let ours = file(
        &material(),
        "hgrm",
        "latency/set-nx-px-calm-process-acquire.hgrm",
    );
    // Its first line says which part of the log it has read.
    let (_, theirs) = REFERENCE.split_once('\n').unwrap();
    assert_eq!(ours, theirs);
}

/// The highest value that a histogram of three digits does not tell from this one.
fn highest_equivalent(value: u64) -> u64 {
    let width = 1_u64 << (64 - value.leading_zeros()).saturating_sub(11);
    value / width * width + width - 1
}

/// Value, percentile and count of each line, by the definition: levels at a fixed number of steps
/// for each half of the distance to 100 %, each with the first value that reaches it.
fn expected(values_us: &[u64]) -> Vec<(u64, f64, u64)> {
    let mut values: Vec<u64> = values_us
        .iter()
        .map(|value| highest_equivalent(*value))
        .collect();
    values.sort_unstable();
    let total = values.len() as u64;
    let mut lines = Vec::new();
    for half in 0_i32.. {
        for tick in 0..5 {
            let distance = 100.0 / 2_f64.powi(half);
            let level = 100.0 - distance + f64::from(tick) * distance / 10.0;
            let reaches = |value: &u64| {
                let count = values.partition_point(|other| other <= value);
                100.0 * count as f64 / total as f64 >= level
            };
            let value = *values.iter().find(|value| reaches(value)).unwrap();
            let count = values.partition_point(|other| *other <= value) as u64;
            lines.push((value, level, count));
            if count == total {
                lines.push((value, 100.0, total));
                return lines;
            }
        }
    }
    unreachable!("every level below 100 % is reached")
}

fn printed(text: &str) -> Vec<(u64, f64, u64)> {
    let lines = text
        .lines()
        .skip(2)
        .take_while(|line| !line.starts_with('#'));
    let columns = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    columns
        .map(|columns| {
            let value_ms: f64 = columns[0].parse().unwrap();
            let quantile: f64 = columns[1].parse().unwrap();
            (
                (value_ms * 1_000.0).round() as u64,
                quantile * 100.0,
                columns[2].parse().unwrap(),
            )
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_line_follows_from_the_values(
        values_us in prop::collection::vec(prop_oneof![1..3_000_u64, 1..60_000_000_u64], 1..300),
    ) {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 3_600_000_000, 3).unwrap();
        for value_us in &values_us {
            histogram.record(*value_us).unwrap();
        }
        let printed = printed(&hgrm::text(&histogram));
        let expected = expected(&values_us);
        prop_assert_eq!(printed.len(), expected.len());
        for (ours, theirs) in printed.iter().zip(&expected) {
            prop_assert_eq!((ours.0, ours.2), (theirs.0, theirs.2));
            prop_assert!((ours.1 - theirs.1).abs() < 1e-9, "{} for {}", ours.1, theirs.1);
        }
    }
}

#[test]
fn the_log_holds_every_histogram_under_its_tag() {
    let material = matrix();
    let log = file(&material, "hlog", "latency.hlog");
    assert!(
        log.starts_with("#[Histogram log format version 1.3]\n"),
        "{log}"
    );
    // This crate's reader does not know the legend that the reference writes and reads.
    let body: String = log
        .lines()
        .filter(|line| !line.starts_with('"'))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(log.lines().count() - body.lines().count(), 1);
    let mut tags = Vec::new();
    for entry in IntervalLogIterator::new(body.as_bytes()) {
        let LogEntry::Interval(interval) = entry.unwrap() else {
            continue;
        };
        tags.push(interval.tag().unwrap().as_str().to_owned());
        let bytes = base64_of(interval.encoded_histogram());
        let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
        assert!(!histogram.is_empty());
        assert!((interval.max() * 1_000.0 - histogram.max() as f64).abs() < 1.0);
    }
    let run = material
        .matrix
        .cells
        .iter()
        .filter(|cell| cell.error.is_none());
    let counted = run.flat_map(|cell| cell.latency.values());
    assert_eq!(
        tags.len(),
        counted.filter(|latency| latency.count > 0).count()
    );
    tags.sort();
    let all = tags.len();
    tags.dedup();
    assert_eq!(tags.len(), all, "no two histograms share their tag");
}

fn base64_of(text: &str) -> Vec<u8> {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .unwrap()
}

#[test]
fn a_damaged_histogram_is_named() {
    let mut material = matrix();
    let latency = material.matrix.cells[1].latency.get_mut("release").unwrap();
    latency.histogram = "not base64!".into();
    for format in ["hgrm", "hlog"] {
        let format = picklock_reports::formats::find(format).unwrap();
        let error = (format.write)(&material).unwrap_err().to_string();
        assert!(
            error.contains("release") && error.contains("gc-pause"),
            "{error}"
        );
    }
}
