//! Locks in other languages, compared with the built-in lock that they copy.
//!
//! redis-py's lock gets the verdicts that are expected of `set-nx-px`, except for [`DIFFERENCES`].

use std::fs;
use std::path::{Path, PathBuf};

use picklock_harness::check::{Status, Verdict};
use picklock_harness::expectation::{Expected, Tables};
use picklock_harness::record::{Cell, MatrixRecord, Mismatch};
use picklock_scenarios::catalog;

use super::is_long;
use super::verdicts::deserves_another;
use crate::matrix::record;
use crate::running::{CHANCES, Outcome, picklock};

/// The built-in lock that all adapters here copy.
const TWIN: &str = "set-nx-px";

/// Scenarios in which redis-py is not run, with the reasons.
const DIFFERENCES: &[(&str, &str)] = &[
    ("crowd", ONE_CLIENT),
    ("blocked-loop", ONE_CLIENT),
    ("cancel-waiting", ONE_CLIENT),
    ("cancel-request", ONE_CLIENT),
    ("cancel-reply", ONE_CLIENT),
    ("finally-unlock", ONE_CLIENT),
    ("ended-client", ONE_CLIENT),
    ("exhausted-pool", ONE_CLIENT),
    (
        "sentinel-failover",
        "the adapter connects to a server, not to Sentinels",
    ),
    (
        "stale-master",
        "the adapter connects to a server, not to Sentinels",
    ),
];

const ONE_CLIENT: &str = "the adapter serves one client, which neither gives up, nor unlocks what it has not, nor ends alone";

/// Maximum number of reruns of a cell in which the machine stalled.
const TRIES: usize = 4;

fn adapters() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("adapters/python")
}

fn redis_py() -> String {
    let python = std::env::var("PICKLOCK_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let adapter = adapters().join("redis_py_lock.py");
    let exec = format!("redis-py=exec:{python} {}", adapter.display());
    shell_words::quote(&exec).into_owned()
}

/// Returns `false` if the machine stalled, or was so busy that a worker did not start in time.
fn is_judged(cell: &Cell) -> bool {
    let is_known = |verdict: &Verdict| verdict.status != Status::Unknown;
    cell.error.is_none() && cell.verdicts.values().all(is_known)
}

/// Runs a matrix. It is not quiet, because a process without output on a busy machine is considered hung.
fn matrix(flags: &str) -> MatrixRecord {
    record(&picklock(&format!("matrix --backend process --json {flags}")).run())
}

/// Returns why the cell cannot be run, or `None` if it can.
fn explained(cell: &Cell) -> Option<&'static str> {
    let one = DIFFERENCES.iter().find(|(name, _)| *name == cell.scenario);
    one.map(|(_, why)| *why)
}

fn mismatches(cell: &Cell) -> Vec<Mismatch> {
    let scenario = catalog::named(&cell.scenario).unwrap();
    Expected::for_lock(&scenario, TWIN, Tables::NamedOrAll).mismatches(&cell.verdicts)
}

/// Returns `true` if the cell should be run again.
fn again(cell: &Cell) -> bool {
    cell.error.is_none() && deserves_another(&mismatches(cell))
}

/// Returns the problems of the cell: it was not run, or a verdict differs from the twin's.
fn otherwise(cell: &Cell) -> Vec<String> {
    if let Some(error) = &cell.error {
        return vec![format!("{}: {error}", cell.scenario)];
    }
    let mismatches = mismatches(cell).into_iter();
    mismatches
        .map(|it| {
            format!(
                "{}: {} {}, expected {}",
                cell.scenario, it.property, it.got, it.expected
            )
        })
        .collect()
}

