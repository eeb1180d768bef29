//! Open loops: everybody who comes is served, turned away or counted, and nobody's wait is hidden.

use std::collections::BTreeSet;

use picklock_harness::check::{Property, Status, judge};
use picklock_harness::history::{EndReason, EventKind, History};
use picklock_harness::latency::{ASKED, from_history};
use picklock_harness::sim::{LockFactory, run};
use picklock_impls::find;
use picklock_scenarios::Scenario;

use super::simulation;

fn simulate(text: &str, lock: &str, seed: u64) -> History {
    let strategy = find(lock).unwrap();
    let scenario = Scenario::parse(text, "open.toml").unwrap_or_else(|error| panic!("{error}"));
    let lock = LockFactory::built_in(strategy);
    run(simulation(scenario, &lock, seed)).unwrap().history
}

fn workload(lines: &str) -> String {
    format!("name = \"open\"\nsummary = \"An open loop.\"\n[workload]\n{lines}\n")
}

/// What became of those who came.
#[derive(Debug, Default)]
pub struct Account {
    /// When those came for whom a worker has asked at least once.
    pub asked_for: BTreeSet<u64>,
    /// When those came for whom a worker has got the lock.
    pub served: BTreeSet<u64>,
    /// How many came.
    pub came: u64,
    /// How many of them no worker had begun to serve.
    pub unserved: u64,
}

/// The account of a history; `None` for a closed loop. Looks at the order of the line as well.
pub fn account(history: &History) -> Option<Account> {
    let mut account = Account::default();
    let mut open = false;
    let mut asking = std::collections::HashMap::new();
    for event in &history.events {
        match event.what {
            EventKind::Acquire {
                op,
                intended_ns: Some(intended_ns),
                ..
            } => {
                assert!(intended_ns <= event.at_ns, "asked for before he came");
                let last = account.asked_for.last().copied();
                let is_first = account.asked_for.insert(intended_ns);
                assert!(
                    !is_first || last.is_none_or(|last| last < intended_ns),
                    "{intended_ns} was passed over for a later one"
                );
                asking.insert(op, intended_ns);
            }
            EventKind::Granted { op, .. } => account.served.extend(asking.get(&op)),
            EventKind::Arrivals { came, unserved } => {
                open = true;
                (account.came, account.unserved) = (came, unserved);
            }
            _ => {}
        }
    }
    assert!(open || account.asked_for.is_empty(), "nobody counted them");
    open.then_some(account)
}

fn end(history: &History) -> (EndReason, i64) {
    let ends = history.events.iter().find_map(|event| match &event.what {
        EventKind::End { reason, sold, .. } => Some((*reason, sold.iter().sum())),
        _ => None,
    });
    ends.unwrap()
}

fn refused(history: &History) -> usize {
    let events = history.events.iter();
    events
        .filter(|event| matches!(event.what, EventKind::Refused { .. }))
        .count()
}

/// The positive control: the freeze of one client is there from the intended start, and is not
/// there from asking. Were it the same in both, an open loop would be of no use.
#[test]
fn a_freeze_shows_from_the_intended_start_and_hides_from_asking() {
    let rush = include_str!("../../../../docs/examples/rush.toml");
    for lock in ["set-nx-px", "redlock"] {
        for seed in 0..5 {
            let history = simulate(rush, lock, seed);
            let latency = from_history(&history);
            let (intended, asked) = (&latency["acquire"], &latency[ASKED]);
            assert_eq!((intended.count, asked.count), (400, 400));
            assert!(intended.p99_us > 500_000, "{lock} {seed}: {intended:?}");
            assert!(asked.p99_us < 250_000, "{lock} {seed}: {asked:?}");
            // The one who asked before the freeze was over is the one who is seen.
            assert!(asked.max_us > 500_000, "{lock} {seed}: {asked:?}");
            for (property, verdict) in judge(&history) {
                let fine = [Status::Held, Status::NotApplicable].contains(&verdict.status);
                assert!(fine, "{lock} {seed}: {property} {verdict:?}");
            }
        }
    }
}

#[test]
fn everybody_is_served_in_the_order_of_coming() {
    let text = workload("stock = 100\narrivals = \"50/s\"\nduration = \"1s\"\nsection = \"30ms\"");
    let history = simulate(&text, "set-nx-px", 1);
    let account = account(&history).unwrap();
    let every_20_ms: BTreeSet<u64> = (0..50).map(|number| number * 20_000_000).collect();
    assert_eq!(account.served, every_20_ms);
    assert_eq!((account.came, account.unserved), (50, 0));
    assert_eq!(end(&history), (EndReason::Served, 50));
}

#[test]
fn who_still_waits_at_the_limit_is_counted() {
    // Two seconds of work come in one, and the run ends after a second and a half.
    let text = workload(
        "stock = 100\narrivals = \"20/s\"\nduration = \"1s\"\nsection = \"100ms\"\nlimit = \"1500ms\"\nworkers = 2",
    );
    let history = simulate(&text, "set-nx-px", 1);
    let account = account(&history).unwrap();
    assert_eq!(account.came, 20);
    assert!(account.unserved >= 3, "{account:?}");
    assert_eq!(account.asked_for.len() as u64 + account.unserved, 20);
    assert_eq!(end(&history).0, EndReason::Limit);
}

