//! `sweep`, `hunt` and `merge`: counterexamples are saved and reproducible, shards add up to the whole, and files that
//! are not shards are refused.

use serde_json::Value;

use crate::running::{Outcome, picklock};

fn names(counterexamples: &Value) -> Vec<String> {
    let counterexamples = counterexamples["counterexamples"]
        .as_array()
        .unwrap()
        .iter();
    let mut names: Vec<String> = counterexamples
        .map(|find| {
            format!(
                "{} {} {}",
                find["property"], find["cause"], find["signature"]
            )
        })
        .collect();
    names.sort();
    names
}

const SWEEP: &str =
    "sweep --impl release-without-token --faults clocks --property ownership --json --out out";

/// A short sweep without a counterexample.
const OTHER_SWEEP: &str =
    "sweep --impl set-nx-px --faults clients --property lease,ownership --json --out out";

fn shard(line: &str, part: &str, more: &str) -> Outcome {
    // Not every part has a counterexample.
    let ran = picklock(&format!("{line} --shard {part} {more}")).run();
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.all());
    ran
}

fn merge(parts: &[&Outcome]) -> Outcome {
    let mut call = String::from("merge --json");
    for part in parts {
        call.push_str(&format!(" {}/out/search.json", part.home().display()));
    }
    picklock(&call).run()
}

#[test]
fn sweep_without_a_find_says_what_it_covers_and_keeps_nothing() {
    let line = "sweep --impl set-nx-px --faults clients --property lease,ownership";
    let swept = picklock(line).run().exits(0);
    assert!(
        swept.stdout.contains("no counterexample"),
        "{}",
        swept.all()
    );
    assert!(
        swept.stdout.contains("No placement of up to 1 fault"),
        "{}",
        swept.all()
    );
    assert!(!swept.home().join("picklock-counterexamples").exists());
}

#[test]
fn find_is_kept_and_its_replay_writes_the_same_bytes() {
    let swept = picklock(SWEEP).run().exits(1);
    let document = swept.document();
    assert_eq!(document["format"], "picklock-search/1");
    assert_eq!(document["exhaustive"], true);
    let kept = swept.home().join("out");
    assert!(kept.join("search.json").exists());
    let repro = document["repro"].as_str().unwrap();
    let replayed = picklock(&format!(
        "replay {repro} --json --out {}",
        kept.join("again").display()
    ))
    .within(swept.home())
    .run()
    .exits(1);
    assert!(
        replayed.stderr.contains("replay: same verdicts"),
        "{}",
        replayed.all()
    );
    let history =
        |directory: &str| std::fs::read(kept.join(directory).join("history.jsonl")).unwrap();
    let first = repro.split('/').nth(1).unwrap();
    assert_eq!(history(first), history("again"));
}

#[test]
fn merged_shards_are_the_whole_sweep_and_missing_ones_are_named() {
    let whole = picklock(SWEEP).run().exits(1).document();
    let parts = ["1/3", "2/3", "3/3"].map(|part| shard(SWEEP, part, ""));
    let [one, two, three] = &parts;
    let merged = merge(&[three, one, two]).exits(1).document();
    assert_eq!(merged["exhaustive"], true);
    for key in ["schedules", "violations"] {
        assert_eq!(merged[key], whole[key], "{key}");
    }
    assert_eq!(merged["coverage"], whole["coverage"]);
    assert_eq!(names(&merged), names(&whole));
    assert_eq!(merged["reproduce"], whole["reproduce"]);
    let twice = merge(&[one, one]).exits(2);
    assert!(twice.stderr.contains("shard 1 of 3"), "{}", twice.all());
    let parts = ["1/3", "3/3"].map(|part| shard(OTHER_SWEEP, part, ""));
    let some = merge(&[&parts[0], &parts[1]]).exits(3).document();
    assert_eq!(some["exhaustive"], false);
    merge(&[&parts[0]]).exits(3);
    assert_eq!(
        some["shards"],
        serde_json::json!({ "of": 3, "have": [1, 3] })
    );
}

#[test]
fn shards_in_one_directory_keep_their_finds_apart() {
    let line = "sweep --impl no-lock --faults clocks --property lease --json";
    for part in ["1/2", "2/2"] {
        let document = shard(line, part, "").document();
        let kept = format!("picklock-counterexamples-{}/", part.replace('/', "-of-"));
        let repro = document["repro"].as_str().unwrap();
        assert!(repro.starts_with(&kept), "{repro}");
    }
}

