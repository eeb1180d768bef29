//! `picklock gate`: when it passes, when it fails, and what it reports.

use crate::running::{Call, Outcome, picklock};
use crate::strangers::fifo;

/// Two cells that give the results that the catalog expects.
const CALM: &str = "[[cells]]\nbackends = [\"sim\"]\nlocks = [\"set-nx-px\", \"redlock\"]\nscenarios = [\"calm\"]\nseeds = 2\n";

const LIMIT: &str = "[[limit]]\nmetric = \"acquire.p99\"\nmax_vs_baseline = 1.3\nslack = \"2ms\"\n\
                     [[limit]]\nmetric = \"violations.lease\"\nmax = 0\n";

/// A cell that is not applicable, because the user's own program cannot be simulated.
const NOT_APPLICABLE: &str =
    "[[cells]]\nbackends = [\"sim\"]\nlocks = [\"exec:true\"]\nscenarios = [\"calm\"]\n";

/// A scenario with a section of this many milliseconds.
fn mine(section_ms: u32) -> String {
    format!(
        "name = \"mine\"\nsummary = \"Nothing goes wrong.\"\n[workload]\nsection = \"{section_ms}ms\"\n[expect.\"*\"]\nlease = \"held\"\n"
    )
}

/// Returns a call of `picklock gate LINE` with this configuration. The runner of the project's own CI must not see the
/// output of these gates.
pub fn gate(line: &str, config: &str) -> Call {
    picklock(&format!("gate --quiet {line}"))
        .env("GITHUB_ACTIONS", "")
        .env("GITHUB_STEP_SUMMARY", "")
        .file("picklock.toml", config)
}

/// Returns the baseline that a gate with this configuration writes.
fn baseline(config: &str) -> String {
    gate("--update-baseline", config)
        .run()
        .exits(0)
        .text_file("picklock-baseline.json")
}

/// Returns both outputs without the parts that depend on the machine.
fn said(outcome: &Outcome) -> String {
    let errors = outcome.stderr.lines();
    let errors: Vec<&str> = errors
        .filter(|line| !line.starts_with("backend "))
        .collect();
    format!("{}--- stderr\n{}", outcome.stdout, errors.join("\n"))
}

#[test]
fn expected_results_pass_the_gate_with_identical_output() {
    let config = format!("{CALM}{LIMIT}");
    let written = gate("--update-baseline", &config).run().exits(0);
    insta::assert_snapshot!("gate_first_baseline", said(&written));
    let baseline = written.text_file("picklock-baseline.json");
    let run = |line: &str| {
        let call = gate(line, &config).file("picklock-baseline.json", &baseline);
        call.run().exits(0).stdout
    };
    insta::assert_snapshot!("gate_open", run(""));
    let document = run("--json");
    assert!(
        document.starts_with("{\n  \"format\": \"picklock-gate/1\""),
        "{document}"
    );
    assert_eq!(run("--json"), document);
}

#[test]
fn planted_regression_is_found() {
    let dead = format!("{CALM}[[expect]]\nlock = \"redlock\"\nlease = \"violated: race\"\n");
    let verdict = CALM.replace("\"redlock\"", "\"no-lock\"")
        + "[[expect]]\nlock = \"no-lock\"\nlease = \"held\"\n";
    for (name, config) in [("gate_unexpected_pass", dead), ("gate_verdict", verdict)] {
        let outcome = gate("", &config).run().exits(1);
        insta::assert_snapshot!(name, said(&outcome));
    }
    let one_less = CALM.replace(", \"redlock\"", "");
    let both = baseline(&format!("{CALM}{LIMIT}"));
    let missing = gate("", &format!("{one_less}{LIMIT}")).file("picklock-baseline.json", &both);
    insta::assert_snapshot!("gate_missing_cell", said(&missing.run().exits(1)));
}

/// This includes leftovers of a gate that was interrupted: its cell exists, but no document lists it.
#[test]
fn every_cell_is_run_whatever_the_directory_has() {
    let dead = format!("{CALM}[[expect]]\nlock = \"redlock\"\nlease = \"violated: race\"\n");
    let first = gate("--out results", &dead).run().exits(1);
    let results = first.home().join("results");
    let text = first.text_file("results/matrix.json");
    let mut ended: serde_json::Value = serde_json::from_str(&text).unwrap();
    let cells = ended["cells"].take();
    let mut kept = cells.as_array().unwrap().iter();
    let kept = kept.find_map(|cell| cell["run_dir"].as_str().map(|dir| results.join(dir)));
    let kept = kept.unwrap().join("cell.json");
    assert!(kept.exists(), "{}", kept.display());
    ended["cells"] = serde_json::json!([]);
    std::fs::write(results.join("matrix.json"), ended.to_string()).unwrap();
    let call = picklock("gate --out results").env("GITHUB_ACTIONS", "");
    let again = call.within(first.home()).run().exits(1);
    let recalls = again.stderr.contains("already finished");
    assert!(!recalls && kept.exists(), "{}", again.all());
}

