//! The backends agree: the same lock under the same scenario gets the same verdicts in the simulation, on Redis
//! processes and in containers.
//!
//! Needs redis-server, a Docker engine, and the image that `scripts/redis-image` builds.

use std::collections::{BTreeMap, BTreeSet};

use picklock_scenarios::{BackendName, catalog};
use serde_json::Value;

use super::agreement::{Compared, SEED, tables};
use super::exclusive::Exclusive;
use super::is_long;
use crate::running::{CHANCES, picklock};

const LOCKS: [&str; 4] = ["redlock", "setnx-expire", "set-nx-px", "getset"];

/// Faults that the catalog does not use, each alone: all backends must give the same verdicts for each. Name,
/// persistence, and the fault.
const FAULTS: [(&str, &str, &str); 13] = [
    (
        "lost-request",
        "none",
        "kind = \"drop\"\nwhen = { on = \"request\", names_key = true }\nframes = 1",
    ),
    (
        "lost-reply",
        "none",
        "kind = \"drop\"\nwhen = { on = \"reply\", names_key = true }\nframes = 1",
    ),
    (
        "killed-at-reply",
        "none",
        "kind = \"crash-client\"\nwhen = { on = \"reply\", names_key = true }",
    ),
    (
        "frozen-at-release",
        "none",
        "kind = \"pause-client\"\nwhen = { on = \"reply\", names_key = true, during = \"release\" }\nfor = \"1.5ttl\"",
    ),
    (
        "held-release",
        "none",
        "kind = \"hold\"\nwhen = { on = \"request\", names_key = true, during = \"release\" }\nframes = 1\ndirection = \"request\"\nfor = \"1.5ttl\"",
    ),
    (
        "restart-empty",
        "none",
        "kind = \"crash-node\"\nwhen = { on = \"stock-read\" }\nnodes = \"all\"\nfor = \"100ms\"",
    ),
    (
        "restart-with-everything",
        "aof-always",
        "kind = \"crash-node\"\nwhen = { on = \"stock-read\" }\nnodes = \"all\"\nfor = \"100ms\"",
    ),
    (
        "node-pause",
        "none",
        "kind = \"pause-node\"\nwhen = { on = \"stock-read\" }\nnodes = [0]\nfor = \"0.5ttl\"",
    ),
    (
        "delayed-restart",
        "aof-always",
        "kind = \"crash-node\"\nwhen = { on = \"stock-read\" }\nnodes = \"all\"\nfor = \"2ttl\"",
    ),
    (
        "scripts-flushed",
        "none",
        "kind = \"flush-scripts\"\nwhen = { on = \"stock-read\" }\nnodes = \"all\"",
    ),
    (
        "memory-full",
        "none",
        "kind = \"exhaust\"\nwhat = \"memory\"\nwhen = { on = \"stock-read\" }\nnodes = \"all\"\nfor = \"0.5ttl\"",
    ),
    (
        "read-only",
        "none",
        "kind = \"answer\"\nerror = \"READONLY\"\nwhen = { on = \"stock-read\" }\nnodes = \"all\"\nfor = \"0.5ttl\"",
    ),
    (
        "nodes-leap-back",
        "none",
        "kind = \"clock-jump\"\nwhen = { on = \"stock-read\" }\nnodes = \"all\"\nby = \"-0.5ttl\"",
    ),
];

/// Returns the cells of a matrix with these flags. The matrix repeats runs in which the machine stalled. It is not
/// quiet, because a process without output is considered hung.
fn cells(backend: &str, seed: u64, flags: &str) -> Vec<Value> {
    let image = match backend {
        "docker" => " --image picklock-redis:local",
        _ => "",
    };
    let line = format!("matrix --backend {backend}{image} --seed {seed} --json {flags}");
    let mut document = picklock(&line).run().document();
    match document["cells"].take() {
        Value::Array(cells) => cells,
        other => panic!("{line}: {other}"),
    }
}

/// The results of a cell: the status and cause of each property, as one text.
type Verdicts = BTreeMap<String, String>;

fn run(scenario: &str, lock: &str, backend: &str, seed: u64) -> Verdicts {
    let line = format!("--scenario {scenario} --impl {lock}");
    let document = cells(backend, seed, &line).swap_remove(0);
    let verdicts = document["verdicts"].as_object().unwrap().iter();
    let verdicts = verdicts.map(|(property, verdict)| {
        let word = |field: &str| verdict[field].as_str().unwrap_or_default().to_owned();
        (
            property.clone(),
            format!("{} {}", word("status"), word("cause")),
        )
    });
    verdicts.collect()
}

/// Asserts that each cell gives the results that its scenario expects, and that `backend` and the simulation agree on
/// every property.
fn compare(backend: BackendName, flags: &[&str], at_least: usize) {
    let compared = Compared::run(backend, flags);
    let cells = compared.cells();
    assert!(cells >= at_least, "only {cells} cells");
    let wrong = compared.differences();
    assert!(
        wrong.is_empty(),
        "{}\nthe runs are in {}",
        wrong.join("\n"),
        tables().display()
    );
}

