//! Measures how fast a history is judged: all checkers, one pass, one core. Compares it with stateright's
//! linearizability tester on a history of a size that the tester can handle.
//!
//! `cargo bench` measures. `cargo test --bench NAME` runs it once with a short history, to check that it still works.
//!
//! An operation is an acquisition or a release. Each acquisition with its release is six events
//! here (requested, granted, stock read, stock changed, release, released), on 4 keys among 12
//! workers, so that some client always waits. The history has tokens, fences and reported validity,
//! so every checker has work except `claims`, which needs a key history.
//!
//! Stateright has an easier task: one key, and no time, leases or stock. It only checks whether some
//! order of the operations explains the history of a lock, which is equivalent to `exclusion` for
//! histories without crashes. It searches, whereas the checkers need a single pass.
//!
//! The times are seconds of the thread's CPU time. Memory is the growth of the process at its peak while it judges
//! (`VmHWM` of `/proc/self/status`, which is reset first). The last lines are `checkers_ops_per_second N`, and its
//! ratio to a fixed piece of work of the same run, which also depends on the machine's processor and memory.

#![expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]

mod memory;
mod search;
mod sold;

use picklock_verdicts::check::{Property, Status, judge};
use picklock_verdicts::history::History;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sold::sold;

const ROUNDS: usize = 5;

fn main() {
    // Checks that the checkers find a violation, because a checker that finds nothing could be fast without being
    // correct.
    let broken = sold::with_an_overlap(sold(1000, 12, 4));
    let verdict = &judge(&broken)[&Property::Exclusion];
    assert_eq!(verdict.status, Status::Violated, "the planted overlap");

    println!(
        "{:>12} {:>12} {:>14} {:>14} {:>12} {:>12}",
        "operations", "events", "operations/s", "events/s", "input KiB", "beyond KiB"
    );
    let mut operations_per_s = 0.0;
    let measured = std::env::args().any(|word| word == "--bench");
    let sizes: &[usize] = if measured {
        &[10_000, 100_000, 1_000_000]
    } else {
        &[1_000]
    };
    for &purchases in sizes {
        let before_kib = memory::now_kib();
        let history = sold(purchases, 12, 4);
        let input_kib = memory::now_kib().saturating_sub(before_kib);
        operations_per_s = row(&history, purchases, input_kib);
    }
    search::print(!measured);
    println!("\ncheckers_ops_per_second {operations_per_s:.0}");
    let sorted_per_s = sorted_per_s(if measured { 4_000_000 } else { 1_000 });
    println!(
        "operations judged per number sorted {:.3}",
        operations_per_s / sorted_per_s
    );
}

/// Returns how many numbers are sorted per second.
fn sorted_per_s(count: usize) -> f64 {
    let mut rng = StdRng::seed_from_u64(1);
    let mut numbers: Vec<u64> = (0..count).map(|_| rng.random()).collect();
    let begun_s = memory::now_s();
    numbers.sort_unstable();
    std::hint::black_box(&numbers);
    count as f64 / (memory::now_s() - begun_s)
}

fn row(history: &History, purchases: usize, input_kib: u64) -> f64 {
    let mut rounds = Vec::new();
    let mut beyond_kib = 0;
    for _ in 0..ROUNDS {
        let (before_kib, begun_s) = (memory::reset_highest_kib(), memory::now_s());
        let verdicts = judge(history);
        rounds.push(memory::now_s() - begun_s);
        beyond_kib = beyond_kib.max(memory::highest_kib().saturating_sub(before_kib));
        for (property, verdict) in verdicts {
            // The reports of a lock are compared with the key history, which this history lacks.
            let expected = match property {
                Property::Claims => Status::NotApplicable,
                _ => Status::Held,
            };
            assert_eq!(verdict.status, expected, "{property}: {:?}", verdict.story);
        }
    }
    rounds.sort_by(f64::total_cmp);
    let (took, operations) = (rounds[ROUNDS / 2], 2 * purchases);
    println!(
        "{operations:>12} {:>12} {:>14.0} {:>14.0} {input_kib:>12} {beyond_kib:>12}",
        history.events.len(),
        operations as f64 / took,
        history.events.len() as f64 / took,
    );
    operations as f64 / took
}