#[test]
fn slower_lock_and_changed_scenario_are_distinguished() {
    let config = CALM.replace("\"calm\"", "\"mine.toml\"") + LIMIT;
    let update = gate("--update-baseline", &config).file("mine.toml", &mine(100));
    let baseline = update.run().exits(0).text_file("picklock-baseline.json");
    let other = gate("", &config)
        .file("mine.toml", &mine(200))
        .file("picklock-baseline.json", &baseline);
    insta::assert_snapshot!("gate_other_scenario", said(&other.run().exits(1)));
    // Reduces the latency in the baseline by hand, so that today's lock is slow in comparison.
    let mut faster: serde_json::Value = serde_json::from_str(&baseline).unwrap();
    faster["cells"][0]["exact"]["metrics"]["acquire.p99"] = 1000.into();
    let slow = gate("", &config)
        .file("mine.toml", &mine(100))
        .file("picklock-baseline.json", &faster.to_string());
    insta::assert_snapshot!("gate_latency", said(&slow.run().exits(1)));
}

#[test]
fn without_what_it_needs_it_does_not_open() {
    let no_baseline = gate("", &format!("{CALM}{LIMIT}")).run().exits(2);
    let named = gate("", &format!("baseline = \"b.json\"\n{CALM}"))
        .run()
        .exits(2);
    let foreign = gate("", CALM)
        .file(
            "picklock-baseline.json",
            "{\"format\":\"picklock-baseline/9\",\"cells\":[]}",
        )
        .run()
        .exits(2);
    let empty = gate("", "").run().exits(2);
    let nothing = gate("", "[[cells]]\nbackends = []\n").run().exits(2);
    let omitted = gate("--out results", NOT_APPLICABLE).run().exits(1);
    assert!(
        omitted
            .text_file("results/gate.json")
            .contains("exec:true × calm × sim")
    );
    let omitted = gate("", NOT_APPLICABLE).run().exits(1);
    let all = [no_baseline, named, foreign, empty, nothing, omitted];
    insta::assert_snapshot!(all.each_ref().map(said).join("\n===\n"));
}

#[test]
fn a_table_without_an_applicable_cell_is_counted_apart() {
    // A table may apply to this cell alone.
    let expect = "[[expect]]\nlock = \"exec:true\"\nlease = \"held\"\n";
    let config = format!("{NOT_APPLICABLE}{CALM}{expect}");
    let outcome = gate("", &config).run().exits(0);
    let said = "2 cells, 4 runs, 14 expectations, 1 not applicable";
    assert!(outcome.stdout.contains(said), "{}", outcome.all());
}

#[test]
fn a_lock_of_which_nothing_is_expected_is_not_judged() {
    let config = CALM.replace("\"set-nx-px\", \"redlock\"", "\"twice-as-slow\"");
    let outcome = gate("", &config).run().exits(3);
    assert!(
        outcome
            .stdout
            .contains("the cell has no expectation and no limit"),
        "{}",
        outcome.all()
    );
}

#[test]
fn configuration_error_is_reported_with_its_line() {
    let limit = |lines: &str| format!("{CALM}[[limit]]\n{lines}\n");
    let p99 = |bound: &str| limit(&format!("metric = \"acquire.p99\"\n{bound}"));
    let real = |bound: &str| p99(bound).replace("\"sim\"", "\"process\"");
    let configs = [
        CALM.replace("backends", "backend"),
        CALM.replace("\"sim\"", "\"auto\""),
        CALM.replace("\"redlock\"", "\"redlok\""),
        CALM.replace(
            "\"redlock\"",
            "{ impl = \"redlock\", options = { retrys = \"3\" } }",
        ),
        CALM.replace("\"redlock\"", "{ imp = \"redlock\" }"),
        CALM.replace("\"redlock\"", "{ impl = \"redlock\", name = \"mine\" }"),
        CALM.replace("\"redlock\"", "{ impl = \"exec:cat\", name = \"getset\" }"),
        CALM.replace("\"calm\"", "\"clam\""),
        CALM.replace("seeds = 2", "seeds = 0"),
        CALM.replace("seeds = 2", "seeds = \"many\""),
        format!("{CALM}{CALM}"),
        format!("control = \"set-nx\"\n{CALM}"),
        format!("pairs = 3\n{CALM}"),
        format!("{CALM}[[expect]]\nlock = \"getset\"\nlease = \"held\"\n"),
        format!("{CALM}[[expect]]\nlease = \"hold\"\n"),
        format!("{CALM}[[expect]]\nlease = \"violated: raze\"\n"),
        format!("{CALM}[[expect]]\nlock = \"redlock\"\n"),
        limit("metric = \"acquire.p98\"\nmax = \"2ms\""),
        limit("metric = \"violations.leese\"\nmax = 0"),
        p99("max_vs_basline = 2"),
        p99("max_vs_control = 2"),
        p99("max = 20"),
        limit("require = [\"acquire.p99 < basline * 2\"]"),
        real("max = \"20ms\""),
        real("max_vs_baseline = 2"),
        format!("control = \"set-nx-px\"\n{}", real("max = \"20ms\"")),
        "[[cells]\n".to_owned(),
    ];
    let shown = configs.iter().map(|config| {
        let outcome = gate("", config).run().exits(2);
        assert_eq!(outcome.stdout, "", "{config}");
        let lines = outcome.stderr.lines();
        let lines: Vec<&str> = lines.filter(|line| !line.starts_with("backend ")).collect();
        lines.join("\n").replace("picklock: ", "")
    });
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n\n"));
}

