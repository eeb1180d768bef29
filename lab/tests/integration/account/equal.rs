//! The two accounts are the same.

use super::cells::cells;
use super::difference::{difference, own};

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
