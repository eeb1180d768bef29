//! stateright's linearizability tester on the same kind of history: a lock as a register.

use picklock_verdicts::history::{EventKind, History};
use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};

use crate::memory;
use crate::sold::sold;

/// The search goes one call deeper with every operation.
const STACK: usize = 1 << 30;

/// The comparison ends with the first size that takes longer than this, in seconds.
const ENOUGH_S: f64 = 2.0;

#[derive(Debug, Clone, Default)]
struct Lock {
    owner: Option<u64>,
}

#[derive(Debug, Clone)]
enum Operation {
    Acquire(u64),
    Release(u64),
}

impl SequentialSpec for Lock {
    type Op = Operation;
    type Ret = bool;

    fn invoke(&mut self, operation: &Operation) -> bool {
        match *operation {
            Operation::Acquire(attempt) => {
                let free = self.owner.is_none();
                if free {
                    self.owner = Some(attempt);
                }
                free
            }
            Operation::Release(attempt) => {
                let own = self.owner == Some(attempt);
                if own {
                    self.owner = None;
                }
                own
            }
        }
    }
}

/// Prints the comparison, with the smallest history only if `once` is true.
pub fn print(once: bool) {
    println!("\nstateright's linearizability tester, 1 key, 3 workers, is there an order at all\n");
    println!(
        "{:>12} {:>14} {:>12}",
        "operations", "operations/s", "beyond KiB"
    );
    let searching = std::thread::Builder::new().stack_size(STACK);
    let searched = searching.spawn(move || {
        let mut purchases = 125;
        while row(purchases) < ENOUGH_S && !once {
            purchases *= 2;
        }
    });
    let searched = searched.expect("a thread can be started");
    searched.join().expect("the search ends");
}

fn row(purchases: usize) -> f64 {
    let history = sold(purchases, 3, 1);
    let (before_kib, begun_s) = (memory::reset_highest_kib(), memory::now_s());
    assert!(tester(&history).is_consistent(), "there is an order");
    let took = memory::now_s() - begun_s;
    let beyond_kib = memory::highest_kib().saturating_sub(before_kib);
    let operations = 2 * purchases;
    println!(
        "{operations:>12} {:>14.0} {beyond_kib:>12}",
        operations as f64 / took
    );
    took
}

fn tester(history: &History) -> LinearizabilityTester<usize, Lock> {
    let mut tester = LinearizabilityTester::new(Lock::default());
    for event in &history.events {
        let taken = match event.what {
            EventKind::Acquire { worker, op, .. } => {
                tester.on_invoke(worker, Operation::Acquire(op)).map(drop)
            }
            EventKind::Release { worker, op } => {
                tester.on_invoke(worker, Operation::Release(op)).map(drop)
            }
            EventKind::Granted { worker, .. } | EventKind::Released { worker, .. } => {
                tester.on_return(worker, true).map(drop)
            }
            _ => Ok(()),
        };
        taken.expect("the history is well formed");
    }
    tester
}
