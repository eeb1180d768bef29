//! `picklock matrix --reference LOCK` and `--profile`: mutants, which have no expectations, represent users' locks.
//! `real/reference.rs` does the same with programs.

use picklock_scenarios::LockKind;
use picklock_scenarios::profile::{Declaration, PROFILES};

use crate::matrix::record;
use crate::running::picklock;

const QUICK: &str = "matrix --backend sim --quiet --profile quick";

#[test]
fn a_twin_passes_and_a_worse_lock_fails_and_says_where() {
    // It sends the same commands, and one more without effect.
    let twin = format!("{QUICK} --impl twice-as-slow");
    let passes = picklock(&format!("{twin} --reference set-nx-px"))
        .run()
        .exits(0);
    let said = "twice-as-slow: like set-nx-px\n";
    assert!(passes.stdout.contains(said), "{}", passes.all());
    assert!(
        passes
            .stdout
            .ends_with("\n27 cells: 26 as expected, 1 not applicable\n"),
        "{}",
        passes.all()
    );
    let worse = format!("{QUICK} --impl release-without-token --reference set-nx-px");
    let worse = picklock(&worse).run().exits(1);
    for said in [
        "ownership violated: stolen-release, expected held",
        "would\n  also hold in two-locks-renewed, gc-pause, slow-section, cut-off-holder, late-extend, late-release,\n  clock-back\n",
        "exit 1: ",
    ] {
        assert!(worse.stdout.contains(said), "{said}\n{}", worse.all());
    }
    // Without a reference, the same cells are open.
    let open = picklock(&twin).run().exits(1);
    assert!(open.stdout.contains(said), "{}", open.all());
    let last = open.stdout.lines().last().unwrap();
    assert!(
        last.starts_with("exit 1: ") && last.contains("without an expectation"),
        "{}",
        open.all()
    );
}

/// The scenario lists only the properties that its locks violate. Those that they keep are compared anyway.
#[test]
fn properties_of_the_reference_are_compared_without_being_named() {
    let line = "matrix --backend sim --quiet --impl timeout-is-release --scenario partition-holder";
    let outcome = picklock(&format!("{line} --reference set-nx-px"))
        .run()
        .exits(1);
    let said = "claims violated: false-release, expected held";
    assert!(outcome.stdout.contains(said), "{}", outcome.all());
    let count = "1 cell: 1 unexpected";
    assert!(outcome.stdout.contains(count), "{}", outcome.all());
}

/// A table that would never apply is a mistake if its name resembles one that would.
#[test]
fn mistyped_lock_of_an_expectation_is_rejected_with_a_hint() {
    let scenario = |name: &str| {
        let head = "name = \"mine\"\nsummary = \"Nothing goes wrong.\"\n";
        format!("{head}[expect.{name}]\nlease = \"violated\"\n")
    };
    let line = "matrix --backend sim --quiet --impl redlock --scenario mine.toml";
    let run = |name: &str| picklock(line).file("mine.toml", &scenario(name)).run();
    let wrong = run("redlok").exits(2);
    let alone = "scenario mine.toml --impl redlock --backend sim";
    let alone = picklock(alone).file("mine.toml", &scenario("redlok")).run();
    for outcome in [wrong, alone.exits(2)] {
        for said in ["mine.toml: [expect.redlok]: ", "did you mean `redlock`?"] {
            assert!(outcome.stderr.contains(said), "{}", outcome.all());
        }
    }
    run("redlock").exits(1);
    // The user may have given this name to a lock elsewhere.
    run("our-lock").exits(0);
    let mine = picklock(line).file("mine.toml", &scenario("redlok"));
    let tables = "[impl.redlok]\ncommand = \"a\"\n";
    mine.file("picklock.toml", tables).run().exits(0);
}

#[test]
fn a_better_lock_than_its_standard_passes() {
    // In stale-delete, set-nx-px keeps a property that get-then-del violates.
    let line = "matrix --backend sim --quiet --impl twice-as-slow --scenario stale-delete --json";
    for (like, worse) in [("get-then-del", 0), ("set-nx-px", 0)] {
        let outcome = picklock(&format!("{line} --reference {like}"))
            .run()
            .exits(0);
        let record = record(&outcome);
        assert_eq!(record.similarity[0].standard.as_deref(), Some(like));
        assert_eq!(record.similarity[0].worse.len(), worse);
        assert!(
            record.reproduce.contains(&format!("--reference {like}")),
            "{}",
            record.reproduce
        );
    }
}

#[test]
fn a_lock_on_as_many_servers_as_no_built_in_one_is_told_so() {
    let line = "matrix --backend sim --quiet --impl half-quorum --scenario calm";
    let outcome = picklock(line).run();
    let said = "half-quorum: no built-in lock uses this number of servers\n";
    assert!(outcome.stdout.contains(said), "{}", outcome.all());
}

#[test]
fn like_without_effect_is_refused() {
    for (line, said) in [
        (
            "--impl no-lock --reference set-nx-pz",
            "no such built-in lock: `set-nx-pz`",
        ),
        (
            "--impl no-lock --reference twice-as-slow",
            "no such built-in lock",
        ),
        (
            "--impl no-lock --reference redlock",
            "their results cannot be compared",
        ),
        (
            "--impl half-quorum --reference set-nx-px",
            "half-quorum on 4 nodes",
        ),
        // The scenarios define the expectations of a built-in lock.
        (
            "--impl redlock --reference nonsense",
            "--reference nonsense: no such built-in lock",
        ),
        ("--impl redlock --reference redlock", "has no effect"),
    ] {
        let outcome = picklock(&format!("{QUICK} {line}")).run().exits(2);
        assert!(outcome.stderr.contains(said), "{}", outcome.all());
    }
    let line = "matrix --impl mine --backend process --quiet";
    let table = "[impl.mine]\ncommand = \"a\"\nreference = \"set-nx-pz\"\n";
    let outcome = picklock(line).file("picklock.toml", table).run().exits(2);
    for said in ["picklock.toml:3:13:", "did you mean `set-nx-px`?"] {
        assert!(outcome.stderr.contains(said), "{}", outcome.all());
    }
}

#[test]
fn a_profile_takes_the_place_of_the_catalog() {
    let line = format!("{QUICK} --impl set-nx-px --scenario lost-reply --json");
    let record = record(&picklock(&line).run().exits(0));
    let scenarios: Vec<&str> = record
        .cells
        .iter()
        .map(|cell| cell.scenario.as_str())
        .collect();
    let quick = PROFILES.iter().find(|one| one.name == "quick").unwrap();
    // A built-in lock declares nothing but its number of nodes.
    let chosen = quick.names().filter(|name| {
        let declared = Declaration {
            kind: LockKind::Mutex,
            renews: None,
            nodes: 1,
        };
        quick.includes(name, declared)
    });
    let wanted: Vec<&str> = chosen.chain(["lost-reply"]).collect();
    assert_eq!(scenarios, wanted);
    assert!(record.similarity.is_empty());
    let cells = "[[cells]]\nbackends = [\"sim\"]\nlocks = [\"set-nx-px\"]\nprofile = \"quick\"\n";
    let gate = picklock("gate --quiet").env("GITHUB_ACTIONS", "");
    let gate = gate.file("picklock.toml", cells).run().exits(0);
    assert!(gate.stdout.contains("26 cells"), "{}", gate.all());
    let wrong = cells.replace("quick", "quik");
    let gate = picklock("gate --quiet")
        .file("picklock.toml", &wrong)
        .run()
        .exits(2);
    assert!(
        gate.stderr.contains("did you mean `quick`?"),
        "{}",
        gate.all()
    );
}
