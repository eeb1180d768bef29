//! Servers and workers that another process stops or kills, and refused clients: they are named, and no lock is blamed.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use super::leftovers::frozen_run;
use super::proc_table::{Process, started_by, workers_of};
use crate::running::{Outcome, Running, picklock};
use rustix::process::{Pid, Signal, kill_process};

/// Two clients sell long enough to be observed.
const LONG_SALE: &str = r#"
name = "long-sale"
summary = "A sale that goes on while somebody else is at work."

[workload]
workers = 3
stock = 40
ttl = "2s"
section = "0.1ttl"
wait = "2ttl"
limit = "60s"
"#;

/// Starts a run of this sale and waits until a client has the lock.
fn sale(flags: &str) -> Running {
    let line = format!(
        "scenario long-sale.toml --impl set-nx-px --backend process --json --no-rerun {flags}"
    );
    let mut run = picklock(&line).file("long-sale.toml", LONG_SALE).start();
    run.hear("got the lock");
    run
}

fn server_of(run: &Running) -> u32 {
    let mut servers = started_by(run.pid()).into_iter();
    let server = servers.find(|one| one.name.contains("redis"));
    server.expect("a run on processes has a server").pid
}

fn send(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

#[expect(
    clippy::disallowed_methods,
    reason = "not a wait for something: the stall is what is tested, and has a length"
)]
fn stop_for(pid: u32, how_long: Duration) {
    send(pid, Signal::STOP);
    std::thread::sleep(how_long);
    send(pid, Signal::CONT);
}

/// Asserts that every verdict is unknown, with these words.
#[track_caller]
fn nothing_is_judged(outcome: &Outcome, words: &[&str]) {
    assert_eq!(outcome.code, Some(3), "{}", outcome.all());
    let document = outcome.document();
    let verdicts = document["verdicts"].as_object().unwrap().iter();
    let judged = verdicts.filter(|(_, verdict)| verdict["status"] != "not-applicable");
    for (property, verdict) in judged {
        assert_eq!(
            verdict["status"],
            "unknown",
            "{property}: {}",
            outcome.all()
        );
        let story = verdict["story"].to_string();
        let says = |word: &&str| story.contains(*word);
        assert!(words.iter().all(says), "{property}: {words:?} in {story}");
    }
}

/// Asserts that every verdict is unknown, because `who` stalled.
#[track_caller]
fn names(outcome: &Outcome, who: &str) {
    let said = format!("{who} stalled for ");
    nothing_is_judged(outcome, &[&said, "without a fault"]);
    assert!(outcome.document()["trouble"].to_string().contains(&said));
}

