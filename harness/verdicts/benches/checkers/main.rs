//! What judging a history costs: all checkers, one pass, one core; beside stateright's
//! linearizability tester on a history of a size that it can manage.
//!
//! `cargo bench` measures. `cargo test --bench NAME` runs it once with little to do, so that it does not rot.
//!
//! An operation is an acquisition or a release. Each acquisition with its release is six events
//! here (asked, granted, stock read, stock changed, release, released), on 4 keys among 12
//! workers, so that there is always somebody waiting. Tokens, fences and reported validity are
//! all there: every checker but `claims`, which needs key history, has something to do.
//!
//! The other side is given less to do: one key, no time, no leases, no stock; only whether some
//! order of the operations explains the history of a lock (which says the same as our `exclusion`
//! for histories without crashes). It searches where we sweep.
//!
//! A second is one of the thread's processor time, on both sides. Memory is what the process grew by at its highest while it judged (`VmHWM` of
//! `/proc/self/status`, set back before). The last line is `checkers_ops_per_second N`.

#![expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]

mod memory;
mod search;
mod sold;

use picklock_verdicts::check::{Property, Status, judge};
use picklock_verdicts::history::History;

use sold::sold;

const ROUNDS: usize = 5;

fn main() {
    // A checker that cannot find anything is fast.
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
            // What a lock claims is compared with the key history, and this history has none.
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