/// Takes exclusive access for a table of one backend, because many tables at a time, each with several runs, would
/// disturb each other. Only the longest table runs in parallel with another one, because it leaves the CPUs idle while
/// it waits for its longest runs.
fn alone_in(backend: BackendName) -> Exclusive {
    Exclusive::take(&format!("table-{backend}"))
}

/// Outside the longer tier, each of these locks runs through every sixteenth scenario, and every fourth scenario has
/// one of them. Careful and careless locks alternate.
const SOME_LOCKS: [&str; 4] = ["set-nx-px", "setnx-expire", "redlock", "fenced"];

/// Returns the scenarios that need neither five hundred processes nor three Sentinels, which the simulation lacks;
/// tests/e2e/real/sentinels.rs covers Sentinels.
fn handy_scenarios() -> Vec<&'static str> {
    let sentinels = |name: &str| catalog::named(name).is_ok_and(|it| it.topology.sentinels > 0);
    catalog::names()
        .filter(|name| *name != "flash-sale" && !sentinels(name))
        .collect()
}

#[test]
fn simulation_and_processes_agree_on_every_verdict() {
    // The longest table takes as long as all others together, and does not wait for them.
    let _alone = Exclusive::take("table-verdicts");
    if is_long() {
        return compare(BackendName::Process, &[], 500);
    }
    for (number, lock) in SOME_LOCKS.into_iter().enumerate() {
        let scenarios = handy_scenarios().into_iter().skip(4 * number);
        let scenarios: Vec<&str> = scenarios.step_by(4 * SOME_LOCKS.len()).collect();
        compare(BackendName::Process, &cells_of(&scenarios, &[lock]), 5);
    }
}

#[test]
fn simulation_and_processes_agree_on_what_each_fault_does() {
    let _alone = alone_in(BackendName::Process);
    let folder = tempfile::tempdir().unwrap();
    let files = FAULTS.map(|(name, persistence, fault)| {
        // If several clients compete, it is random whose reply comes first, and losing a loser's reply has no effect. A
        // single client is sure to get the lock.
        let workers = match name {
            "lost-reply" | "killed-at-reply" => 1,
            _ => 3,
        };
        // A lock that is never released blocks its waiters until the limit.
        let text = format!(
            "name = \"{name}\"\nsummary = \"One fault by itself.\"\n\
             [topology]\npersistence = \"{persistence}\"\n\
             [workload]\nworkers = {workers}\nstock = 4\nsection = \"0.4ttl\"\nlimit = \"10ttl\"\n\
             [[fault]]\n{fault}\n"
        );
        let path = folder.path().join(format!("{name}.toml"));
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    });
    // Outside the longer tier, one lock for each fault, alternating.
    let step = if is_long() { 1 } else { LOCKS.len() };
    for (number, lock) in LOCKS.into_iter().enumerate() {
        let scenarios = files.iter().skip(number % step).step_by(step);
        let scenarios: Vec<&str> = scenarios.map(String::as_str).collect();
        let cells = 2 * scenarios.len();
        compare(BackendName::Process, &cells_of(&scenarios, &[lock]), cells);
    }
}

/// Checks the theory's prediction for each lock (single node, quorum, clients' clocks) under a wrong clock, so that the
/// backends do not merely agree with each other.
#[test]
fn wrong_clocks_break_those_who_believe_them() {
    let _alone = alone_in(BackendName::Process);
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        (
            "kind = \"clock-jump\"\nwhen = { on = \"stock-read\" }\nnodes = [0]",
            [
                ("set-nx-px", "violated clock-jump"),
                ("redlock", "held "),
                ("getset", "held "),
            ],
        ),
        (
            "kind = \"clock-skew\"\nat = \"0ms\"\nworkers = [1]",
            [
                ("set-nx-px", "held "),
                ("redlock", "held "),
                ("getset", "violated clock-skew"),
            ],
        ),
    ];
    for (number, (fault, expected)) in cases.into_iter().enumerate() {
        // One client is delayed at the start, so that the other takes the lock on every node; otherwise it is random
        // whether the loss of one node matters.
        let text = format!(
            "name = \"wrong-clock-{number}\"\nsummary = \"A clock is ahead.\"\n\
             [workload]\nworkers = 2\nstock = 4\nsection = \"0.4ttl\"\n\
             [[fault]]\nkind = \"partition\"\nat = \"0ms\"\nfor = \"0.1ttl\"\nworkers = [1]\n\
             [[fault]]\n{fault}\nby = \"2ttl\"\n"
        );
        let path = folder.path().join(format!("{number}.toml"));
        std::fs::write(&path, text).unwrap();
        // A lock on five nodes takes longest, and only has to hold.
        let expected = expected.into_iter();
        for (lock, lease) in expected.filter(|(lock, _)| is_long() || *lock != "redlock") {
            for backend in ["sim", "process"] {
                let run = |seed| run(path.to_str().unwrap(), lock, backend, seed);
                let mut verdicts = run(SEED);
                for seed in SEED + 1..SEED + CHANCES {
                    let missed = verdicts["exclusion"] == "held ";
                    if lease == "held " || !missed || backend == "sim" {
                        break;
                    }
                    verdicts = run(seed);
                }
                for property in ["lease", "exclusion"] {
                    assert_eq!(verdicts[property], lease, "{fault} {lock} {backend}");
                }
            }
        }
    }
}