/// The configuration's expectations apply from the beginning, not only to the decision.
#[test]
fn progress_names_expectations_of_the_configuration() {
    let config = "[[cells]]\nbackends = [\"sim\"]\nlocks = [\"no-lock\"]\nscenarios = [\"calm\"]\n\
                  [[expect]]\nlease = \"held\"\nexclusion = \"any\"\n";
    let call = picklock("gate").env("GITHUB_ACTIONS", "");
    let call = call.env("GITHUB_STEP_SUMMARY", "");
    let outcome = call.file("picklock.toml", config).run().exits(1);
    let said = "[1/1] no-lock × calm × sim: lease violated: unbacked-grant, expected held\n";
    assert!(outcome.stderr.contains(said), "{}", outcome.all());
}

#[test]
fn github_gets_annotations_and_a_summary() {
    let config = CALM.replace("\"redlock\"", "\"no-lock\"")
        + "[[expect]]\nlock = \"no-lock\"\nlease = \"held\"\n";
    let call = |line: &str| {
        gate(line, &config)
            .file("summary.md", "# before\n")
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_STEP_SUMMARY", "summary.md")
            .run()
            .exits(1)
    };
    let plain = call("");
    let annotation = "::error title=picklock gate%3A no-lock × calm × sim%3A unbacked-grant%2C the lock's fault::Two clients";
    assert!(plain.stdout.contains(annotation), "{}", plain.all());
    let summary = plain.text_file("summary.md");
    assert!(
        summary.starts_with("# before\n### ✘ Picklock: the lock's fault: "),
        "{summary}"
    );
    let document = call("--json");
    assert_eq!(document.document()["outcome"], "differs");
    assert!(document.stderr.contains(annotation), "{}", document.all());
}

/// Nothing reads the FIFO, so opening it would never return.
#[test]
fn summary_that_is_a_fifo_is_an_error() {
    let call = gate("", CALM).env("GITHUB_STEP_SUMMARY", "fifo");
    fifo(&call.temp().with_file_name("fifo"));
    let outcome = call.run().exits(4);
    let said = "GITHUB_STEP_SUMMARY: cannot write fifo";
    assert!(outcome.stderr.contains(said), "{}", outcome.all());
}

#[test]
fn known_violation_passes_until_its_date() {
    let gate = |until: &str| {
        let config = format!(
            "[[cells]]\nbackends = [\"sim\"]\nlocks = [\"release-without-token\"]\n\
             scenarios = [\"gc-pause\"]\n[[expect]]\nownership = \"held\"\n\
             [[accept]]\nownership = \"violated: stolen-release\"\nreason = \"issue 12\"\n\
             until = {until}\n"
        );
        let call = picklock("gate --quiet").env("GITHUB_ACTIONS", "");
        call.file("picklock.toml", &config).run()
    };
    let known = gate("2999-12-31").exits(0);
    let said = "accepted until 2999-12-31: issue 12";
    assert!(known.stdout.contains(said), "{}", known.all());
    let over = gate("2020-01-31").exits(1);
    let words: Vec<&str> = over.stdout.split_whitespace().collect();
    let said = "which has passed: issue 12";
    assert!(words.join(" ").contains(said), "{}", over.all());
}

#[test]
fn the_configurations_of_the_docs_are_understood() {
    let page = include_str!("../../docs/gate.md");
    let blocks = page.split("```toml\n").skip(1);
    let blocks: Vec<&str> = blocks.filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        // The examples lack a baseline, which is detected only after everything else was accepted.
        let config = block
            .replace("docs/examples/", "")
            .replace("max_vs_control", "max_vs_baseline");
        let call = gate("", &config).file(
            "round-trips.toml",
            include_str!("../../docs/examples/round-trips.toml"),
        );
        let outcome = call.run().exits(2);
        assert!(
            outcome.stderr.contains("there is no baseline"),
            "{}",
            outcome.all()
        );
    }
}
