//! Matrices with runs on real servers: cells that fail, two backends, interruptions.

use picklock_harness::record::MatrixRecord;
use rustix::process::Signal;

use super::adapters::project;
use super::leftovers::becomes;
use crate::matrix::record;
use crate::running::picklock;

#[test]
fn a_cell_that_cannot_be_run_stops_no_other() {
    let line = "matrix --backend process --quiet --impl exec:/bin/false --impl set-nx-px --scenario calm --json --out table";
    let outcome = picklock(line).run().exits(4);
    let record = record(&outcome);
    assert_eq!(record.cells.len(), 2);
    let error = record.cells[0].error.as_ref().unwrap();
    assert!(error.contains("client 0 exited"), "{error}");
    assert!(record.cells[1].error.is_none() && record.cells[1].is_as_expected());
    // Failed cells are not saved, so that the next call tries again.
    assert!(record.cells[0].run_dir.is_none());
    assert!(
        outcome
            .home()
            .join("table/set-nx-px/calm/process/commands.jsonl.gz")
            .is_file()
    );
    outcome.left_no_directory();
}

/// The program fails until its folder contains a file, which the first start writes.
#[test]
fn program_that_does_not_start_at_once_is_started_again() {
    let polite = project("tests/adapters/polite.py");
    let script = format!(
        "[ -e started ] || {{ : >started; exit 1; }}\nexec python3 {}\n",
        polite.display()
    );
    let line = "matrix --backend process --quiet --impl slow --scenario calm --json";
    let tables = "[impl.slow]\ncommand = \"sh start.sh\"\n";
    let call = picklock(line).file("picklock.toml", tables);
    let record = record(&call.file("start.sh", &script).run());
    assert!(record.cells[0].error.is_none(), "{:?}", record.cells[0]);
}

#[test]
fn a_small_matrix_of_two_backends() {
    let line = "matrix --backend process --backend sim --quiet --impl set-nx-px --impl redlock --scenario calm --scenario holder-crash --json --out table";
    let outcome = picklock(line).run().exits(0);
    let record = record(&outcome);
    assert_eq!(record.cells.len(), 8);
    for cell in &record.cells {
        let dir = cell.run_dir.as_ref().unwrap();
        let run = outcome.json_file(&format!("table/{dir}/run.json"));
        assert_eq!(
            run["verdicts"],
            serde_json::to_value(&cell.verdicts).unwrap()
        );
        assert_eq!(
            cell.elapsed_ms.is_some(),
            cell.backend == picklock_scenarios::BackendName::Process
        );
        let twin = |other: &&picklock_harness::record::Cell| {
            (&other.scenario, &other.lock.name) == (&cell.scenario, &cell.lock.name)
        };
        let status = |cell: &picklock_harness::record::Cell| -> Vec<_> {
            cell.verdicts
                .values()
                .map(|v| (v.status, v.cause))
                .collect()
        };
        for other in record.cells.iter().filter(twin) {
            assert_eq!(status(cell), status(other), "the backends differ");
        }
    }
    let kept: MatrixRecord = serde_json::from_str(&outcome.text_file("table/matrix.json")).unwrap();
    assert_eq!(kept, record);
    outcome.left_no_directory();
}

/// A built-in lock run as a program reports its own name, which a label replaces.
#[test]
fn a_label_replaces_the_command_in_every_report() {
    let program = env!("CARGO_BIN_EXE_picklock");
    let named = |lock: &str| format!("'mine=exec:{program} worker --impl {lock}'");
    let scenario = "name = \"own\"\nsummary = \"Calm.\"\n[expect.mine]\nlease = \"held\"\n";
    let line = |lock: &str, out: &str| {
        let name = named(lock);
        format!(
            "matrix --backend process --name {name} --nodes 3 --scenario own.toml --json --out {out}"
        )
    };
    let first = picklock(&line("redlock", "table"))
        .file("own.toml", scenario)
        .run()
        .exits(0);
    let cell = &record(&first).cells[0];
    assert_eq!(cell.lock.name, "mine");
    assert!(cell.is_bound(), "[expect.mine] was not read");
    assert_eq!(cell.run_dir.as_deref(), Some("mine/own/process"));
    assert!(
        first.stderr.contains("mine × own × process"),
        "{}",
        first.all()
    );
    let run = first.json_file("table/mine/own/process/run.json");
    assert_eq!(run["impl"]["name"], "mine");
    assert_eq!(run["nodes"], 3);
    let repro = first.text_file("table/mine/own/process/repro.toml");
    assert!(repro.contains("label = \"mine\""), "{repro}");
    // The printed command repeats the cell under the same label.
    assert!(
        cell.reproduce.contains("--name 'mine=exec:"),
        "{}",
        cell.reproduce
    );
    let kept = first.home().join("table/mine/own/process/repro.toml");
    let replayed = picklock(&format!("replay {} --json --trust", kept.display()))
        .run()
        .exits(0);
    assert_eq!(replayed.document()["impl"]["name"], "mine");
    // A different program under the same label is a different lock.
    let home = first.home().display();
    let again = line("set-nx-px", &format!("{home}/table"))
        .replace("own.toml", &format!("{home}/own.toml"));
    let second = picklock(&again).run().exits(0);
    assert!(
        second
            .stderr
            .contains("runs again, because the lock changed"),
        "{}",
        second.all()
    );
}

