//! `picklock matrix`: many cells, their expectations, and the saved results.

use picklock_harness::record::MatrixRecord;

use crate::running::{Outcome, picklock};

const SIM: &str = "matrix --backend sim --quiet";

/// Returns a fault-free scenario that expects `expect` of every lock.
fn calm_that_expects(name: &str, expect: &str) -> String {
    format!("name = \"{name}\"\nsummary = \"Nothing goes wrong.\"\n{expect}\n")
}

pub fn record(outcome: &Outcome) -> MatrixRecord {
    serde_json::from_str(&outcome.stdout)
        .unwrap_or_else(|error| panic!("no document: {error}\n{}", outcome.all()))
}

fn cells(record: &MatrixRecord) -> Vec<String> {
    let name = |cell: &picklock_harness::record::Cell| {
        format!("{} {} {}", cell.lock.name, cell.scenario, cell.backend)
    };
    record.cells.iter().map(name).collect()
}

#[test]
fn whole_matrix_fits_on_two_screens() {
    let outcome = picklock(SIM).run().exits(0);
    assert!(outcome.stdout.lines().count() <= 100, "{}", outcome.stdout);
}

#[test]
fn matrix_matches_the_expectations() {
    let line =
        format!("{SIM} --impl set-nx-px --impl redlock --scenario calm --scenario gc-pause --json");
    let outcome = picklock(&line).run().exits(0);
    let record = record(&outcome);
    assert_eq!(record.format, "picklock-matrix/1");
    assert!(outcome.stdout.starts_with("{\n  \"format\""));
    assert_eq!(
        cells(&record),
        [
            "set-nx-px calm sim",
            "redlock calm sim",
            "set-nx-px gc-pause sim",
            "redlock gc-pause sim",
        ]
    );
    let paused = &record.cells[3];
    assert!(paused.is_bound() && paused.is_as_expected());
    assert_eq!(paused.verdicts.len(), 7);
    assert_eq!((paused.runs, paused.seed), (1, 1));
    assert!(paused.latency["acquire"].count > 0);
    assert_eq!(
        paused.reproduce,
        "picklock scenario gc-pause --impl redlock --backend sim --seed 1"
    );
    // The printed command repeats this very run.
    let again = paused.reproduce.strip_prefix("picklock ").unwrap();
    let run = picklock(&format!("{again} --json"))
        .run()
        .exits(1)
        .document();
    let verdicts = serde_json::to_value(&paused.verdicts).unwrap();
    assert_eq!(run["verdicts"], verdicts);
    assert_eq!(
        run["latency"],
        serde_json::to_value(&paused.latency).unwrap()
    );
}

#[test]
fn lease_and_nodes_reach_every_cell_and_its_command() {
    let line = format!(
        "{SIM} --impl redlock --scenario calm --scenario quorum-erosion --ttl 700ms --nodes 3 --json --out table"
    );
    let outcome = picklock(&line).run().exits(0);
    let record = record(&outcome);
    assert!(
        record.reproduce.ends_with("--nodes 3 --ttl 700ms"),
        "{}",
        record.reproduce
    );
    // Its faults affect the fourth node.
    let skipped: Vec<_> = record
        .skipped
        .iter()
        .map(|it| it.scenario.as_str())
        .collect();
    assert_eq!(skipped, ["quorum-erosion"]);
    for cell in &record.skipped {
        assert!(cell.reason.starts_with("--nodes 3: "), "{}", cell.reason);
    }
    for cell in &record.cells {
        assert!(
            cell.reproduce.ends_with("--nodes 3 --ttl 700ms"),
            "{}",
            cell.reproduce
        );
        let dir = cell.run_dir.as_ref().unwrap();
        let run = outcome.json_file(&format!("table/{dir}/run.json"));
        assert_eq!((&run["nodes"], &run["ttl_ms"]), (&3.into(), &700.into()));
        // The catalog's expectations of this lock assume five nodes.
        assert!(!cell.is_bound(), "{}", cell.lock.name);
    }
    // A lease time alone leaves the expectations in force, as does a lock's default number of nodes.
    let line = format!("{SIM} --impl redlock --scenario calm --ttl 700ms --nodes 5 --json");
    let record = self::record(&picklock(&line).run().exits(0));
    assert!(record.cells[0].is_bound());
}

