//! Errors in a command line, a file or a machine are reported: what, where, and what to do.

use std::os::unix::fs::PermissionsExt;

use picklock_impls::LOCKS;
use picklock_scenarios::catalog;

use crate::running::{Outcome, picklock};

/// Formats a command line, its exit code and all its output, as a terminal would show them. Lists that grow with every
/// new lock, scenario or backend are omitted.
fn told(line: &str, outcome: &Outcome) -> String {
    let locks: Vec<&str> = LOCKS.iter().map(|lock| lock.name).collect();
    let scenarios: Vec<&str> = catalog::names().collect();
    let said = format!("{}{}", outcome.stdout, outcome.stderr)
        .replace(outcome.home().to_str().unwrap(), "[HOME]")
        .replace(&locks.join(", "), "[LOCKS]")
        .replace(&scenarios.join(", "), "[CATALOG]");
    let shortened = said
        .lines()
        .map(|line| match line.split_once("[possible values: auto, ") {
            Some((before, _)) => format!("{before}[possible values: auto, [WORLDS]]\n"),
            None => format!("{line}\n"),
        });
    let said: String = shortened.collect();
    format!(
        "$ picklock {line}\n{said}[exit {}]\n",
        outcome.code.unwrap()
    )
}

/// Formats the output of several command lines, one after the other.
fn transcript(lines: &[&str]) -> String {
    let said = lines.iter().map(|line| told(line, &picklock(line).run()));
    said.collect::<Vec<_>>().join("\n")
}

#[test]
fn unknown_names_are_refused() {
    insta::assert_snapshot!(transcript(&[
        "scenario calm --impl redlok",
        "scenario calm --impl zookeeper",
        "scenario gc-pauze --impl redlock",
        "scenario missing.toml --impl redlock",
        "scenario calm --impl redlock --backend kubernetes",
        "scenario calm --impl redlock --sed 3",
        "scenario calm",
        "scenaro calm",
        "list impl",
        "scenario calm --impl ./my_lock.py",
        "matrix --scenario calm --impl reed*",
        "docs protocl",
        "docs protocol#grantd",
    ]));
}

#[test]
fn servers_that_no_backend_would_use_are_refused() {
    insta::assert_snapshot!(transcript(&[
        "scenario calm --impl redlock --backend sim --image redis:7",
        "scenario calm --impl redlock --backend docker --redis-server /usr/bin/redis-server",
        "scenario calm --impl redlock --image redis:7 --redis-server /usr/bin/redis-server",
        "scenario calm --impl redlock --redis-server /no/such/server",
        "matrix --impl redlock --backend sim --backend docker --redis-server /usr/bin/redis-server",
    ]));
}

/// Short forms are accepted if they are unambiguous.
#[test]
fn short_forms_mean_the_long_ones() {
    let run = |line: &str| {
        let outcome = picklock(line).run();
        assert_eq!(outcome.code, Some(0), "{line}: {}", outcome.stderr);
        outcome.stdout
    };
    let long = run("scenario calm --impl set-nx-px --backend sim --seed 1");
    for short in [
        "calm --impl set-nx-px --backend sim --seed 1",
        "run calm --lock set-nx-px --backend sim --seed 1",
    ] {
        assert_eq!(run(short), long, "{short}");
    }
    let one_by_one = "matrix --backend sim --json --scenario calm --scenario gc-pause \
                      --impl redlock --impl redlock-renewing";
    let short = "matrix --backend sim --json --scenario calm,gc-p* --lock redlock*";
    assert_eq!(run(short), run(one_by_one));
}

#[test]
fn invalid_values_are_refused() {
    insta::assert_snapshot!(transcript(&[
        "scenario calm --impl redlock --ttl 1ttl",
        "scenario calm --impl redlock --ttl nonsense",
        "scenario calm --impl redlock --ttl 2",
        "scenario calm --impl redlock --ttl 5ms",
        "scenario calm --impl redlock --workers 0",
        "scenario calm --impl redlock --workers many",
        "scenario calm --impl redlock --nodes 0",
        "scenario calm --impl redlock --seed -1",
        "scenario calm --impl redlock --impl-option retries",
        "scenario calm --impl 'exec:python3 \"unbalanced.py' --backend process",
        "scenario calm --impl exec: --backend process",
        "check missing.jsonl",
    ]));
}

/// Options are checked against the lock's declaration before anything starts.
#[test]
fn invalid_options_are_refused() {
    insta::assert_snapshot!(transcript(&[
        "scenario calm --impl redlock --impl-option retry_dely=1s",
        "scenario calm --impl redlock --impl-option node_timeout=soon",
        "scenario calm --impl redlock --impl-option drift_factor=2",
        "scenario calm --impl no-lock --impl-option retry_delay=1s",
        "scenario calm --impl watchdog --impl-option renew_every=1s --impl-option renew_every=2s",
    ]));
}

/// Returns the message about an invalid scenario file.
fn refused(text: &str, flags: &str) -> String {
    let line = format!("scenario mine.toml --backend process {flags}");
    let outcome = picklock(&line).file("mine.toml", text).run().exits(2);
    told(&line, &outcome)
}

