//! Compiles and runs the example, and checks the rules of the architecture in the copy. Only the longer tier does this,
//! because it compiles the whole workspace again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::page::{ADDITIONS, block, with_line};
use crate::trial;
use crate::workspace::Workspace;

const SCENARIO: &str = "lost-reply-long-work";

/// The binary of the copied workspace, and a directory to run it in.
pub struct Picklock {
    binary: PathBuf,
    home: tempfile::TempDir,
}

impl Picklock {
    /// Returns standard output of `picklock LINE`, which must exit with this code.
    pub fn run(&self, code: i32, line: &str) -> String {
        let output = Command::new(&self.binary)
            .args(line.split(' '))
            .current_dir(self.home.path())
            .env("GITHUB_ACTIONS", "")
            .env("GITHUB_STEP_SUMMARY", "")
            .output()
            .expect("the binary starts");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let ended = output.status.code();
        assert_eq!(ended, Some(code), "picklock {line}\n{stdout}\n{stderr}");
        stdout
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }
}

/// Adds the file and the table row of each example.
fn add_all(workspace: &Workspace) {
    for addition in &ADDITIONS {
        let file = workspace.path(addition.file);
        fs::write(file, block(addition.file)).expect("the folder is there");
        let table = workspace.path(addition.table);
        let before = fs::read_to_string(&table).expect("the table is there");
        let after = with_line(addition, &before);
        assert_eq!(after.lines().count(), before.lines().count() + 1);
        fs::write(table, after).expect("the table can be written");
    }
}

fn contains(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word} is not in:\n{text}");
    }
}

fn file(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn one_file_and_one_line_each_is_all_that_an_addition_needs() {
    let workspace = Workspace::copy().expect("the workspace can be copied");
    add_all(&workspace);
    let binary = workspace.build().expect("cargo starts");
    workspace.check_architecture().expect("cargo starts");
    // The crate of docs/trial.md is not part of the architecture.
    trial::add_crate(&workspace);
    let picklock = Picklock {
        binary,
        home: tempfile::tempdir().expect("a directory"),
    };
    the_lock_passes_the_old_scenarios(&picklock);
    the_run_shows_all_of_them(&picklock);
    the_matrix_is_as_expected(&picklock);
    the_reports_show_the_property(&picklock);
    the_property_can_be_explained_and_gated(&picklock);
    trial::crate_tests_its_lock(&workspace, &picklock);
}

/// The old scenarios do not detect the lock's defect. They do not know the new property, and so expect it to hold.
fn the_lock_passes_the_old_scenarios(picklock: &Picklock) {
    let old = "--scenario calm --scenario lost-reply --scenario holder-crash";
    let line = format!("matrix --impl resuming {old} --backend sim --seeds 5 --quiet");
    let table = picklock.run(1, &line);
    for told in table
        .lines()
        .filter(|line| line.contains(", expected held"))
    {
        assert!(told.trim_start().starts_with("waiting violated"), "{table}");
    }
}

fn the_run_shows_all_of_them(picklock: &Picklock) {
    contains(&picklock.run(0, "list"), &["resuming", SCENARIO]);
    let run = format!("scenario {SCENARIO} --impl resuming --backend sim --seed 1 --quiet");
    contains(
        &picklock.run(1, &format!("{run} --out kept")),
        &["exclusion", "waiting", "had waited long", "migrate-client"],
    );
    let document = picklock.run(1, &format!("{run} --json"));
    let document: serde_json::Value = serde_json::from_str(&document).expect("JSON");
    for property in ["exclusion", "resource", "waiting"] {
        assert_eq!(document["verdicts"][property]["status"], "violated");
    }
    contains(
        &file(&picklock.path("kept/history.jsonl")),
        &["migrate-client of client 0 by +"],
    );
}

/// Checks that the new scenario's expectations are met by the new lock and all others.
fn the_matrix_is_as_expected(picklock: &Picklock) {
    let line = format!("matrix --scenario {SCENARIO} --backend sim --seeds 5 --quiet");
    contains(&picklock.run(0, &line), &["resuming", "waiting"]);
}

fn the_reports_show_the_property(picklock: &Picklock) {
    picklock.run(
        0,
        "report kept --format html,md,json,junit,csv --out reports",
    );
    let reports = ["report.html", "report.md", "matrix.json", "junit.xml"];
    for report in reports {
        let report = file(&picklock.path("reports").join(report));
        contains(&report, &["waiting", "had waited long"]);
    }
    let row = format!("\"resuming\",\"{SCENARIO}\",sim,waiting,violated\n");
    contains(&file(&picklock.path("reports/cells.csv")), &[&row]);
}

fn the_property_can_be_explained_and_gated(picklock: &Picklock) {
    contains(
        &picklock.run(0, "explain waiting"),
        &["No client waits longer than a quarter of a lease."],
    );
    let gate = |verdict: &str, runs: u32| {
        let config = format!(
            "[[cells]]\nbackends = [\"sim\"]\nlocks = [\"resuming\"]\nscenarios = [\"{SCENARIO}\"]\n\
             [[expect]]\nwaiting = \"{verdict}\"\n\
             [[limit]]\nmetric = \"violations.waiting\"\nmin = {runs}\nmax = {runs}\n"
        );
        fs::write(picklock.path("picklock.toml"), config).expect("the directory is there");
    };
    gate("violated", 1);
    picklock.run(0, "gate --quiet --update-baseline");
    picklock.run(0, "gate --quiet");
    gate("held", 0);
    contains(&picklock.run(1, "gate --quiet"), &["waiting"]);
}