#[test]
fn when_all_is_sold_the_rest_go_home() {
    for sold_out in ["seen", "announced"] {
        let text = workload(&format!(
            "stock = 5\narrivals = \"100/s\"\nduration = \"2s\"\nsection = \"20ms\"\nsold_out = \"{sold_out}\""
        ));
        let history = simulate(&text, "set-nx-px", 1);
        let account = account(&history).unwrap();
        assert_eq!(end(&history), (EndReason::SoldOut, 5), "{sold_out}");
        // Long before the two hundred have come; each one that came is accounted for.
        assert!(account.came < 50 && account.unserved > 0, "{account:?}");
        assert_eq!(
            account.asked_for.len() as u64 + account.unserved,
            account.came
        );
    }
}

#[test]
fn a_refused_buyer_goes_away_unless_he_is_told_to_stay() {
    let impatient =
        "stock = 100\narrivals = \"40/s\"\nduration = \"1s\"\nsection = \"60ms\"\nwait = \"0s\"\n";
    let history = simulate(&workload(impatient), "set-nx-px", 1);
    let gone = account(&history).unwrap();
    assert!(refused(&history) > 10);
    assert_eq!(gone.served.len() + refused(&history), 40);
    assert_eq!((gone.asked_for.len(), gone.unserved), (40, 0));

    let stays = format!("{impatient}again = \"20ms\"\n");
    let history = simulate(&workload(&stays), "set-nx-px", 1);
    let stayed = account(&history).unwrap();
    assert!(refused(&history) > 40);
    assert_eq!(stayed.served.len(), 40);
    assert_eq!(end(&history), (EndReason::Served, 40));
    // He has waited since he came, not since he last asked.
    let latency = from_history(&history);
    assert!(latency["acquire"].p50_us > 500_000, "{latency:?}");
    assert!(latency[ASKED].max_us < 10_000, "{latency:?}");
}

#[test]
fn an_idle_worker_that_dies_and_comes_back_serves_again() {
    let text = workload(
        "workers = 2\nstock = 100\narrivals = \"10/s\"\nduration = \"2s\"\nsection = \"5ms\"\n[[fault]]\nkind = \"crash-client\"\nat = \"550ms\"\nfor = \"300ms\"\nworkers = [1]",
    );
    let history = simulate(&text, "set-nx-px", 1);
    let account = account(&history).unwrap();
    assert_eq!((account.served.len(), account.unserved), (20, 0));
    let back_ns = history.events.iter().find_map(|event| match event.what {
        EventKind::WorkerUp {
            worker: 1,
            incarnation: 1,
        } => Some(event.at_ns),
        _ => None,
    });
    // At once, not only when it would have been its turn.
    let back_ms = back_ns.unwrap() / 1_000_000;
    assert!((850..900).contains(&back_ms), "{back_ms} ms");
    let mut later = history.events.iter().rev();
    assert!(later.any(|event| matches!(event.what, EventKind::Granted { worker: 1, .. })));
    assert!(!somebody_died_by_himself(&history));
}

fn somebody_died_by_himself(history: &History) -> bool {
    let by_itself =
        |what: &EventKind| matches!(what, EventKind::WorkerDown { by_fault, .. } if !by_fault);
    history.events.iter().any(|event| by_itself(&event.what))
}

/// The same in a closed loop: a buyer who thinks while his worker dies and comes back must not take
/// the new one for the old one, and accuse it of having died by itself.
#[test]
fn a_worker_that_dies_and_comes_back_while_its_buyer_thinks_is_not_accused() {
    let text = workload(
        "workers = 2\nstock = 10\nthink = \"300ms\"\nsection = \"5ms\"\n[[fault]]\nkind = \"crash-client\"\nat = \"150ms\"\nfor = \"50ms\"\nworkers = [1]",
    );
    let history = simulate(&text, "set-nx-px", 1);
    assert!(!somebody_died_by_himself(&history));
    let mut events = history.events.iter();
    let back =
        events.find(|event| matches!(event.what, EventKind::WorkerUp { incarnation: 1, .. }));
    assert!(back.is_some());
    assert!(events.any(|event| matches!(event.what, EventKind::Granted { worker: 1, .. })));
}

#[test]
fn without_workers_the_line_is_left_standing() {
    let text = workload(
        "workers = 2\nstock = 100\narrivals = \"20/s\"\nduration = \"2s\"\n[[fault]]\nkind = \"crash-client\"\nat = \"520ms\"\nworkers = \"all\"",
    );
    let history = simulate(&text, "set-nx-px", 1);
    let account = account(&history).unwrap();
    assert_eq!(end(&history).0, EndReason::NoWorkers);
    assert_eq!(
        account.asked_for.len() as u64 + account.unserved,
        account.came
    );
    assert!(
        !judge(&history)
            .values()
            .any(|verdict| verdict.status == Status::Violated)
    );
}

/// Nobody can have the lock, and it is found out although no buyer of an open loop asks for long.
#[test]
fn a_lock_that_nobody_gets_any_more_is_found_by_the_probe() {
    let text = workload(
        "stock = 100\narrivals = \"10/s\"\nduration = \"6s\"\nsection = \"5ms\"\nwait = \"200ms\"\nstart = \"one-first\"\n[[fault]]\nkind = \"crash-client\"\nwhen = { on = \"reply\", names_key = true, during = \"acquire\", worker = 0, nth = 1 }",
    );
    let stuck = judge(&simulate(&text, "setnx-expire", 1));
    assert_eq!(stuck[&Property::Progress].status, Status::Violated);
    let fine = judge(&simulate(&text, "set-nx-px", 1));
    assert_eq!(fine[&Property::Progress].status, Status::Held);
}
