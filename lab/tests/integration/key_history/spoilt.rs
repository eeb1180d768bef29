//! Controls: a spoilt report leads to a different key history, in every run in which it changes anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use picklock_scenarios::catalog;

use super::cells::{Cell, cells};
use super::difference::{difference, own};
use super::monitor_key_history::Edit;

/// Returns a run with several grants, which releases and renewals end, and one key that expires.
fn cell() -> Cell {
    Cell {
        scenario: catalog::named("holder-crash").unwrap(),
        lock: "watchdog",
        seed: 5,
        every: 1,
    }
}

/// Returns an edit that changes the first matching line of MONITOR, and a count of its changes. An empty line is left
/// out.
fn lines(change: impl Fn(&str) -> Option<String> + Send + 'static) -> (Edit, Arc<AtomicUsize>) {
    let changed = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&changed);
    let edit = move |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).unwrap();
        let lines = text.split_inclusive("\r\n").map(|line| {
            // One change is enough.
            let new = (counted.load(Ordering::Relaxed) == 0).then(|| change(line));
            new.flatten().map_or_else(
                || line.to_owned(),
                |new| {
                    counted.fetch_add(1, Ordering::Relaxed);
                    new
                },
            )
        });
        lines.collect::<String>().into_bytes()
    };
    (Box::new(edit), changed)
}

fn must_differ(what: &str, change: impl Fn(&str) -> Option<String> + Send + 'static) {
    let (edit, changed) = lines(change);
    let run = cell().run(Some(edit));
    assert_eq!(
        changed.load(Ordering::Relaxed),
        1,
        "{what}: the edit changed nothing"
    );
    assert!(difference(&run, true).is_some(), "{what}: nothing differs");
}

fn has(line: &str, word: &str) -> bool {
    line.to_ascii_uppercase().contains(word)
}

#[test]
fn unspoilt_report_does_not_differ() {
    let (edit, _) = lines(|_| None);
    assert_eq!(difference(&cell().run(Some(edit)), true), None);
}

#[test]
fn omitted_line_changes_the_key_history() {
    let no_line = |_: &str| Some(String::new());
    must_differ("SET", move |line| {
        has(line, "\"SET\"").then(|| no_line(line)).flatten()
    });
    must_differ("DEL in a script", move |line| {
        (has(line, "LUA]") && has(line, "\"DEL\""))
            .then(|| no_line(line))
            .flatten()
    });
    must_differ("ECHO", move |line| {
        has(line, "\"ECHO\"").then(|| no_line(line)).flatten()
    });
}

#[test]
fn altered_expiry_changes_the_key_history() {
    must_differ("PX", |line| {
        has(line, "\"PX\" \"").then(|| line.replace("\"PX\" \"", "\"PX\" \"1"))
    });
}

/// A missing notification has no effect in any run, because the next command finds the key expired in the replay as
/// well.
#[test]
fn spurious_notification_changes_the_key_history() {
    must_differ("expired", |line| {
        let (_, rest) = line.split_once("\"SET\" \"")?;
        let (key, _) = rest.split_once('"')?;
        let length = key.len();
        Some(format!(
            "{line}>4\r\n$8\r\npmessage\r\n$22\r\n__keyevent@*__:expired\r\n$22\r\n\
             __keyevent@0__:expired\r\n${length}\r\n{key}\r\n"
        ))
    });
}

#[test]
fn foreign_introduction_changes_the_key_history() {
    must_differ("introduction", |line| {
        let (before, after) = line.split_once("picklock-connection-")?;
        let (number, rest) = after.split_once('"')?;
        let other = number.parse::<u64>().ok()? ^ 1;
        Some(format!("{before}picklock-connection-{other}\"{rest}"))
    });
}

#[test]
fn broken_line_is_reported() {
    let (edit, _) = lines(|line| line.starts_with('+').then(|| "+1 what\r\n".into()));
    let run = cell().run(Some(edit));
    assert_eq!(run.replayed.unwrap_err(), "node 0: 1 what");
}

fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().unwrap())
}

/// In run 81 a waiter leaves permanently while it waits, before its key is pushed.
#[test]
fn reports_yield_the_nodes_own_key_history() {
    let runs = usize::try_from(number("PICKLOCK_KEY_HISTORY_RUNS", 100)).unwrap();
    let seed = number("PICKLOCK_KEY_HISTORY_SEED", 12);
    let (mut changes, mut differing) = (0, Vec::new());
    for (index, cell) in cells(runs, seed).enumerate() {
        let run = cell.run(None);
        changes += own(&run).len();
        if let Some(difference) = difference(&run, cell.every == 1) {
            let (lock, name, every) = (cell.lock, &cell.scenario.name, cell.every);
            let text = toml::to_string(&cell.scenario).unwrap();
            differing.push(format!(
                "run {index}: {lock}, {name}, seed {}, read every {every}\n{difference}\n{text}",
                cell.seed
            ));
        }
    }
    let count = differing.len();
    println!("key history: {runs} runs, {changes} changes compared, {count} runs differ");
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    assert!(changes > runs, "too few changes were compared");
}
