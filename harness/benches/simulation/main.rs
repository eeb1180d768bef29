//! The cost of a simulated run, compared with the same work in `turmoil` and in plain tokio with a
//! paused clock, and how the cost grows.
//!
//! The measured run: Redlock on 5 nodes, 3 workers, one stock of 12 units. A worker that gets the
//! lock reads the stock, works for `section`, sells one unit, releases the lock and thinks. A
//! worker that reads an empty stock ends. That makes exactly 15 acquisitions.
//!
//! **Equal on both sides:** the workload above; the lock (the built-in `redlock`, compiled once), its lease of 1 s, its
//! retry delays and its scripts; the Redis model behind each node; section and think times; one-way latencies between
//! 50 and 250 µs; the release profile; one core; no logging. The tables print the number of commands that the nodes
//! executed, which shows that the work is equal.
//!
//! **Different, in turmoil's favour:** each of our runs has faults (a paused client, a delayed node, a dropped reply, a
//! paused node), the whole driver with its pings between the steps, an additional client that probes the lock at the
//! end, a history, and all checkers. turmoil's side only has clients and nodes, and nothing is checked.
//!
//! **Different, in our favour:** the commands of turmoil's clients travel as bytes (redis-rs's `MultiplexedConnection`
//! over turmoil's `TcpStream`, RESP decoded and encoded at the node), while our connections pass redis-rs's command
//! unchanged. `turmoil` is a network of byte streams by design. Its hosts advance virtual time in its default tick of 1
//! ms, each host in every tick, even if it is idle. This costs the most.
//!
//! **The second peer** jumps from timer to timer, as we do. It also has no faults, driver, history
//! or checkers, so its ratio is the cost of all of these.
//!
//! `cargo bench` measures. `cargo test --bench NAME` runs each part once with little work, so that it keeps working.
//! `cargo bench --bench simulation -- ours 100` only runs our side, for a profiler. `-- growth` only prints how the
//! cost grows, and `-- sweep` the cost of a schedule in a search.
//!
//! Rounds of all sides alternate, and medians are printed. Times are the CPU time of all threads together, so that
//! other load on the machine has little effect; no side ever waits. The last line is `simulation_vs_turmoil_ratio N`:
//! the ratio of runs per second in the first shape. The ratio depends on how much of its virtual time a run waits,
//! which costs us nothing. Therefore shapes without any think time, the worst case for us, are measured as well.

#![expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]

mod counted;
mod growth;
mod ours;
mod paused;
mod peer;
mod shape;

use shape::Shape;

/// The allocator of the `picklock` binary, for both sides.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 5;
/// Seeds per round. They are the same on both sides, so that both have the same retry delays.
const OUR_RUNS: u64 = 400;
/// The sides, and the number of runs per round. turmoil is slow.
const SIDES: [(&str, u64); 3] = [("picklock", OUR_RUNS), ("turmoil", 5), ("tokio", OUR_RUNS)];

/// The measurements of one side for a shape.
struct Side {
    runs_per_s: f64,
    commands: f64,
    virtual_s: f64,
}

fn main() {
    if std::env::args().any(|word| word == "growth") {
        growth::print();
        return;
    }
    if std::env::args().any(|word| word == "sweep") {
        ours::sweep();
        return;
    }
    let mut words = std::env::args().skip_while(|word| word != "ours").skip(1);
    if std::env::args().any(|word| word == "ours") {
        // Only our side, for a profiler.
        let runs = words.next().and_then(|runs| runs.parse().ok());
        let runs = runs.unwrap_or(10 * OUR_RUNS);
        let elapsed = timed(|| ours::round(&Shape::headline(), runs));
        println!("{:.1} runs/s", runs as f64 / elapsed);
        return;
    }
    ours::same_seed_same_bytes(&Shape::headline());
    if !std::env::args().any(|word| word == "--bench") {
        let shape = Shape::headline();
        ours::round(&shape, 1);
        peer::round(&shape, 1);
        paused::round(&shape, 1);
        ours::crowd("set-nx-px", 1);
        return;
    }
    println!(
        "5-node Redlock, 3 workers, 15 acquisitions; medians of {ROUNDS} alternating rounds\n"
    );
    println!(
        "{:<34} {:>9} {:>9} {:>9} {:>11} {:>7} {:>7}",
        "section / think", "side", "commands", "runs/s", "virtual/real", "us/cmd", "ratio"
    );
    let mut ratio = 0.0;
    for (index, shape) in Shape::compared().into_iter().enumerate() {
        let sides = compare(&shape);
        for ((name, _), side) in SIDES.iter().zip(&sides) {
            let title = if *name == "picklock" {
                shape.title()
            } else {
                String::new()
            };
            row(&title, name, side, sides[0].runs_per_s / side.runs_per_s);
        }
        if index == 0 {
            ratio = sides[0].runs_per_s / sides[1].runs_per_s;
        }
    }
    growth::print();
    println!("\nsimulation_vs_turmoil_ratio {ratio:.1}");
}

fn compare(shape: &Shape) -> [Side; 3] {
    let ours_counted = ours::counted(shape, OUR_RUNS);
    let mut counted = [(); 3].map(|()| peer::Counted::default());
    counted[0].commands = ours_counted.commands;
    counted[0].virtual_time = ours_counted.virtual_time;
    let mut rates = [(); 3].map(|()| Vec::new());
    for round in 0..=ROUNDS {
        let elapsed = [
            timed(|| ours::round(shape, OUR_RUNS)),
            timed(|| counted[1] = peer::round(shape, SIDES[1].1)),
            timed(|| counted[2] = paused::round(shape, SIDES[2].1)),
        ];
        // The first round warms up.
        if round > 0 {
            for ((rates, elapsed), (_, runs)) in rates.iter_mut().zip(elapsed).zip(SIDES) {
                rates.push(runs as f64 / elapsed);
            }
        }
    }
    let mut sides = rates.into_iter().zip(counted).zip(SIDES);
    std::array::from_fn(|_| {
        let ((rates, counted), (_, runs)) = sides.next().expect("there are three sides");
        Side {
            runs_per_s: median(rates),
            commands: counted.commands as f64 / runs as f64,
            virtual_s: counted.virtual_time.as_secs_f64() / runs as f64,
        }
    })
}

/// Prints a row. `ratio` is the number of our runs that take as long as one run of this side.
fn row(title: &str, name: &str, side: &Side, ratio: f64) {
    println!(
        "{title:<34} {name:>9} {:>9.1} {:>9.1} {:>11.0}x {:>7.2} {ratio:>6.1}x",
        side.commands,
        side.runs_per_s,
        side.virtual_s * side.runs_per_s,
        1e6 / side.runs_per_s / side.commands,
    );
}

/// Returns the CPU time of the work in seconds, for all threads together. Other load on the machine does not count.
fn timed(work: impl FnOnce()) -> f64 {
    let before = cpu_time_s();
    work();
    cpu_time_s() - before
}

/// Returns the CPU time of this process, including threads that have ended.
fn cpu_time_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
