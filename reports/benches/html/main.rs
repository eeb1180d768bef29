//! Measures time, memory and size of a page whose history has a million events.
//!
//! Goals: under 10 s, under 1 GB, under 10 MB. Memory is the peak resident size of the process (`VmHWM` of
//! `/proc/self/status`), which includes the history. The last line is `html_page_seconds N`.
//!
//! `cargo bench` measures. `cargo test --bench NAME` runs it once with a small history, so that it keeps
//! working.

#![expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]

#[path = "../../tests/reports/html/histories.rs"]
mod histories;
#[path = "../../tests/reports/html/runs.rs"]
mod runs;

use std::collections::BTreeMap;

use picklock_harness::clock::Clock;
use picklock_reports::html::page;
use picklock_reports::report_input::Evidence;
use picklock_verdicts::check::judge;

fn main() {
    // A page that draws nothing would be fast, so check that this one draws.
    let small = page(&runs::matrix(&["set-nx-px"], &["gc-pause"], 1)).expect("a page");
    assert!(small.contains("track-0"));
    println!(
        "{:>10} {:>8} {:>10} {:>10}",
        "events", "s", "page KiB", "peak KiB"
    );
    let mut seconds = 0.0;
    let is_benchmark = std::env::args().any(|word| word == "--bench");
    let sizes: &[u64] = if is_benchmark {
        &[1_667, 16_667, 166_667]
    } else {
        &[1_667]
    };
    for &purchases in sizes {
        let history = histories::long(purchases);
        let events = history.events.len();
        let record = runs::record(&history, judge(&history), "A long one.");
        let mut material = runs::nothing(1);
        material.matrix.cells = vec![runs::from_record(&record, "long", BTreeMap::new())];
        material.evidence = vec![Evidence {
            run_dir: "long".into(),
            record,
            history: Some(history),
            command_log: None,
            has_repro: false,
        }];
        let clock = Clock::start();
        let page = page(&material).expect("a page");
        seconds = clock.elapsed().as_secs_f64();
        println!(
            "{events:>10} {seconds:>8.2} {:>10} {:>10}",
            page.len() / 1024,
            peak_kib()
        );
    }
    println!("\nhtml_page_seconds {seconds:.2}");
}

fn peak_kib() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = peak.and_then(|peak| peak.split_whitespace().next());
    number.unwrap_or("?").to_owned()
}
