//! Controls: a spoilt report makes another account, in every run in which it changes anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use picklock_scenarios::catalog;

use super::cells::{Cell, cells};
use super::difference::{difference, own};
use super::monitor_key_history::Edit;

/// A run with several grants, which releases and renewals end, and one key that expires.
fn cell() -> Cell {
    Cell {
        scenario: catalog::named("holder-crash").unwrap(),
        lock: "watchdog",
        seed: 5,
        every: 1,
    }
}

/// Changes each line of MONITOR, and counts those that it has changed. A line that becomes empty is left out.
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
        "{what}: nothing was changed"
    );
    assert!(difference(&run, true).is_some(), "{what}: nothing differs");
}

fn has(line: &str, word: &str) -> bool {
    line.to_ascii_uppercase().contains(word)
}

#[test]
fn an_unspoilt_report_does_not_differ() {
    let (edit, _) = lines(|_| None);
    assert_eq!(difference(&cell().run(Some(edit)), true), None);
}

#[test]
fn a_line_left_out_makes_another_account() {
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
fn another_expiry_makes_another_account() {
    must_differ("PX", |line| {
        has(line, "\"PX\" \"").then(|| line.replace("\"PX\" \"", "\"PX\" \"1"))
    });
}

/// That one is missing would show in no run: the next command finds the key expired in the replay too.
#[test]
fn a_notification_that_does_not_belong_there_makes_another_account() {
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
fn an_introduction_of_another_connection_makes_another_account() {
    must_differ("introduction", |line| {
        let (before, after) = line.split_once("picklock-connection-")?;
        let (number, rest) = after.split_once('"')?;
        let other = number.parse::<u64>().ok()? ^ 1;
        Some(format!("{before}picklock-connection-{other}\"{rest}"))
    });
}

#[test]
fn a_broken_line_is_named() {
    let (edit, _) = lines(|line| line.starts_with('+').then(|| "+1 what\r\n".into()));
    let run = cell().run(Some(edit));
    assert_eq!(run.told.unwrap_err(), "node 0: 1 what");
}

fn number(name: &str, usual: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(usual, |text| text.parse().unwrap())
}

/// Run 81 has a waiter that leaves for good while it waits, before its key is pushed.
#[test]
fn what_servers_tell_makes_the_account_that_they_keep() {
    let runs = usize::try_from(number("PICKLOCK_ACCOUNT_RUNS", 100)).unwrap();
    let seed = number("PICKLOCK_ACCOUNT_SEED", 12);
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
    println!("account: {runs} runs, {changes} changes compared, {count} runs differ");
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    assert!(changes > runs, "hardly anything was compared");
}
