//! What a simulated run costs, beside the same work in `turmoil` and in plain tokio with its clock paused, and how the
//! cost grows.
//!
//! The measured run: Redlock on 5 nodes, 3 workers, one stock of 12 units. A worker that gets the lock
//! reads the stock, works for `section`, sells one unit, gives the lock back and thinks; one that
//! reads an empty stock goes home. That makes exactly 15 acquisitions, 5 a worker.
//!
//! **The same on both sides:** the rule of the workload above; the strategy (the built-in
//! `redlock`, compiled once), its lease of 1 s, its retry delays and its scripts; the Redis model
//! behind each node; section and think times; one-way latencies between 50 and 250 µs; the
//! release profile; one core; no logging. The tables print how many commands the nodes carried
//! out, so that a reader sees that the work is the same.
//!
//! **Not the same, in turmoil's favour:** on our side each run has its faults (a paused client, a
//! delayed node, a swallowed reply, a paused node), the whole driver with its pings between the
//! steps, one more client that probes the lock at the end, a history, and all six checkers; on
//! turmoil's side there is nothing but clients and nodes, and nobody looks.
//!
//! **Not the same, in ours:** the commands of turmoil's clients travel as bytes (redis-rs's
//! `MultiplexedConnection` over turmoil's `TcpStream`, RESP decoded and encoded at the node), while
//! our connections hand over redis-rs's command as it is. That is what `turmoil` is: a network of
//! byte streams. Turmoil's hosts step through virtual time by its default tick of 1 ms, each in
//! every tick, whether there is something to do or not; that is what costs most.
//!
//! **The second peer** jumps from timer to timer, as we do, and has no faults, no driver, no history and no checkers
//! either: its ratio is what all of these cost.
//!
//! `cargo bench` measures. `cargo test --bench NAME` runs each part once with little to do, so that it does not
//! rot. `cargo bench --bench simulation -- ours 100` does nothing but our side, for a profiler;
//! `-- growth` prints how the cost grows, and nothing else; `-- sweep` what a schedule of a search costs.
//!
//! Rounds of both alternate, and medians are printed. A second is a second of processor time, of
//! all threads together, so that whatever else the machine does changes nothing; neither side
//! ever waits. The last line is
//! `simulation_vs_turmoil_ratio N`: the ratio of runs a second in the first shape. The ratio
//! depends on how much of its virtual time a run spends waiting, which costs us nothing; so shapes
//! without any think time, the worst for us, stand beside it.

#![expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]

#[path = "../../../src/allocator.rs"]
mod allocator;
mod counted;
mod growth;
mod ours;
mod paused;
mod peer;
mod shape;

use shape::Shape;

/// The allocator of the `picklock` binary, for both sides.
#[global_allocator]
static ALLOCATOR: allocator::BySize = allocator::BySize;

const ROUNDS: usize = 5;
/// Seeds of a round: the same on both sides, so that both meet the same retry delays.
const OUR_RUNS: u64 = 400;
/// The sides, and how many runs a round of each has: turmoil takes long.
const SIDES: [(&str, u64); 3] = [("picklock", OUR_RUNS), ("turmoil", 5), ("tokio", OUR_RUNS)];

/// What one side's rounds of a shape came to.
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
        // For a profiler: nothing but our side.
        let runs = words.next().and_then(|runs| runs.parse().ok());
        let runs = runs.unwrap_or(10 * OUR_RUNS);
        let took = timed(|| ours::round(&Shape::headline(), runs));
        println!("{:.1} runs/s", runs as f64 / took);
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
        let took = [
            timed(|| ours::round(shape, OUR_RUNS)),
            timed(|| counted[1] = peer::round(shape, SIDES[1].1)),
            timed(|| counted[2] = paused::round(shape, SIDES[2].1)),
        ];
        // The first round warms up.
        if round > 0 {
            for ((rates, took), (_, runs)) in rates.iter_mut().zip(took).zip(SIDES) {
                rates.push(runs as f64 / took);
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

/// `ratio`: how many of our runs one of its takes.
fn row(title: &str, name: &str, side: &Side, ratio: f64) {
    println!(
        "{title:<34} {name:>9} {:>9.1} {:>9.1} {:>11.0}x {:>7.2} {ratio:>6.1}x",
        side.commands,
        side.runs_per_s,
        side.virtual_s * side.runs_per_s,
        1e6 / side.runs_per_s / side.commands,
    );
}

/// Seconds of processor time that the work took, all threads together: what else the machine has
/// to do does not count.
fn timed(work: impl FnOnce()) -> f64 {
    let before = processor_s();
    work();
    processor_s() - before
}

/// Processor time that this process has used, threads that have ended included.
fn processor_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