const HEAD: &str = "name = \"mine\"\nsummary = \"A scenario of my own.\"\n";

#[test]
fn invalid_scenario_files_are_refused() {
    let said = [
        "[workload]\nworkerz = 3\n",
        "[workload]\nworkers = \"three\"\n",
        "[workload]\nttl = \"1 fortnight\"\n",
        "[workload\nworkers = 3\n",
        "[[fault]]\nkind = \"pause-cleint\"\nat = \"1s\"\nfor = \"1s\"\n",
        "[[fault]]\nkind = \"pause-client\"\nfor = \"1s\"\n",
        "[[fault]]\nkind = \"pause-client\"\nat = \"1s\"\nfor = \"1s\"\nworkers = [7]\n",
        "[expect.\"*\"]\nexclusive = \"held\"\n",
    ]
    .map(|rest| refused(&format!("{HEAD}{rest}"), "--impl redlock"));
    insta::assert_snapshot!(said.join("\n"));
}

/// A server that leaves a mark when it is started.
const SPY: &str = "#!/bin/sh\necho started > \"$SPY_MARK\"\nexit 1\n";

fn with_spy(line: &str, scenario: &str) -> (Outcome, bool) {
    let call = picklock(&format!("{line} --redis-server ./spy.sh"))
        .file("spy.sh", SPY)
        .file("mine.toml", scenario);
    let home = call.temp().parent().unwrap().to_owned();
    let spy = home.join("spy.sh");
    std::fs::set_permissions(&spy, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mark = home.join("mark");
    let outcome = call.env("SPY_MARK", mark.to_str().unwrap()).run();
    let started = mark.exists();
    (outcome, started)
}

#[test]
fn impossible_run_is_refused_before_it_starts() {
    let node =
        format!("{HEAD}[[fault]]\nkind = \"pause-node\"\nat = \"1s\"\nfor = \"1s\"\nnodes = [4]\n");
    let worker = format!(
        "{HEAD}[workload]\nworkers = 8\n[[fault]]\nkind = \"pause-client\"\nat = \"1s\"\nfor = \"1s\"\nworkers = [7]\n"
    );
    let lines = [
        (
            "scenario mine.toml --impl set-nx-px --backend process",
            &node,
        ),
        (
            "scenario mine.toml --impl redlock --backend process --workers 3",
            &worker,
        ),
        (
            "scenario mine.toml --impl redlock --backend process --nodes 3",
            &node,
        ),
    ];
    let said = lines.map(|(line, scenario)| {
        let (outcome, started) = with_spy(line, scenario);
        assert!(!started, "{}", outcome.all());
        told(line, &outcome.exits(2))
    });
    insta::assert_snapshot!(said.join("\n"));
    let (outcome, started) = with_spy("scenario mine.toml --impl redlock --backend process", &node);
    assert!(started, "the spy works: {}", outcome.exits(4).all());
}

#[test]
fn program_that_is_not_a_server_is_refused() {
    let (broken, _) = with_spy("scenario calm --impl set-nx-px --backend process", "");
    broken.exits(4);
    let talkative = "#!/bin/sh\necho 'Fatal error, cannot open config file'\nexit 1\n";
    let call =
        picklock("scenario calm --impl set-nx-px --backend process --redis-server ./talks.sh")
            .file("talks.sh", talkative);
    let script = call.temp().parent().unwrap().join("talks.sh");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let talks = call.run().exits(4);
    assert!(
        talks
            .stderr
            .contains("Fatal error, cannot open config file"),
        "{}",
        talks.all()
    );
    let lines = [
        "scenario calm --impl set-nx-px --backend process --redis-server /nonexistent",
        "scenario calm --impl set-nx-px --backend process --redis-server /bin/false",
        "scenario calm --impl set-nx-px --backend process --redis-server /",
        "scenario calm --impl exec:no-such-program --backend process",
    ];
    let said = lines.map(|line| told(line, &picklock(&format!("{line} --seed 1")).run()));
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn missing_server_is_reported() {
    let line = "scenario calm --impl set-nx-px --backend process";
    let outcome = picklock(line).env("PATH", "/nonexistent").run().exits(4);
    insta::assert_snapshot!(told(line, &outcome));
}

#[test]
fn unreachable_engine_is_reported() {
    let line = "scenario calm --impl set-nx-px --backend docker";
    let call = picklock(line).env("DOCKER_HOST", "unix:///nonexistent/docker.sock");
    insta::assert_snapshot!(told(line, &call.run().exits(4)));
}

#[test]
fn missing_engine_and_server_are_reported() {
    let poor = |line: &str| {
        picklock(line)
            .env("DOCKER_HOST", "unix:///nonexistent/docker.sock")
            .env("PATH", "/nonexistent")
            .run()
    };
    // A built-in lock can be simulated; the user's own program cannot.
    let simulated = poor("scenario calm --impl set-nx-px --seed 1").exits(0);
    let line = "scenario calm --impl exec:/bin/cat --seed 1";
    let refused = told(line, &poor(line).exits(4));
    let first = simulated.stdout.lines().next().unwrap();
    insta::assert_snapshot!(format!("{first}\n\n{refused}"));
}