/// Covers every 24th scenario, and all of them in the longer tier.
#[test]
fn redis_py_has_the_verdicts_of_its_twin() {
    let name = redis_py();
    let some = if is_long() {
        String::new()
    } else {
        // `flash-sale` needs five hundred processes, and `same-seed` an adapter that takes the seed of its tokens from
        // Picklock.
        let names = catalog::names().filter(|name| !["flash-sale", "same-seed"].contains(name));
        let names: Vec<&str> = names.step_by(24).collect();
        format!("--scenario {}", names.join(","))
    };
    let table = matrix(&format!("--name {name} --reference {TWIN} --jobs 4 {some}"));
    assert!(table.cells.len() > 2, "{} cells", table.cells.len());
    let mut wrong = Vec::new();
    for mut cell in table.cells {
        for _ in 0..TRIES {
            if explained(&cell).is_some() || is_judged(&cell) {
                break;
            }
            let again = format!(
                "--name {name} --reference {TWIN} --scenario {}",
                cell.scenario
            );
            cell = matrix(&again).cells.pop().unwrap();
        }
        for seed in 2..=CHANCES {
            if explained(&cell).is_some() || !again(&cell) {
                break;
            }
            let again = format!(
                "--name {name} --reference {TWIN} --scenario {} --seed {seed}",
                cell.scenario
            );
            cell = matrix(&again).cells.pop().unwrap();
        }
        match explained(&cell) {
            Some(why)
                if cell
                    .verdicts
                    .values()
                    .any(|it| it.status != Status::NotApplicable) =>
            {
                wrong.push(format!("{}: it was judged, although {why}", cell.scenario));
            }
            Some(_) => {}
            None => wrong.extend(otherwise(&cell)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Runs a command on the changed Python example, whose configuration names the twin as its reference.
fn changed(from: &str, to: &str, line: &str) -> Outcome {
    let project = tempfile::tempdir().unwrap();
    for file in ["my_lock.py", "resp_client.py", "picklock_adapter.py"] {
        fs::copy(adapters().join(file), project.path().join(file)).unwrap();
    }
    let lock = fs::read_to_string(adapters().join("my_lock.py")).unwrap();
    assert!(lock.contains(from), "{lock}");
    fs::write(
        project.path().join("my_lock.py"),
        lock.replacen(from, to, 1),
    )
    .unwrap();
    let tables = format!(
        "[impl.mine]\ncommand = \"python3 my_lock.py\"\nreference = \"{TWIN}\"\n\
         [[cells]]\nbackends = [\"process\"]\nlocks = [\"mine\"]\n\
         scenarios = [\"gc-pause\", \"calm\"]\n"
    );
    fs::write(project.path().join("picklock.toml"), tables).unwrap();
    let run = || {
        let call = picklock(line).env("GITHUB_ACTIONS", "");
        call.within(project.path()).run()
    };
    let mut outcome = run();
    for _ in 0..TRIES {
        if !outcome.stdout.contains("could not be judged,") && outcome.code != Some(3) {
            break;
        }
        outcome = run();
    }
    outcome
}

#[test]
fn feature_that_the_lock_lacks_is_not_applicable() {
    let matrix = "matrix --backend process --quiet --impl mine --scenario calm";
    let line = format!("{matrix} --scenario two-keys --scenario late-extend");
    let plain = changed("def extend", "def unused", &line).exits(0);
    let whole_seconds = "if ttl_ms % 1000: raise __import__('picklock_adapter').Definite('whole \
                         seconds only')\n        token =";
    let line = format!("{matrix} --scenario fractional-lease");
    let choosy = changed("token =", whole_seconds, &line).exits(0);
    for (outcome, counts, why) in [
        (
            &plain,
            "3 cells: 1 as expected, 2 not applicable\n",
            "the lock cannot be extended: `ready` contains `extends: false`",
        ),
        (
            &choosy,
            "2 cells: 1 as expected, 1 not applicable\n",
            "the lock refuses a lease of 1500 ms, but grants one of 2000 ms: whole seconds only",
        ),
    ] {
        assert!(outcome.stdout.ends_with(counts), "{}", outcome.all());
        let words = outcome.stdout.split_whitespace();
        let said = words.collect::<Vec<_>>().join(" ");
        assert!(said.contains(why), "{}", outcome.all());
    }
    let alone = "matrix --backend process --quiet --impl mine --scenario late-extend";
    changed("def extend", "def unused", alone).exits(0);
}

#[test]
fn a_worse_lock_fails_and_is_told_where() {
    let matrix = "matrix --backend process --quiet --impl mine --scenario gc-pause --scenario calm";
    let same = changed("IF_MINE", "IF_MINE", matrix).exits(0);
    assert!(
        same.stdout.ends_with("\n2 cells: 2 as expected\n"),
        "{}",
        same.all()
    );
    assert!(
        same.stdout.contains("mine: like set-nx-px\n"),
        "{}",
        same.all()
    );
    let release = "script = IF_MINE + \"redis.call('DEL', KEYS[1])\"";
    let careless = "script = \"return redis.call('DEL', KEYS[1])\"";
    let worse = changed(release, careless, matrix).exits(1);
    for said in [
        "✘ mine in gc-pause: stolen-release",
        "ownership violated: stolen-release, expected held",
        "hold in gc-pause",
        "exit 1: 1 cell is unexpected",
    ] {
        assert!(worse.stdout.contains(said), "{said}\n{}", worse.all());
    }
    let gate = changed("IF_MINE", "IF_MINE", "gate --quiet").exits(0);
    assert!(gate.stdout.contains("gate passed"), "{}", gate.all());
    let gate = changed(release, careless, "gate --quiet").exits(1);
    let said = "ownership violated: stolen-release";
    assert!(gate.stdout.contains(said), "{}", gate.all());
}