#[test]
fn simulation_and_containers_agree_on_every_verdict() {
    let _alone = alone_in(BackendName::Docker);
    if is_long() {
        return compare(BackendName::Docker, &[], 500);
    }
    // Each container takes a second of CPU time. The omitted scenarios run on processes.
    let flags = cells_of(&scenarios_of_container_faults(), &["set-nx-px"]);
    compare(BackendName::Docker, &flags, 20);
}

/// Faults of connections and of the resource, which are the same for processes and containers.
const PROXY_FAULTS: [&str; 11] = [
    "answer",
    "cut",
    "delay",
    "drop",
    "false-answer",
    "hold",
    "late-commit",
    "late-write",
    "partition",
    "stale-read",
    "unchecked-write",
];

/// Returns the scenarios with servers, or with a fault of servers or clients, that none before them has.
fn scenarios_of_container_faults() -> Vec<&'static str> {
    let mut seen = BTreeSet::new();
    let has_new = |name: &&str| {
        let scenario = catalog::named(name).unwrap();
        let scenario = serde_json::to_value(scenario).unwrap();
        let topology = scenario["topology"].as_object().into_iter().flatten();
        let servers = topology.map(|(name, value)| format!("{name} = {value}"));
        let faults = scenario["fault"].as_array().into_iter().flatten();
        let on_containers = |fault: &&Value| {
            let kind = fault["kind"].as_str().unwrap();
            !PROXY_FAULTS.contains(&kind)
        };
        let faults = faults.filter(on_containers).map(|fault| {
            ["kind", "what", "error", "direction", "scope"]
                .map(|field| fault[field].to_string())
                .join(" ")
        });
        let known = seen.len();
        seen.extend(servers.chain(faults));
        seen.len() > known
    };
    handy_scenarios().into_iter().filter(has_new).collect()
}

/// Returns the flags of a matrix of these scenarios with these locks.
fn cells_of<'a>(scenarios: &[&'a str], locks: &[&'a str]) -> Vec<&'a str> {
    let scenarios = scenarios.iter().flat_map(|name| ["--scenario", *name]);
    let locks = locks.iter().flat_map(|name| ["--impl", *name]);
    scenarios.chain(locks).collect()
}

/// Tests the lock that is missing from [`SOME_LOCKS`], in the scenarios that even careless locks survive.
#[test]
fn simulation_and_processes_agree_on_getset() {
    let _alone = alone_in(BackendName::Process);
    let flags = cells_of(&["calm", "holder-crash", "network-delay"], &["getset"]);
    compare(BackendName::Process, &flags, 6);
}

/// Tests a lock on five nodes, with more scenarios in the longer tier. For all other differences between locks,
/// containers behave like processes.
#[test]
fn simulation_and_containers_agree_on_several_nodes() {
    let _alone = alone_in(BackendName::Docker);
    let scenarios = ["holder-crash", "calm", "network-delay"];
    let scenarios = &scenarios[..if is_long() { 3 } else { 1 }];
    let cells = 2 * scenarios.len();
    compare(
        BackendName::Docker,
        &cells_of(scenarios, &["redlock"]),
        cells,
    );
}

/// The verdicts do not cover whether everything was sold: a remaining stock is not a violation.
#[test]
fn everything_is_sold_where_nothing_goes_wrong() {
    let _alone = alone_in(BackendName::Process);
    let locks = LOCKS.map(|lock| format!("--impl {lock}")).join(" ");
    let calm = format!("--scenario calm {locks}");
    let crowd = "--scenario flash-sale --impl set-nx-px";
    let tables = [
        ("sim", calm.as_str(), LOCKS.len()),
        ("process", &calm, LOCKS.len()),
        ("docker", "--scenario calm --impl set-nx-px", 1),
        ("sim", crowd, 1),
    ];
    for (backend, flags, count) in tables {
        let cells = cells(backend, SEED, flags);
        assert_eq!(cells.len(), count, "{backend} {flags}");
        for cell in cells {
            let counts = &cell["counts"];
            let stock = counts["stock_start"].as_i64();
            assert!(stock >= Some(10), "{cell:#}");
            assert_eq!(counts["sold"], counts["stock_start"], "{cell:#}");
            assert_eq!(counts["stock_left"], 0, "{cell:#}");
        }
    }
}
