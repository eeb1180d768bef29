//! A saved run is repeated: byte for byte in the simulation, with the same verdicts elsewhere. A run that cannot be
//! replayed is reported, with the place and the reason.

use std::path::Path;

use crate::running::{Outcome, picklock};

const OWN: &str = r#"
name = "mine"
summary = "The holder freezes after the last unit was read."
[workload]
stock = 2
section = "0.8ttl"
ttl = "300ms"
[[fault]]
kind = "pause-client"
when = { on = "stock-read", stock = 1 }
for = "450ms"
[judge]
min_grants = 3
"#;

/// Returns the bytes of a file of a run.
#[track_caller]
fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Runs the simulation on a scenario file that no longer exists, saved in `run`.
fn kept() -> Outcome {
    let line = "scenario mine.toml --impl redlock --backend sim --seed 18446744073709551615 \
                --workers 4 --impl-option retry_delay=15ms --json --out run";
    let outcome = picklock(line).file("mine.toml", OWN).run().exits(1);
    std::fs::remove_file(outcome.home().join("mine.toml")).unwrap();
    outcome
}

#[test]
fn saved_run_becomes_a_regression_scenario() {
    let line = "scenario gc-pause --impl release-without-token --backend sim --seed 1 --out run";
    let kept = picklock(line).run().exits(1);
    let replay = "replay run --as-scenario regressions/late-delete.toml";
    let written = picklock(replay).within(kept.home()).run().exits(0);
    let table = "scenarios = [\"regressions/late-delete.toml\"]";
    assert!(written.stdout.contains(table), "{}", written.all());
    let line = "scenario regressions/late-delete.toml --impl release-without-token --backend sim";
    let again = picklock(line).within(kept.home()).run().exits(1);
    assert!(again.stdout.contains("stolen-release"), "{}", again.all());
    // Nothing is overwritten.
    picklock(replay).within(kept.home()).run().exits(4);
    let matrix =
        "matrix --backend sim --scenario regressions/late-delete.toml --impl release-without-token";
    let matrix = picklock(matrix).within(kept.home()).run().exits(1);
    // The lock must keep every property that it can keep. A client that outlives its lease is not the lock's fault.
    assert!(
        matrix.stdout.contains("ownership violated"),
        "{}",
        matrix.all()
    );
    assert!(
        !matrix.stdout.contains("exclusion violated"),
        "{}",
        matrix.all()
    );
}

#[test]
fn simulation_repeats_to_the_byte_without_the_scenario_file() {
    let first = kept();
    let run = first.home().join("run");
    let again = picklock(&format!("replay {} --json --out again", run.display()))
        .run()
        .exits(1);
    for name in ["history.jsonl", "commands.jsonl"] {
        let (then, now) = (
            bytes(&run.join(name)),
            bytes(&again.home().join("again").join(name)),
        );
        assert!(then.len() > 1_000 && then == now, "{name}");
    }
    let said = "replay: same verdicts";
    assert!(again.stderr.contains(said), "{}", again.all());
    let (before, after) = (first.document(), again.document());
    for key in ["verdicts", "counts", "seed", "latency", "workers", "impl"] {
        assert_eq!(before[key], after[key], "{key}");
    }
    // The name no longer refers to a file, so the repro file repeats the run.
    let command = after["reproduce"].as_str().unwrap();
    assert!(command.starts_with("picklock replay "), "{command}");
    let once_more = picklock(command.strip_prefix("picklock ").unwrap())
        .run()
        .exits(1);
    assert!(once_more.stdout.contains(said), "{}", once_more.all());
}

#[test]
fn a_scenario_of_the_catalog_keeps_its_full_command() {
    let first = picklock(
        "scenario gc-pause --impl redlock --backend sim --ttl 2s --seed 5 --json --out run",
    )
    .run()
    .exits(1);
    let repro = first.home().join("run/repro.toml");
    let again = picklock(&format!("replay {} --json", repro.display()))
        .run()
        .exits(1);
    assert_eq!(first.document(), again.document());
    let command = again.document()["reproduce"].to_string();
    assert!(
        command.contains("picklock scenario gc-pause --impl redlock --backend sim --seed 5")
            && command.contains("--ttl 2s"),
        "{command}"
    );
}

#[test]
fn a_changed_catalog_does_not_matter_and_is_seen() {
    let first = picklock("scenario calm --impl set-nx-px --backend sim --seed 5 --out run")
        .run()
        .exits(0);
    let repro = first.text_file("run/repro.toml");
    let changed = repro.replace("\nstock = ", "\nstock = 1");
    assert_ne!(repro, changed);
    let again = picklock("replay mine.toml --json")
        .file("mine.toml", &changed)
        .run();
    assert_eq!(again.code, Some(0), "{}", again.all());
    let command = again.document()["reproduce"].to_string();
    assert!(command.contains("picklock replay mine.toml"), "{command}");
}