#[test]
fn the_same_arguments_give_the_same_bytes() {
    let line = |jobs: u32| {
        format!(
            "matrix --backend sim --json --impl redlock --impl getset --scenario gc-pause --seeds 30 --jobs {jobs}"
        )
    };
    let one = picklock(&line(3)).run().exits(0).stdout;
    let two = picklock(&line(3)).run().exits(0).stdout;
    assert_eq!(one, two);
    // The number of parallel runs changes only the recorded number.
    let alone = picklock(&line(1)).run().exits(0).stdout;
    assert_eq!(one.replace("\"jobs\": 3", "\"jobs\": 1"), alone);
}

#[test]
fn many_seeds_are_counted() {
    let line = format!("{SIM} --impl set-nx-px --scenario gc-pause --seeds 30 --seed 5 --json");
    let outcome = picklock(&line).run().exits(0);
    let record = record(&outcome);
    let cell = &record.cells[0];
    assert_eq!((record.seed, record.seeds, cell.runs), (5, 30, 30));
    for (property, tally) in &cell.tally {
        let all = tally.held + tally.violated + tally.unknown + tally.not_applicable;
        assert_eq!(all, 30, "{property}");
        assert_eq!(tally.causes.values().sum::<u64>(), tally.violated);
    }
    let single = picklock("scenario gc-pause --impl set-nx-px --backend sim --seed 5 --json")
        .run()
        .document();
    let one = single["latency"]["acquire"]["count"].as_u64().unwrap();
    assert!(cell.latency["acquire"].count >= 20 * one);
}

#[test]
fn every_exit_code_means_what_the_help_says() {
    let mismatch = calm_that_expects("mismatch", "[expect.\"*\"]\nlease = \"violated\"");
    let unknown = calm_that_expects(
        "unknown",
        "[judge]\nmin_grants = 1000\n[expect.\"*\"]\nlease = \"held\"",
    );
    let lock = format!("{SIM} --impl set-nx-px");
    let run = |scenarios: &str, code: i32| {
        picklock(&format!("{lock} {scenarios}"))
            .file("mismatch.toml", &mismatch)
            .file("unknown.toml", &unknown)
            .run()
            .exits(code)
    };
    run("--scenario calm", 0);
    run("--scenario calm --scenario unknown.toml", 3);
    let both = run("--scenario unknown.toml --scenario mismatch.toml", 1);
    // The worst comes first.
    let at = |what: &str| both.stdout.find(what).unwrap();
    assert!(at("lease held, expected violated") < at("lease inconclusive, expected held"));
}

#[test]
fn strangers_are_no_surprise_and_count_as_single_runs_do() {
    let outcome = picklock(&format!("{SIM} --impl no-lock --scenario calm --json"))
        .run()
        .exits(1);
    let record = record(&outcome);
    let cell = &record.cells[0];
    assert!(!cell.is_bound() && cell.mismatches.is_empty());
    assert!(cell.tally.values().any(|tally| tally.violated == 1));
    // A scenario that names the lock makes its expectations binding.
    let scenario = calm_that_expects("named", "[expect.no-lock]\nexclusion = \"held\"");
    picklock(&format!("{SIM} --impl no-lock --scenario named.toml"))
        .file("named.toml", &scenario)
        .run()
        .exits(1);
}

/// Runs again in the directory of an earlier outcome.
fn again(before: &Outcome, line: &str) -> Outcome {
    let table = before.home().join("table");
    picklock(&line.replace("table", table.to_str().unwrap())).run()
}

#[test]
fn finished_cells_are_not_run_again() {
    let line = "matrix --backend sim --impl set-nx-px --scenario calm --scenario gc-pause --seeds 5 --json --out table";
    let first = picklock(line).run().exits(0);
    let second = again(&first, line).exits(0);
    assert_eq!(first.stdout, second.stdout);
    assert!(
        second.stderr.contains("2 of 2 cells were already finished"),
        "{}",
        second.all()
    );
    assert!(!second.stderr.contains("[1/2]"), "{}", second.all());
    // An incomplete cell is run again, with the same result.
    let cell = first.home().join("table/set-nx-px/gc-pause/sim/cell.json");
    std::fs::remove_file(&cell).unwrap();
    let third = again(&first, line).exits(0);
    assert!(
        third.stderr.contains("1 of 2 cells were already finished"),
        "{}",
        third.all()
    );
    assert_eq!(first.stdout, third.stdout);
    assert!(cell.is_file());
    // With different seeds, none of the saved results is reused.
    let other = again(&first, &line.replace("--seeds 5", "--seeds 6")).exits(0);
    assert!(
        other
            .stderr
            .contains("set-nx-px × calm × sim: runs again, because the number of seeds changed"),
        "{}",
        other.all()
    );
}