/// Asserts the reason for the end of the run in the history.
#[track_caller]
fn ended_by(outcome: &Outcome, reason: &str) {
    let history = outcome.text_file("run/history.jsonl");
    let said = format!(r#""reason":"{reason}""#);
    assert!(history.contains(&said), "{history}");
}

#[test]
fn server_that_somebody_stops_is_named_and_nothing_is_judged() {
    let run = sale("");
    stop_for(server_of(&run), Duration::from_secs(3));
    names(&run.finish(), "node 0");
}

#[test]
fn worker_that_somebody_stops_is_named_and_nothing_is_judged() {
    let run = sale("");
    let workers = workers_of(run.pid());
    assert_eq!(workers.len(), 3);
    stop_for(workers[1].pid, Duration::from_secs(3));
    names(&run.finish(), "client 1");
}

/// The violation caused by the fault occurs without the stall, and remains.
#[test]
fn violation_beside_a_bystanders_stall_stays() {
    let line = "scenario gc-pause --impl set-nx-px --backend process --json --no-rerun";
    let mut run = frozen_run(picklock(line));
    let workers = workers_of(run.pid());
    let holder = workers.iter().position(Process::is_frozen);
    // Now the successor is inside together with the frozen holder, and the third client waits.
    let successor = run.hear("got the lock");
    let is_bystander = |worker: &usize| {
        Some(*worker) != holder && !successor.contains(&format!("client {worker} "))
    };
    let bystander = (0..3).find(is_bystander).unwrap();
    stop_for(workers[bystander].pid, Duration::from_millis(1500));
    let outcome = run.finish();
    let exclusion = &outcome.document()["verdicts"]["exclusion"];
    assert_eq!(exclusion["status"], "violated", "{}", outcome.all());
    assert_eq!(exclusion["cause"], "outlived-lease", "{}", outcome.all());
}

#[test]
fn run_spoiled_by_a_stall_is_rerun() {
    let line = "scenario long-sale.toml --impl set-nx-px --backend process";
    let mut run = picklock(line).file("long-sale.toml", LONG_SALE).start();
    run.hear("got the lock");
    stop_for(server_of(&run), Duration::from_secs(3));
    let outcome = run.finish();
    let said = outcome.all();
    assert!(said.contains("rerunning it"), "{said}");
}

/// A dead node ends the run immediately, and is named.
#[test]
fn server_that_somebody_kills_ends_the_run_and_is_named() {
    let run = sale("--out run");
    send(server_of(&run), Signal::KILL);
    let outcome = run.finish();
    nothing_is_judged(&outcome, &["node 0 failed on its own", "SIGKILL"]);
    ended_by(&outcome, "node-lost");
}

#[test]
fn killing_two_of_three_workers_leaves_no_competition() {
    let run = sale("--out run");
    for worker in &workers_of(run.pid())[1..] {
        send(worker.pid, Signal::KILL);
    }
    let outcome = run.finish();
    nothing_is_judged(&outcome, &["clients 1, 2 died on their own"]);
    ended_by(&outcome, "too-few-clients");
}

/// The successor's reply is held up in the stopped harness until its lease has expired. This is not a late grant by the
/// client library.
#[test]
fn reply_that_lay_in_the_stopped_harness_is_no_late_grant() {
    let line = "scenario gc-pause --impl fenced --backend process --json --no-rerun";
    let run = frozen_run(picklock(line));
    stop_for(run.pid(), Duration::from_secs(5));
    let outcome = run.finish();
    let exclusion = &outcome.document()["verdicts"]["exclusion"];
    assert_ne!(exclusion["cause"], "expired-grant", "{}", outcome.all());
    let trouble = outcome.document()["trouble"].to_string();
    assert!(trouble.contains("stalled"), "{trouble}");
}

/// A lock whose only node has crashed for good has used its servers. So has a lock that continues to grant without
/// them: a grant to a client that starts after the crash is an unbacked grant.
#[test]
fn crash_of_the_only_node_is_not_a_lock_without_servers() {
    let closed = LONG_SALE.replace(r#"limit = "60s""#, r#"limit = "6s""#);
    let open = format!("{closed}arrivals = \"2/s\"\nduration = \"2s\"\n");
    let crash = "[[fault]]\nkind = \"crash-node\"\nnodes = [0]\nwhen = { on = \"stock-read\", worker = 0 }\n";
    let cases = [
        ("set-nx-px", "process", closed, None),
        (
            "error-is-grant",
            "process",
            open.clone(),
            Some("unbacked-grant"),
        ),
        ("error-is-grant", "sim", open, Some("unbacked-grant")),
    ];
    for (lock, backend, scenario, cause) in cases {
        let line =
            format!("scenario long-sale.toml --impl {lock} --backend {backend} --json --no-rerun");
        let call = picklock(&line).file("long-sale.toml", &format!("{scenario}\n{crash}"));
        let outcome = call.run();
        let (said, document) = (outcome.all(), outcome.document());
        assert!(!said.contains("does not use the servers"), "{said}");
        assert!(document["counts"]["granted"].as_u64() > Some(0), "{said}");
        let shown = document["verdicts"]["claims"]["cause"].as_str();
        assert_eq!(shown, cause, "{lock} on {backend}: {said}");
    }
}

/// A fault of the scenario is not a stall: a paused and a crashed server, a frozen worker.
#[test]
fn faults_are_not_stalls() {
    for scenario in ["node-pause", "node-restart-aof", "gc-pause", "holder-crash"] {
        let line = format!("scenario {scenario} --impl set-nx-px --backend process --json");
        let outcome = picklock(&line).run();
        let trouble = outcome.document()["trouble"].to_string();
        assert!(
            !trouble.contains("no fault asked for it"),
            "{scenario}: {trouble}"
        );
        assert!(
            !trouble.contains("failed on its own"),
            "{scenario}: {trouble}"
        );
    }
}

/// The files of an example adapter.
const EXAMPLE: [(&str, &str); 3] = [
    (
        "my_lock.py",
        include_str!("../../../adapters/python/my_lock.py"),
    ),
    (
        "picklock_adapter.py",
        include_str!("../../../adapters/python/picklock_adapter.py"),
    ),
    (
        "resp_client.py",
        include_str!("../../../adapters/python/resp_client.py"),
    ),
];

#[test]
fn lock_of_another_user_is_not_judged() {
    // The system's interpreter, because another user can access no other.
    let line = "scenario calm --backend process --json --out run \
                --impl 'exec:setpriv --reuid=65534 --clear-groups /usr/bin/env PATH=/usr/bin:/bin python3 my_lock.py'";
    let files = EXAMPLE.iter();
    let call = files.fold(picklock(line), |call, (name, text)| call.file(name, text));
    let everybody = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(call.temp().parent().unwrap(), everybody).unwrap();
    let outcome = call.start().finish();
    nothing_is_judged(&outcome, &["a program of user 65534 was refused"]);
    ended_by(&outcome, "clients-refused");
}