#[test]
fn foreign_shard_is_rejected() {
    let (one, other) = (
        shard(OTHER_SWEEP, "1/2", ""),
        shard(OTHER_SWEEP, "2/2", "--seed 2"),
    );
    let files = [&one, &other].map(|it| format!("{}/out/search.json", it.home().display()));
    let foreign = picklock(&format!("merge {} {}", files[0], files[1]))
        .run()
        .exits(2);
    assert!(
        foreign.stderr.contains("its seed is 2, not 1"),
        "{}",
        foreign.all()
    );
    let other = shard(OTHER_SWEEP, "2/2", "--server valkey:9");
    let foreign = merge(&[&one, &other]).exits(2);
    assert!(foreign.stderr.contains("valkey:9"), "{}", foreign.all());
    for (text, why) in [
        ("", "empty"),
        ("{}", "no format key"),
        (r#"{"format":"picklock-run/1"}"#, "picklock-run/1"),
        (r#"{"format":"picklock-search/2"}"#, "a newer one"),
    ] {
        let refused = picklock("merge part.json")
            .file("part.json", text)
            .run()
            .exits(2);
        assert!(refused.stderr.contains(why), "{}", refused.all());
    }
    for line in [
        "sweep --impl redlock --shard 5/4",
        "sweep --impl redlock --shard auto/4",
        "sweep --impl redlock --workload shrt",
        "sweep --impl redlock --faults weather",
        "sweep --impl exec:true",
        "hunt --impl redlock",
        "hunt --impl redlock --for 2ttl",
    ] {
        let refused = picklock(line).run().exits(2);
        assert!(!refused.stderr.is_empty(), "{line}");
    }
}

#[test]
fn parts_of_a_matrix_are_merged_and_foreign_parts_rejected() {
    let part = |lock: &str, more: &str| {
        let line = format!(
            "matrix --backend sim --impl {lock} --scenario calm,gc-pause --out part --quiet {more}"
        );
        picklock(&line).run().exits(0)
    };
    let (one, other) = (part("fenced", ""), part("redlock", ""));
    let file = |ran: &Outcome| ran.home().join("part/matrix.json").display().to_string();
    let whole = picklock(&format!("merge --json {} {}", file(&one), file(&other)));
    let whole = whole.run().exits(0).document();
    assert_eq!(whole["format"], "picklock-matrix/1");
    assert_eq!(whole["cells"].as_array().unwrap().len(), 4);
    let twice = picklock(&format!("merge {} {}", file(&one), file(&one)))
        .run()
        .exits(2);
    assert!(
        twice.stderr.contains("and in an earlier file"),
        "{}",
        twice.all()
    );
    let seeded = part("redlock", "--seed 2");
    let refused = picklock(&format!("merge {} {}", file(&one), file(&seeded)))
        .run()
        .exits(2);
    assert!(
        refused.stderr.contains("first seed is 2, not 1"),
        "{}",
        refused.all()
    );
    let search = shard(OTHER_SWEEP, "1/2", "");
    let search = search.home().join("out/search.json");
    let mixed = picklock(&format!("merge {} {}", file(&one), search.display()))
        .run()
        .exits(2);
    assert!(mixed.stderr.contains("cannot be merged"), "{}", mixed.all());
}

#[test]
fn interrupted_part_hides_no_unexpected_result() {
    let line = "matrix --backend sim --impl fenced --scenario calm --out part --quiet";
    let ran = picklock(line).run().exits(0);
    let mut part = ran.json_file("part/matrix.json");
    part["interrupted"] = true.into();
    let merged = |part: &Value| {
        let call = picklock("merge part.json").file("part.json", &part.to_string());
        call.run()
    };
    merged(&part).exits(3);
    part["cells"][0]["mismatches"] = serde_json::json!([
        { "property": "lease", "expected": "held", "got": "violated: race", "runs": 1 }
    ]);
    merged(&part).exits(1);
}

#[test]
fn kept_search_is_a_page_with_the_runs_of_its_finds() {
    let line =
        "sweep --impl release-without-token --faults clocks --property ownership --out out --quiet";
    let swept = picklock(line).run().exits(1);
    let page = std::fs::read_to_string(swept.home().join("out/report.html")).unwrap();
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    assert!(page.contains("release-without-token: "));
    assert!(page.contains("Its run, with the timeline"));
    let report = picklock("report out --out again --format html,md")
        .within(swept.home())
        .run();
    assert!(report.exits(0).stdout.contains("report.html"));
}

#[test]
fn hunt_gives_the_same_finds_for_the_same_seed() {
    let hunted = |jobs: u32| {
        let line = format!("hunt --impl no-lock --runs 60 --property lease --json --jobs {jobs}");
        picklock(&line).run().exits(1).document()
    };
    let (one, two) = (hunted(1), hunted(2));
    assert_eq!(one["kind"], "hunt");
    assert_eq!(one["exhaustive"], false);
    assert_eq!(names(&one), names(&two));
}

/// Turns the saved search into one that was stopped before plan 40, as Ctrl-C leaves it.
#[test]
fn interrupted_hunt_continues_with_the_next_plan() {
    let line = "hunt --impl no-lock --runs 60 --property lease --json --out out --seed 3";
    let first = picklock(line).run().exits(1);
    let (file, whole) = (first.home().join("out/search.json"), first.document());
    let mut stopped = whole.clone();
    stopped["interrupted"] = true.into();
    stopped["next"] = 40.into();
    std::fs::write(&file, stopped.to_string()).unwrap();
    let again = picklock(line).within(first.home()).run().exits(1);
    assert!(
        again
            .stderr
            .contains("continues the search in out after 60 schedules"),
        "{}",
        again.all()
    );
    let joined = again.document();
    assert_eq!(joined["schedules"], 80, "{joined}");
    assert_eq!(joined["interrupted"], false);
    // A finished search starts again from the beginning.
    let third = picklock(line).within(first.home()).run().exits(1);
    assert_eq!(third.document()["schedules"], whole["schedules"]);
}

/// In a foreign repository, the directory that the user did not name may be a link to anywhere.
#[test]
fn unnamed_directory_that_is_a_link_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let elsewhere = home.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let run = home.path().join("run");
    let line = format!(
        "scenario calm --impl set-nx-px --backend sim -q --out {}",
        run.display()
    );
    picklock(&line).run().exits(0);
    for (link, line, code) in [
        (
            "picklock-counterexamples",
            "hunt --impl setnx-expire --runs 200 -q",
            2,
        ),
        ("picklock-report", "report run", 4),
    ] {
        std::os::unix::fs::symlink(&elsewhere, home.path().join(link)).unwrap();
        let outcome = std::process::Command::new(env!("CARGO_BIN_EXE_picklock"))
            .args(line.split(' '))
            .current_dir(home.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&outcome.stderr);
        assert_eq!(outcome.status.code(), Some(code), "{said}");
        assert!(said.contains("a symbolic link"), "{said}");
    }
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
}