#[test]
fn saved_run_is_the_one_that_its_cell_shows() {
    let line = "matrix --backend sim --impl set-nx-px --impl redlock --scenario gc-pause --seeds 3 --json --out table";
    let outcome = picklock(line).run().exits(0);
    let document = outcome.document();
    let cells = document["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2);
    for cell in cells {
        let run = format!("table/{}/run.json", cell["run_dir"].as_str().unwrap());
        let run: serde_json::Value = serde_json::from_str(&outcome.text_file(&run)).unwrap();
        for field in ["impl", "scenario", "seed", "verdicts"] {
            assert_eq!(run[field], cell[field], "{field}");
        }
    }
}

#[test]
fn a_changed_scenario_runs_anew() {
    let line = "matrix --backend sim --impl set-nx-px --scenario mine.toml --json --out table";
    let before = calm_that_expects("mine", "");
    let first = picklock(line).file("mine.toml", &before).run().exits(0);
    let path = first.home().join("mine.toml");
    let line = line.replace("mine.toml", path.to_str().unwrap());
    std::fs::write(&path, format!("{before}[workload]\nworkers = 4\n")).unwrap();
    let second = again(&first, &line).exits(0);
    assert!(
        second.stderr.contains("because the scenario changed"),
        "{}",
        second.all()
    );
    assert_ne!(
        record(&first).cells[0].scenario_hash,
        record(&second).cells[0].scenario_hash
    );
    std::fs::write(
        &path,
        format!("{before}[workload]\nworkers = 4\n[expect.\"*\"]\nlease = \"violated\"\n"),
    )
    .unwrap();
    let third = again(&first, &line).exits(1);
    assert!(
        third.stderr.contains("because the expectation changed"),
        "{}",
        third.all()
    );
}

#[test]
fn invalid_arguments_are_refused() {
    let told = |line: &str, part: &str| {
        let outcome = picklock(&format!("matrix --backend sim {line}"))
            .run()
            .exits(2);
        assert!(outcome.stderr.contains(part), "{line}\n{}", outcome.all());
    };
    told("--impl redlok", "did you mean `redlock`?");
    told("--scenario gc-pauze", "did you mean `gc-pause`?");
    told("--backend docer", "docker");
    told("--seeds 0", "--seeds 0: each cell must run at least once");
    told("--jobs 0", "--jobs 0");
    told(
        "--seeds 2 --seed 18446744073709551615",
        "exceed the largest seed",
    );
    told("--impl-option a=b", "exactly one --impl");
    told("--ttl 0ms", "nothing to run: no cell is applicable");
    told("--ttl soon", "soon");
    told("--nodes 0", "--nodes 0: ");
    told("--name mine=redlock", "only a program can have a label");
    told(
        "--name redlock=exec:cat",
        "`redlock` is the name of a built-in lock",
    );
    told("--name 'my lock=exec:cat'", "`my lock` is not a label");
    told(
        "--name a=exec:cat --name a=exec:tac",
        "--name a=exec:tac: another program has the label `a`",
    );
    told(
        "--name mine=exec:cat",
        "nothing to run: no cell is applicable\n  mine × calm × sim: a program of your own",
    );
    told(
        "--impl exec:cat",
        "nothing to run: no cell is applicable\n  exec:cat × calm × sim: a program of your own",
    );
}

#[test]
fn a_directory_with_something_else_is_left_alone() {
    let run = picklock("scenario calm --impl set-nx-px --backend sim --out run")
        .run()
        .exits(0);
    let dir = run.home().join("run");
    let before = run.text_file("run/run.json");
    let line = format!(
        "{SIM} --impl set-nx-px --scenario calm --out {}",
        dir.display()
    );
    let outcome = picklock(&line).run().exits(2);
    assert!(
        outcome
            .stderr
            .contains("the directory already contains a single run"),
        "{}",
        outcome.all()
    );
    assert_eq!(run.text_file("run/run.json"), before);
    std::fs::remove_file(dir.join("run.json")).unwrap();
    let outcome = picklock(&line).run().exits(2);
    assert!(
        outcome.stderr.contains("but no matrix"),
        "{}",
        outcome.all()
    );
    std::fs::write(dir.join("matrix.json"), "{}").unwrap();
    let outcome = picklock(&line).run().exits(2);
    assert!(
        outcome.stderr.contains("not a picklock-matrix/1 document"),
        "{}",
        outcome.all()
    );
}
