//! `picklock report`: turns saved runs into files, or explains why it cannot.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::running::{Outcome, picklock};

const ALL: &str = "html,md,json,junit,trace";

/// Saves a violated run, a calm run and a matrix of both, below one directory.
fn kept() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (scenario, name) in [("gc-pause", "broken"), ("calm", "calm")] {
        let out = dir.path().join(name);
        let line = format!(
            "scenario {scenario} --impl set-nx-px --backend sim --seed 3 -q --out {}",
            out.display()
        );
        let outcome = picklock(&line).run();
        assert!(matches!(outcome.code, Some(0 | 1)), "{}", outcome.all());
    }
    dir
}

fn report(line: &str) -> Outcome {
    picklock(&format!("report {line}")).run()
}

/// Returns all files below a directory, with their relative names.
fn files(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                let name = entry.path().strip_prefix(dir).unwrap().to_owned();
                found.push(name.to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn two_runs_in_every_format() {
    let kept = kept();
    let at = kept.path().display();
    let outcome = report(&format!(
        "{at}/broken {at}/calm/run.json --format {ALL} --out all"
    ));
    assert_eq!(outcome.code, Some(0), "{}", outcome.all());
    let out = outcome.home().join("all");
    let written = files(&out);
    for name in [
        "comment.md",
        "junit.xml",
        "matrix.json",
        "report.html",
        "report.md",
        "runs/set-nx-px-gc-pause-sim.json",
        "traces/set-nx-px-gc-pause-sim.trace.json",
    ] {
        assert!(written.contains(&name.to_owned()), "{name} in {written:?}");
        assert!(
            outcome.stdout.contains(&format!("wrote all/{name} ")),
            "{}",
            outcome.stdout
        );
    }
    let matrix: Value =
        serde_json::from_slice(&std::fs::read(out.join("matrix.json")).unwrap()).unwrap();
    assert_eq!(matrix["format"], "picklock-matrix/1");
    assert_eq!(matrix["cells"].as_array().unwrap().len(), 2);
    let again = std::fs::read(out.join("report.md")).unwrap();
    let outcome = report(&format!("{at}/broken {at}/calm/run.json"));
    let second = std::fs::read(outcome.home().join("picklock-report/report.md")).unwrap();
    assert_eq!(again, second, "the same input, the same bytes");
}

#[test]
fn a_matrix_directory_with_the_runs_that_it_shows() {
    let kept = kept();
    let at = kept.path();
    let outcome = report(&format!(
        "{0}/broken {0}/calm --format json --out m",
        at.display()
    ));
    let text = std::fs::read_to_string(outcome.home().join("m/matrix.json")).unwrap();
    let mut matrix: Value = serde_json::from_str(&text).unwrap();
    matrix["cells"][0]["run_dir"] = "broken".into();
    matrix["cells"][1]["run_dir"] = "../../etc".into();
    std::fs::write(at.join("matrix.json"), matrix.to_string()).unwrap();
    let outcome = report(&format!("{} --format trace,md", at.display()));
    assert_eq!(outcome.code, Some(0), "{}", outcome.all());
    assert!(
        outcome.stdout.contains("gc-pause-sim.trace.json"),
        "{}",
        outcome.stdout
    );
    assert!(
        outcome.stderr.contains("outside the matrix directory"),
        "{}",
        outcome.stderr
    );
    let text = std::fs::read_to_string(outcome.home().join("picklock-report/report.md")).unwrap();
    assert!(text.contains("### Skipped"), "{text}");
}

/// Damages a copy of the run record and checks the result.
fn spoilt(dir: &Path, name: &str, text: &str) {
    std::fs::create_dir(dir.join(name)).unwrap();
    std::fs::write(dir.join(name).join("run.json"), text).unwrap();
}

#[test]
fn unreadable_path_is_refused_alone_and_skipped_among_others() {
    let kept = kept();
    let at = kept.path();
    let run = std::fs::read_to_string(at.join("calm/run.json")).unwrap();
    spoilt(at, "truncated", &run[..run.len() / 2]);
    spoilt(at, "foreign", r#"{"format": "allure/2"}"#);
    spoilt(
        at,
        "newer",
        &run.replace("picklock-run/1", "picklock-run/2"),
    );
    spoilt(at, "empty-file", "");
    std::fs::create_dir(at.join("empty")).unwrap();
    std::fs::create_dir(at.join("unfinished")).unwrap();
    std::fs::write(at.join("unfinished/history.jsonl"), "").unwrap();
    let cases = [
        ("truncated", "truncated"),
        ("foreign", "allure/2"),
        ("newer", "picklock-run/2"),
        ("empty-file", "did not finish"),
        ("empty", "contains neither run.json nor matrix.json"),
        ("unfinished", "did not finish"),
        ("nowhere", "no such file or directory"),
    ];
    for (name, reason) in cases {
        let outcome = report(&format!("{}/{name}", at.display()));
        assert_eq!(outcome.code, Some(2), "{name}: {}", outcome.all());
        assert!(
            outcome.stderr.contains(reason),
            "{name}: {}",
            outcome.stderr
        );
        assert!(outcome.stderr.contains(name), "{name}: {}", outcome.stderr);
        assert!(!outcome.home().join("picklock-report").exists(), "{name}");
        let outcome = report(&format!("{0}/{name} {0}/calm", at.display()));
        assert_eq!(outcome.code, Some(0), "{name}: {}", outcome.all());
        assert!(
            outcome.stderr.contains(reason),
            "{name}: {}",
            outcome.stderr
        );
    }
}

#[test]
fn a_history_that_is_cut_short_leaves_the_verdicts_and_is_named() {
    let kept = kept();
    let history = kept.path().join("calm/history.jsonl");
    let text = std::fs::read_to_string(&history).unwrap();
    std::fs::write(&history, &text[..text.len() - 20]).unwrap();
    let outcome = report(&format!("{}/calm", kept.path().display()));
    assert_eq!(outcome.code, Some(0), "{}", outcome.all());
    assert!(
        outcome.stderr.contains("not an event"),
        "{}",
        outcome.stderr
    );
    let outcome = report(&format!("{}/calm --format trace", kept.path().display()));
    assert_eq!(outcome.code, Some(2), "{}", outcome.all());
    assert!(
        outcome.stderr.contains("nothing to write"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn verdicts_of_a_history_without_its_end_are_those_of_check() {
    let kept = kept();
    let run = kept.path().join("broken");
    let history = run.join("history.jsonl");
    let text = std::fs::read_to_string(&history).unwrap();
    // The first purchases, without the fault and what followed.
    let begin: Vec<&str> = text.lines().take(20).collect();
    assert!(text.lines().count() > 40, "{text}");
    std::fs::write(&history, begin.join("\n") + "\n").unwrap();
    let outcome = report(&format!("{} --format json --out pages", run.display()));
    assert_eq!(outcome.code, Some(0), "{}", outcome.all());
    assert!(
        outcome.stderr.contains("its end is missing"),
        "{}",
        outcome.stderr
    );
    let checked = picklock(&format!("check {} --json", run.display())).run();
    let of_check = checked.document()["verdicts"].clone();
    let matrix = outcome.json_file("pages/matrix.json");
    for (property, verdict) in of_check.as_object().unwrap() {
        let status = &matrix["cells"][0]["verdicts"][property]["status"];
        assert_eq!(status, &verdict["status"], "{property}");
    }
    assert_eq!(of_check["exclusion"]["status"], "unknown");
}

#[test]
fn a_disk_that_fills_leaves_no_half_report() {
    let kept = kept();
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    // Files may not grow beyond one block of 1024 bytes, which looks like a full disk to a writer. The signal that
    // would accompany it is ignored, because a real full disk sends none.
    let script = r#"trap "" XFSZ; ulimit -f 1; exec "$0" report "$1" --format json,md --out "$2""#;
    let call = |limited: bool| {
        let script = if limited {
            script.to_owned()
        } else {
            script.replace("ulimit -f 1; ", "")
        };
        Command::new("bash")
            .args(["-c", &script, env!("CARGO_BIN_EXE_picklock")])
            .arg(kept.path().join("broken"))
            .arg(&out)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    let full = call(true);
    let said = String::from_utf8_lossy(&full.stderr).into_owned();
    assert_eq!(full.status.code(), Some(4), "{said}");
    assert!(
        said.contains("cannot write") && said.contains("matrix.json"),
        "{said}"
    );
    assert!(!out.exists(), "{:?}", files(&out));
    // An earlier report is left unchanged.
    assert!(call(false).status.success());
    std::fs::write(out.join("report.md"), "earlier").unwrap();
    let before = files(&out);
    assert_eq!(call(true).status.code(), Some(4));
    assert_eq!(files(&out), before);
    assert_eq!(
        std::fs::read_to_string(out.join("report.md")).unwrap(),
        "earlier"
    );
}

#[test]
fn two_sets_side_by_side() {
    let kept = kept();
    let at = kept.path();
    let calm = std::fs::read_to_string(at.join("calm/run.json")).unwrap();
    let broken: Value =
        serde_json::from_slice(&std::fs::read(at.join("broken/run.json")).unwrap()).unwrap();
    let mut worse: Value = serde_json::from_str(&calm).unwrap();
    worse["verdicts"] = broken["verdicts"].clone();
    spoilt(at, "worse", &worse.to_string());
    let outcome = report(&format!(
        "{0}/worse --against {0}/calm --format html,md,json",
        at.display()
    ));
    assert_eq!(outcome.code, Some(0), "{}", outcome.all());
    // One story violates both properties.
    let said =
        "✘ worse set-nx-px × calm × sim  exclusion, resource: held → violated: outlived-lease";
    assert!(outcome.stdout.contains(said), "{}", outcome.stdout);
    assert!(outcome.stdout.starts_with("1 of 1 cell changed: 1 worse\n"));
    let out = outcome.home().join("picklock-report");
    let document = std::fs::read(out.join("comparison.json")).unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    assert_eq!(document["verdicts"][0]["direction"], "worse");
    assert!(out.join("comparison.md").exists());
    let page = std::fs::read_to_string(out.join("comparison.html")).unwrap();
    assert!(page.contains("Got worse") && page.contains("violated: outlived-lease"));
    let outcome = report(&format!("{0}/broken --against {0}/calm", at.display()));
    assert_eq!(outcome.code, Some(2), "{}", outcome.all());
    assert!(
        outcome.stderr.contains("no cell in common"),
        "{}",
        outcome.stderr
    );
}

/// A release and an outlived lease each let two clients in; only the second one sold a unit twice.
#[test]
fn double_sale_is_told_with_the_overlap_that_caused_it() {
    let line = "scenario gc-pause --impl setnx-expire --backend sim --seed 1";
    let text = picklock(line).run().stdout;
    let problems: Vec<&str> = text.split("✘ Two clients").skip(1).collect();
    let [release, lease] = problems[..] else {
        panic!("{text}");
    };
    assert!(release.contains("(picklock explain stolen-release)"));
    assert!(release.contains("pause-client of client 2"), "{text}");
    assert!(!release.contains("sold twice"), "{text}");
    assert!(lease.contains("(picklock explain outlived-lease)"));
    assert!(lease.contains("from 0 to -1: one unit was sold twice"));
}
