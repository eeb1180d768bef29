//! Replays on real servers.

use std::path::Path;

use crate::running::{CHANCES, picklock};

#[test]
fn another_backend_comes_to_the_same_verdicts() {
    // One node, so that even on a busy machine only the scenario decides the race.
    let first = picklock("scenario gc-pause --impl set-nx-px --backend sim --seed 5 --out run")
        .run()
        .exits(1);
    let run = first.home().join("run");
    let said = "replay: same verdicts";
    // A verdict that a busy machine left unknown differs, so the replay is repeated.
    let replayed = |line: &str| {
        let mut outcome = picklock(line).run().exits(1);
        for _ in 1..CHANCES {
            if outcome.stdout.trim_end().ends_with(said) {
                break;
            }
            outcome = picklock(line).run().exits(1);
        }
        outcome
    };
    let line = format!("replay {} --backend process --out real", run.display());
    let again = replayed(&line);
    assert!(
        again.stdout.contains("backend process (requested"),
        "{}",
        again.all()
    );
    assert!(again.stdout.trim_end().ends_with(said), "{}", again.all());
    // Replays the replayed run, which selects its backend without a flag.
    let real = again.home().join("real");
    let third = replayed(&format!("replay {}", real.display()));
    assert!(
        third.stdout.contains("backend process (requested"),
        "{}",
        third.all()
    );
    assert!(third.stdout.trim_end().ends_with(said), "{}", third.all());
}

#[test]
fn a_program_of_the_users_own_is_replayed_with_its_command() {
    let polite = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/adapters/polite.py");
    let exec = shell_words::quote(&format!("exec:python3 {}", polite.display())).into_owned();
    let line =
        format!("scenario calm --impl {exec} --backend process --ttl 300ms --seed 1 --out run");
    let first = picklock(&line).run();
    let repro = first.home().join("run/repro.toml");
    let text = first.text_file("run/repro.toml");
    assert!(
        text.contains("Check it first") && text.contains("polite.py"),
        "{text}"
    );
    let refused = picklock(&format!("replay {}", repro.display()))
        .run()
        .exits(2);
    let says = "a program: python3 ";
    assert!(refused.stderr.contains(says), "{}", refused.all());
    assert!(refused.stderr.contains("add --trust"), "{}", refused.all());
    let again = picklock(&format!("replay {} --quiet --trust", repro.display())).run();
    assert_eq!(again.code, first.code, "{}", again.all());
    assert!(again.stdout.contains("replay: "), "{}", again.all());
    let simulated = picklock(&format!("replay {} --backend sim --trust", repro.display()))
        .run()
        .exits(2);
    assert!(
        simulated.stderr.contains("cannot be simulated"),
        "{}",
        simulated.all()
    );
}