#[test]
fn each_cell_of_a_matrix_can_be_replayed() {
    let matrix = picklock(
        "matrix --backend sim --impl set-nx-px --scenario calm --scenario gc-pause --seeds 3 \
         --quiet --out table",
    )
    .run()
    .exits(0);
    let table = matrix.home().join("table");
    for (scenario, code) in [("calm", 0), ("gc-pause", 1)] {
        let cell = table.join("set-nx-px").join(scenario).join("sim");
        let again = picklock(&format!("replay {} --out again", cell.display()))
            .run()
            .exits(code);
        let history = "history.jsonl";
        let repeated = bytes(&again.home().join("again").join(history));
        assert_eq!(bytes(&cell.join(history)), repeated, "{scenario}");
    }
    let outcome = picklock(&format!("replay {}", table.display()))
        .run()
        .exits(2);
    assert!(
        outcome.stderr.contains("it contains several runs"),
        "{}",
        outcome.all()
    );
    // Reports say that the run can be replayed.
    let cell = table.join("set-nx-px/gc-pause/sim");
    let report = picklock(&format!("report {} --format html", cell.display()))
        .run()
        .exits(0);
    let page = report.text_file("picklock-report/report.html");
    let command = ["picklock", "replay", &cell.display().to_string()];
    let words = command.map(|word| format!("<span>{word}</span>"));
    assert!(page.contains(&words.join(" ")));
    // The simulation also saves a command log, which a matrix compresses.
    assert!(cell.join("commands.jsonl.gz").is_file() && !cell.join("commands.jsonl").exists());
    assert!(page.contains("data-do=\"messages\""));
}

#[test]
fn other_verdicts_are_named() {
    let text = kept().text_file("run/repro.toml");
    let lease = "[verdicts.lease]\nstatus = \"held\"";
    assert!(text.contains(lease), "{text}");
    let other = text.replace(
        lease,
        "[verdicts.lease]\nstatus = \"violated\"\ncause = \"race\"",
    );
    let outcome = picklock("replay mine.toml")
        .file("mine.toml", &other)
        .run()
        .exits(1);
    let said = "replay: different verdicts: lease held, was violated: race";
    assert!(outcome.stdout.contains(said), "{}", outcome.all());
}

/// Returns the message about an invalid repro.
#[track_caller]
fn refused(text: &str) -> String {
    let outcome = picklock("replay mine.toml")
        .file("mine.toml", text)
        .run()
        .exits(2);
    assert_eq!(outcome.stdout, "", "{}", outcome.all());
    outcome.stderr
}

#[test]
fn unreplayable_file_is_refused_with_a_reason() {
    let text = kept().text_file("run/repro.toml");
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from), "{from} in\n{text}");
        refused(&text.replacen(from, to, 1))
    };
    let said = [
        changed("picklock-repro/1", "picklock-repro/2"),
        changed("picklock-repro/1", "somebody-else/1"),
        refused(OWN),
        changed("workers = 4", "wrokers = 4"),
        changed("kind = \"pause-client\"", "kind = \"pause-cleint\""),
        changed("name = \"redlock\"", "name = \"redlokc\""),
        changed("retry_delay", "retry_dely"),
        changed("status = \"violated\"", "status = \"broken\""),
        changed("backend = \"sim\"", "backend = \"cloud\""),
        changed("for = \"450ms\"", "for = \"450ms\"\nworkers = [9]"),
        refused(&text[..text.len() - 40]),
        refused(""),
    ];
    insta::assert_snapshot!(said.join("\n"));
}

/// A run is found by its directory, by any file in it, and from inside it.
#[test]
fn saved_run_is_found_by_whatever_lies_in_it() {
    let kept = kept();
    let run = kept.home().join("run");
    let said = |line: &str, folder: &Path| {
        let outcome = picklock(line).within(folder).run();
        assert!(
            matches!(outcome.code, Some(0 | 1)),
            "{line}: {}",
            outcome.all()
        );
        outcome.stdout
    };
    for command in ["check", "log", "replay --backend sim"] {
        let by_name = said(&format!("{command} run"), kept.home());
        for (path, folder) in [
            ("run/history.jsonl", kept.home()),
            ("run/run.json", kept.home()),
            (".", kept.home()),
            (".", &run),
            ("commands.jsonl", &run),
        ] {
            let found = said(&format!("{command} {path}"), folder);
            // The output names the file.
            let plain = |text: &str| text.replace("run/", "").replace("./", "");
            assert_eq!(plain(&found), plain(&by_name), "{command} {path}");
        }
    }
}

#[test]
fn servers_that_the_replay_would_not_use_are_refused() {
    let kept = kept();
    for (flag, value) in [("--image", "redis:6.2"), ("--redis-server", "/bin/true")] {
        let replay = picklock(&format!("replay run {flag} {value}"));
        let refused = replay.within(kept.home()).run().exits(2);
        let said = format!("{flag} {value}: only the backend");
        assert!(refused.stderr.contains(&said), "{}", refused.all());
    }
}

#[test]
fn printed_command_quotes_a_path_with_a_blank() {
    let kept = kept();
    std::fs::rename(kept.home().join("run"), kept.home().join("my run")).unwrap();
    let check = picklock("check 'my run' --json").within(kept.home());
    let reproduce = check.run().exits(1).document()["reproduce"].clone();
    assert_eq!(reproduce, "picklock check 'my run/history.jsonl'");
}

#[test]
fn a_path_that_leads_to_no_repro_says_what_is_there() {
    let kept = kept();
    let run = kept.home().join("run");
    let ask = |path: &Path| {
        picklock(&format!("replay {}", path.display()))
            .run()
            .exits(2)
            .stderr
    };
    let missing = ask(&kept.home().join("missing"));
    assert!(missing.contains("no such file or directory"), "{missing}");
    let empty = ask(&kept.home().join("tmp"));
    assert!(empty.contains("it contains no run"), "{empty}");
    std::fs::remove_file(run.join("repro.toml")).unwrap();
    let older = ask(&run);
    assert!(older.contains("an older picklock wrote it"), "{older}");
}
