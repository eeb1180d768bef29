//! Measures how the cost of the simulation grows with workers, nodes and idle time.

use std::time::Duration;

use crate::shape::Shape;
use crate::{median, ours, timed};

const ROUNDS: usize = 3;

pub fn print() {
    println!("\ncost by size, faults off; medians of {ROUNDS} rounds\n");
    println!(
        "{:<34} {:>9} {:>12} {:>10} {:>7}",
        "run", "commands", "virtual", "us/run", "us/cmd"
    );
    let quiet = Shape {
        faults: false,
        section: Duration::from_millis(10),
        think: Duration::ZERO,
        ..Shape::headline()
    };
    for workers in [3, 30, 300] {
        // Each worker buys equally often, and the time between purchases suits the number of workers.
        let shape = Shape {
            workers,
            stock: 4 * workers as i64,
            think: Duration::from_millis(20 * workers as u64),
            ..quiet.clone()
        };
        row(&format!("{workers} workers"), &shape);
    }
    for nodes in [5, 50] {
        row(
            &format!("{nodes} nodes"),
            &Shape {
                nodes,
                ..quiet.clone()
            },
        );
    }
    for (name, seconds) in [("10 s", 10), ("10 min", 600), ("10 h", 36_000)] {
        // Each worker buys twice, with a long time in between in which no client wants the lock.
        let shape = Shape {
            stock: 3,
            think: Duration::from_secs(seconds),
            ..quiet.clone()
        };
        row(&format!("{name} idle between purchases"), &shape);
    }
    for name in ["set-nx-px", "redlock"] {
        crowd(name);
    }
}

/// Measures 500 buyers for ten units, as in the catalog.
fn crowd(name: &str) {
    const RUNS: u64 = 5;
    let elapsed_s: Vec<f64> = (0..ROUNDS)
        .map(|_| timed(|| ours::crowd(name, RUNS)))
        .collect();
    println!(
        "{:<34} {:>9} {:>12} {:>10.1}",
        format!("flash-sale, 500 buyers, {name}"),
        "",
        "",
        median(elapsed_s) * 1e6 / RUNS as f64
    );
}

fn row(name: &str, shape: &Shape) {
    // The number of commands grows with the square of the workers, because each waits for all others.
    let runs = (20_000 / (shape.workers.pow(2) * shape.nodes)).max(1) as u64;
    let counted = ours::counted(shape, runs);
    let elapsed_s = median(
        (0..ROUNDS)
            .map(|_| timed(|| ours::round(shape, runs)))
            .collect(),
    );
    let (runs, commands) = (runs as f64, counted.commands as f64);
    println!(
        "{name:<34} {:>9.0} {:>10.1} s {:>10.1} {:>7.2}",
        commands / runs,
        counted.virtual_time.as_secs_f64() / runs,
        elapsed_s * 1e6 / runs,
        elapsed_s * 1e6 / commands,
    );
}