#[test]
fn a_lock_whose_table_changed_runs_again() {
    let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/adapters/python/my_lock.py");
    let table = format!("[impl.mine]\ncommand = \"python3 {lock}\"\n");
    let line = "matrix --impl mine --backend process --scenario calm --out table";
    let first = picklock(line).file("picklock.toml", &table).run();
    let again = |added: &str| {
        std::fs::write(
            first.home().join("picklock.toml"),
            format!("{table}{added}\n"),
        )
        .unwrap();
        picklock(line).within(first.home()).run()
    };
    let same = again("");
    let said = "1 of 1 cells were already finished";
    assert!(same.stderr.contains(said), "{}", same.all());
    for added in [
        "environment = { A = \"1\" }",
        "directory = \"/\"",
        "nodes = 2",
        "needs_every_node = true",
        "renews = true",
    ] {
        let changed = again(added);
        let said = "mine × calm × process: runs again, because the lock changed";
        assert!(changed.stderr.contains(said), "{added}: {}", changed.all());
    }
}

/// Interrupts a matrix of real runs once its first cell is finished, and continues it.
fn interrupted_by(signal: Signal) {
    let line = "matrix --backend process --jobs 1 --impl set-nx-px --scenario calm --scenario gc-pause --scenario holder-crash --json --out table";
    let mut running = picklock(line).start();
    running.hear("[1/3]");
    running.signal(signal);
    let first = running.finish();
    if signal == Signal::INT {
        assert_eq!(first.code, Some(130), "{}", first.all());
        let record = record(&first);
        assert!(record.interrupted && !record.cells.is_empty() && record.cells.len() < 3);
        assert!(
            first.stderr.contains("cells are missing"),
            "{}",
            first.all()
        );
    } else {
        assert_eq!(first.code, None);
    }
    let table = first.home().join("table");
    let second = picklock(&line.replace("table", table.to_str().unwrap()))
        .run()
        .exits(0);
    assert!(
        second.stderr.contains("of 3 cells were already finished"),
        "{}",
        second.all()
    );
    let whole = record(&second);
    assert!(!whole.interrupted);
    assert_eq!(whole.cells.len(), 3);
    for cell in &whole.cells {
        let dir = table.join(cell.run_dir.as_ref().unwrap());
        assert!(dir.join("history.jsonl").is_file() && dir.join("cell.json").is_file());
        let scenario = dir.parent().unwrap();
        let there = std::fs::read_dir(scenario).unwrap().count();
        assert_eq!(there, 1, "something is left in {}", scenario.display());
    }
}

/// A cell with some of its runs is shown with these.
#[test]
fn an_interrupted_cell_is_shown_with_the_runs_that_it_has() {
    let line = "matrix --backend process --jobs 1 --impl set-nx-px --scenario calm --seeds 1000000 --json --out table";
    let running = picklock(line).start();
    let scenario = running.temp().with_file_name("table/set-nx-px/calm");
    becomes("a second run", || {
        let begun = scenario.join(".process-seed-2").is_dir();
        begun.then_some(()).ok_or_else(String::new)
    });
    running.signal(Signal::INT);
    let outcome = running.finish().exits(130);
    let record = record(&outcome);
    assert!(record.interrupted);
    assert_eq!(record.cells.len(), 1);
    assert!((1..10).contains(&record.cells[0].runs), "{}", outcome.all());
    let said = "0 of 1 cells are missing, 1 has fewer runs than it should";
    assert!(outcome.stderr.contains(said), "{}", outcome.all());
}

#[test]
fn an_interrupted_matrix_goes_on() {
    interrupted_by(Signal::INT);
}

#[test]
fn a_killed_matrix_goes_on() {
    interrupted_by(Signal::KILL);
}
