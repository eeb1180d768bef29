//! Terminal reports. The snapshots omit the styles, and two tests check only the styles.

use picklock_reports::terminal;
use picklock_verdicts::check::Property;
use unicode_width::UnicodeWidthStr;

use crate::key_history_samples;
use crate::samples::{self, Sample};

/// Removes the styles: exactly the sequences that `anstyle` writes.
pub fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\x1b[") {
        plain.push_str(before);
        let end = after.find(|c: char| !c.is_ascii_digit() && c != ';');
        match end.map(|end| after.split_at(end)) {
            Some((_, tail)) if tail.starts_with('m') => rest = &tail[1..],
            _ => {
                plain.push_str("\x1b[");
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain
}

fn show((record, history): Sample, width: usize) -> String {
    let text = plain(&terminal::run(&record, &history, width));
    for line in text.lines() {
        assert!(line.width() <= width, "{} columns: {line}", line.width());
    }
    text
}

#[test]
fn gc_pause_at_120() {
    insta::assert_snapshot!(show(samples::gc_pause(), 120));
}

#[test]
fn gc_pause_at_60() {
    insta::assert_snapshot!(show(samples::gc_pause(), 60));
}

#[test]
fn fencing_protects_the_stock() {
    insta::assert_snapshot!(show(samples::fenced(), 100));
}

#[test]
fn unreported_lease_is_never_drawn_as_over() {
    let (record, history) = samples::silent();
    let text = plain(&terminal::run(&record, &history, 100));
    let row = text.lines().find(|line| line.starts_with("    worker 1 "));
    let row = row.unwrap();
    assert!(row.contains('▓') && !row.contains('▒'), "{text}");
}

#[test]
fn late_release_deletes_the_successors_lock() {
    insta::assert_snapshot!(show(samples::stale_delete(), 100));
}

#[test]
fn shared_story_is_printed_once() {
    let (mut record, history) = samples::gc_pause();
    let overlap = record.verdicts[&Property::Exclusion].clone();
    record.verdicts.insert(Property::Lease, overlap.clone());
    record.verdicts.insert(Property::Resource, overlap.clone());
    let text = show((record, history), 120);
    for sentence in &overlap.story {
        assert_eq!(text.matches(sentence.as_str()).count(), 1, "{text}");
    }
    assert!(text.contains("The same story violates lease and resource."));
}

#[test]
fn overlapping_workers_are_drawn_among_many() {
    let (record, history) = samples::crowd();
    let text = show((record, history), 100);
    for worker in [37, 411] {
        let row = format!("\n    worker {worker} ");
        assert!(text.contains(&row), "{text}");
    }
    assert!(text.contains("    and 494 more workers\n"), "{text}");
}

#[test]
fn calm() {
    insta::assert_snapshot!(show(samples::calm(), 100), @"
    ✔ set-nx-px × calm × process   seed 7
      Nothing goes wrong.
      2 workers · 1 node · ttl 1 s · redis 7.0.15 · set-nx-px 0.1.0
      process: asked for with --backend

      ✔ exclusion  ✔ lease  ✔ resource  ✔ ownership  – fencing not applicable  ✔ progress  ✔ claims

      counts    3 granted · 0 refused · 0 failed · 3 released · 3 sold of 3, 0 left
      latency        p50     p90     p99   p99.9     max   count
      acquire       2 ms    2 ms    2 ms    2 ms    2 ms       3
      release       1 ms    1 ms    1 ms    1 ms    1 ms       3
      took      setup 12 ms · workload 3.41 s · teardown 3 ms

      Reproduce
        picklock scenario calm --impl set-nx-px --backend sim --seed 7 --workers 2
    ");
}

#[test]
fn unknown() {
    insta::assert_snapshot!(show(samples::unknown(), 100), @"
    ? set-nx-px × gc-pause × process   seed 7
      A holder freezes for 1.5 ttl after reading the last unit, as in a long garbage collection; its
      successor is inside when it wakes.
      2 workers · 1 node · ttl 1 s · redis 7.0.15 · set-nx-px 0.1.0
      process: asked for with --backend

      exclusion ? unknown         the fault never fired: no worker read stock 1 before the run ended
      lease     ? unknown         the fault never fired: no worker read stock 1 before the run ended
      resource  ? unknown         the fault never fired: no worker read stock 1 before the run ended
      ownership ✔ held            no client released another client's lock
      fencing   – not applicable  the lock has no fencing tokens
      progress  ✔ held            every client that still wanted the lock got it
      claims    ✔ held            what the lock reported agrees with what it did

      Faults
        never fired  pause-client for 1.5 s, when a worker has read stock 1

      counts    3 granted · 0 refused · 0 failed · 3 released · 3 sold of 3, 0 left
      latency        p50     p90     p99   p99.9     max   count
      acquire       2 ms    2 ms    2 ms    2 ms    2 ms       3
      release       1 ms    1 ms    1 ms    1 ms    1 ms       3
      took      setup 12 ms · workload 3.41 s · teardown 3 ms

      Reproduce
        picklock scenario gc-pause --impl set-nx-px --backend sim --seed 7 --workers 2
    ");
}

#[test]
fn interrupted() {
    insta::assert_snapshot!(show(samples::interrupted(), 100), @"
    ? set-nx-px × calm × process   seed 7
      Nothing goes wrong.
      2 workers · 1 node · ttl 1 s · redis 7.0.15 · set-nx-px 0.1.0
      process: asked for with --backend
      Interrupted: this report covers the run up to that point.

      exclusion ✔ held            no two clients held a lock at the same time
      lease     ✔ held            no client was let in while another's lease was running
      resource  ✔ held            the stock adds up: nothing was sold twice
      ownership ✔ held            no client released another client's lock
      fencing   – not applicable  the lock has no fencing tokens
      progress  ? unknown         the run was interrupted while buyers still wanted the lock
      claims    ✔ held            what the lock reported agrees with what it did

      counts    3 granted · 0 refused · 0 failed · 3 released · 3 sold of 3, 0 left
      latency        p50     p90     p99   p99.9     max   count
      acquire       2 ms    2 ms    2 ms    2 ms    2 ms       3
      release       1 ms    1 ms    1 ms    1 ms    1 ms       3
      took      setup 12 ms · workload 3.41 s · teardown 3 ms

      Reproduce
        picklock scenario calm --impl set-nx-px --backend sim --seed 7 --workers 2
    ");
}

#[test]
fn run_without_grants_is_inconclusive() {
    insta::assert_snapshot!(show(samples::no_grants(), 100), @"
    ✘ setnx-expire × crash-mid-acquire × process   seed 7
      A worker is killed as the reply of its first acquiring command arrives.
      2 workers · 1 node · ttl 1 s · redis 7.0.15 · setnx-expire 0.1.0
      process: asked for with --backend

      exclusion ? unknown                 too little to judge: no grants, the scenario requires 2
      lease     ? unknown                 too little to judge: no grants, the scenario requires 2
      resource  ? unknown                 too little to judge: no grants, the scenario requires 2
      ownership ✔ held                    no client released another client's lock
      fencing   – not applicable          the lock has no fencing tokens
      progress  ✘ violated        no-ttl  a key without expiry was left behind: SET it with PX in one
                                          command
      claims    ✔ held                    what the lock reported agrees with what it did

      What happened (progress)
        0.004 s  worker 0 was killed between SETNX and EXPIRE
        6.010 s  the key is still on node 0, and never expires

      Timeline, the whole run of 6.010 s
        faults    ├─ crash-client w0 ──────────────────────────────────────────────────────────────────┤
        worker 0  ✝
        worker 1  ······················································································
                  ┬─────────────┬─────────────┬─────────────┬──────────────┬─────────────┬──────────────
                  0 s           1 s           2 s           3 s            4 s           5 s
        No key history: the values of the nodes' keys are unknown.
        · waits  ✝ dies

      Faults
        from 0.004 s on  crash-client of worker 0

      counts    0 granted · 2 refused · 0 failed · 0 released · 0 sold of 3, 3 left
      took      setup 12 ms · workload 3.41 s · teardown 3 ms

      Reproduce
        picklock scenario crash-mid-acquire --impl setnx-expire --backend sim --seed 7 --workers 2
    ");
}

#[test]
fn single_worker_is_inconclusive() {
    insta::assert_snapshot!(show(samples::one_worker(), 80), @"
    ? set-nx-px × calm × process   seed 7
      Nothing goes wrong.
      1 worker · 1 node · ttl 1 s · redis 7.0.15 · set-nx-px 0.1.0
      process: asked for with --backend

      exclusion ? unknown         too little to judge: no two workers ever competed
      lease     ? unknown         too little to judge: no two workers ever competed
      resource  ✔ held            the stock adds up: nothing was sold twice
      ownership ✔ held            no client released another client's lock
      fencing   – not applicable  the lock has no fencing tokens
      progress  ✔ held            every client that still wanted the lock got it
      claims    ✔ held            what the lock reported agrees with what it did

      counts    3 granted · 0 refused · 0 failed · 3 released · 3 sold of 3, 0 left
      latency        p50     p90     p99   p99.9     max   count
      acquire       2 ms    2 ms    2 ms    2 ms    2 ms       2
      release       1 ms    1 ms    1 ms    1 ms    1 ms       2
      took      setup 12 ms · workload 3.41 s · teardown 3 ms

      Reproduce
        picklock scenario calm --impl set-nx-px --backend sim --seed 7 --workers 1
    ");
}

#[test]
fn hostile_lock_is_escaped() {
    insta::assert_snapshot!(show(samples::hostile(), 120));
}

#[test]
fn control_codes_of_a_hostile_lock_are_escaped() {
    let (record, history) = samples::hostile();
    let text = terminal::run(&record, &history, 120);
    let commands = plain(&text).chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(commands, None);
    // The attack's own green must appear as text, not as a style.
    assert!(text.contains(r"\u{1b}[1;32m"));
    assert!(!text.contains("\x1b[1;32m"));
}

#[test]
fn overlapping_holds_are_red() {
    let (record, history) = samples::gc_pause();
    let text = terminal::run(&record, &history, 100);
    let row = |worker: &str| {
        let found = text.lines().find(|line| plain(line).starts_with(worker));
        found.unwrap().to_owned()
    };
    let red = "\x1b[1m\x1b[31m";
    assert!(row("    worker 0 ").contains(red), "{text}");
    assert!(row("    worker 1 ").contains(red));
    assert!(!row("    worker 2 ").contains(red));
}

#[test]
fn node_rows_show_authors_and_ends_of_values() {
    let text = show(key_history_samples::eroded_quorum(), 100);
    let row = |node: &str| {
        let row = text.lines().find(|line| line.starts_with(node));
        row.unwrap_or_else(|| panic!("no {node}: {text}"))
    };
    assert!(row("    node 0").contains("─◊├ w1 ─"), "{text}");
    assert!(row("    node 1").contains(" removed by w0 ┤"), "{text}");
    assert!(row("    node 3").contains(" removed by w0 ╳"), "{text}");
    assert!(row("    node 4").contains(" ran out ┤"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn node_rows_fit_a_narrow_terminal() {
    let text = show(key_history_samples::eroded_quorum(), 60);
    assert!(text.contains("├ w1 ─ by w0 ╳"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn control_codes_in_keys_are_escaped() {
    let text = show(key_history_samples::hostile(), 100);
    let commands = text.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(commands, None);
    assert!(text.contains("\n    node 3 …"), "{text}");
}

#[test]
fn missing_key_history_is_noted_once() {
    let text = show(samples::gc_pause(), 100);
    assert_eq!(text.matches("No key history").count(), 1, "{text}");
    assert!(!text.contains("    node 0"), "{text}");
}
