//! A hunt on servers: a violation in more than half of five runs is a counterexample, including for the user's own
//! program.

use crate::running::picklock;

#[test]
fn hunt_on_servers_finds_a_lock_that_never_excludes() {
    let line =
        "hunt --impl no-lock --backend process --runs 6 --property lease --json --out out --seed 3";
    let hunted = picklock(line).run().exits(1);
    let document = hunted.document();
    assert_eq!(document["backend"], "process");
    let find = &document["counterexamples"][0];
    assert_eq!(
        (&find["property"], &find["cause"]),
        (&"lease".into(), &"unbacked-grant".into())
    );
    let recurred = &find["recurred"];
    let (times, runs) = (recurred["times"].as_u64(), recurred["runs"].as_u64());
    assert!(times.unwrap() * 2 > runs.unwrap(), "{recurred}");
    let repro = hunted.home().join(document["repro"].as_str().unwrap());
    assert!(repro.exists() && hunted.home().join("out/report.html").exists());
    let run = std::fs::read_to_string(repro.with_file_name("run.json")).unwrap();
    let run: serde_json::Value = serde_json::from_str(&run).unwrap();
    assert_eq!(run["reproduce"], find["reproduce"]);
}
