//! The scorecard: its computations, and that it claims nothing without evidence.

use picklock_reports::report_input::ReportInput;
use picklock_reports::scorecard::{Choice, Fencing, LockScore, Purpose, ScenarioScore, Scorecard};
use picklock_reports::{documents, terminal};
use picklock_scenarios::{Cause, Family, LockKind, Measure};
use picklock_verdicts::check::{Property, Verdict};
use picklock_verdicts::record::{Cell, CellSetting, Latency, MATRIX_FORMAT, MatrixRecord};

use crate::cell::{cell, violated};
use crate::cells::file;

fn setting(family: Family, nodes: usize) -> Option<CellSetting> {
    Some(CellSetting {
        family,
        lock_kind: LockKind::Mutex,
        measures: None,
        nodes,
        replicas: 0,
        ttl_ms: None,
        workers: None,
    })
}

/// Returns a cell of a scenario that is named after its family.
fn family_cell(lock: &str, family: Family, otherwise: &[(Property, Verdict)]) -> Cell {
    let mut cell = cell(lock, family.as_str(), otherwise);
    cell.setting = setting(family, 1);
    cell
}

fn record(cells: Vec<Cell>) -> MatrixRecord {
    MatrixRecord {
        format: MATRIX_FORMAT.into(),
        cells,
        seeds: 1,
        ..MatrixRecord::default()
    }
}

/// Returns cells of a lock that holds in a scenario of each family, except for those in `broken`.
fn tested(lock: &str, broken: &[(Family, &[Property], Cause)]) -> Vec<Cell> {
    let cell_of = |family: Family| {
        let same = broken.iter().filter(|(broken, ..)| *broken == family);
        let verdicts = same.flat_map(|(_, properties, cause)| {
            properties
                .iter()
                .map(|property| (*property, violated(*cause, &[])))
        });
        family_cell(lock, family, &verdicts.collect::<Vec<_>>())
    };
    Family::ALL.map(cell_of).into()
}

fn scorecard(cells: Vec<Cell>) -> Scorecard {
    Scorecard::from_matrix(&record(cells)).expect("it compares several scenarios")
}

fn score<'a>(card: &'a Scorecard, lock: &str) -> &'a LockScore {
    let mut scores = card.locks.iter();
    scores
        .find(|score| score.lock == lock)
        .expect("the lock was tested")
}

fn advice(card: &Scorecard, purpose: Purpose) -> (&Choice, &str) {
    let mut advice = card.advice.iter();
    let found = advice.find(|advice| advice.purpose == purpose).unwrap();
    (&found.choice, &found.words)
}

const OVERLAP: &[Property] = &[Property::Exclusion, Property::Resource];

/// The violations of a lock that Redis lost during a lease.
const LEASE_OVERLAP: &[Property] = &[Property::Exclusion, Property::Lease, Property::Resource];

/// A lock that a client outlives, one with tokens, and one that releases other clients' locks.
fn three() -> Vec<Cell> {
    let mut cells = tested("plain", &[(Family::Clients, OVERLAP, Cause::OutlivedLease)]);
    let mut fenced = tested(
        "tokens",
        &[
            (
                Family::Clients,
                &[Property::Exclusion],
                Cause::OutlivedLease,
            ),
            (Family::Nodes, LEASE_OVERLAP, Cause::LostOnFailover),
        ],
    );
    for cell in &mut fenced {
        let tally = cell.tally.get_mut(&Property::Fencing).unwrap();
        (tally.held, tally.not_applicable) = (1, 0);
    }
    cells.extend(fenced);
    cells.extend(tested(
        "thief",
        &[(Family::Network, OVERLAP, Cause::StolenRelease)],
    ));
    cells
}

#[test]
fn violations_are_grouped_by_fault() {
    let card = scorecard(three());
    let tokens = score(&card, "tokens");
    assert_eq!(tokens.scenarios(ScenarioScore::Fenced), ["clients"]);
    assert_eq!(tokens.scenarios(ScenarioScore::Redis), ["nodes"]);
    assert_eq!(tokens.fencing, Fencing::Held);
    assert_eq!(tokens.all.describe(), "4/5");
    assert_eq!(
        score(&card, "plain").scenarios(ScenarioScore::Client),
        ["clients"]
    );
    assert_eq!(
        score(&card, "thief").scenarios(ScenarioScore::Lock),
        ["network"]
    );
    assert_eq!(
        tokens.sentence(),
        "Survives 4 of 5 scenarios, 1 of them by its fencing tokens; Redis lost the lock in nodes."
    );
    // Among equals, the lock that is itself at fault comes last.
    assert_eq!(card.locks.last().unwrap().lock, "thief");
}

#[test]
fn money_requires_a_lock_safe_from_clients() {
    let card = scorecard(three());
    let (choice, words) = advice(&card, Purpose::Money);
    let Choice::Lock {
        lock,
        given_no,
        others,
        unfit,
        basis,
    } = choice
    else {
        panic!("{choice:?}");
    };
    assert_eq!(lock, "tokens");
    assert!(given_no.contains(&Cause::LostOnFailover));
    assert_eq!((basis.scenarios, basis.runs), (5, 5));
    assert_eq!((*others, *unfit), (2, 2));
    assert_eq!(
        words,
        "For money: `tokens`, on a Redis that does not lose the lock in a failover. The stock \
         was damaged in 1 of 5 scenarios, because Redis lost the lock (nodes). With each of the 2 \
         others a client or the lock itself caused damage. Based on 5 runs of 5 scenarios (sim)."
    );
}

/// Both locks fail when a client outlives its lease, so the scenario does not rank them. The stock was damaged anyway.
#[test]
fn damage_in_a_scenario_that_is_not_counted_rules_a_lock_out() {
    let outlived = (Family::Clients, OVERLAP, Cause::OutlivedLease);
    let mut cells = tested("set-nx-px", &[outlived]);
    let stolen = (Family::Network, OVERLAP, Cause::StolenRelease);
    cells.extend(tested("get-then-del", &[outlived, stolen]));
    let card = scorecard(cells.clone());
    assert_eq!(card.unscored, ["clients"]);
    let (choice, words) = advice(&card, Purpose::Money);
    assert!(
        matches!(choice, Choice::NoneFits { closest } if closest == "set-nx-px"),
        "{words}"
    );
    // A lock without damage in that scenario is recommended, and the scenario counts again.
    cells.extend(tested("fenced", &[]));
    let card = scorecard(cells);
    assert!(card.unscored.is_empty());
    let (choice, words) = advice(&card, Purpose::Money);
    assert!(
        matches!(choice, Choice::Lock { lock, unfit: 2, .. } if lock == "fenced"),
        "{words}"
    );
}

#[test]
fn cron_job_takes_the_cheapest_lock_without_own_fault() {
    let card = scorecard(three());
    let (choice, words) = advice(&card, Purpose::CronJob);
    assert!(
        matches!(choice, Choice::Lock { lock, .. } if lock == "plain"),
        "{words}"
    );
    assert!(
        words.contains(
            "it failed in 1 of 5 scenarios through a client or Redis. With 1 of the 2 others the lock itself caused \
             damage, or blocked all clients; the rest cost no less, or failed more often by their own fault."
        ),
        "{words}"
    );
    let stuck = tested(
        "stuck",
        &[(Family::Load, &[Property::Progress], Cause::NoTtl)],
    );
    let card = scorecard(stuck);
    let (choice, words) = advice(&card, Purpose::CronJob);
    assert!(matches!(choice, Choice::NoneFits { .. }), "{words}");
}

#[test]
fn untested_purpose_gets_no_recommendation() {
    let mut cells = tested("plain", &[]);
    cells.retain(|cell| !["clients", "network", "clocks"].contains(&cell.scenario.as_str()));
    let card = scorecard(cells);
    assert_eq!(
        card.untested,
        [Family::Clients, Family::Network, Family::Clocks]
    );
    let (_, words) = advice(&card, Purpose::Money);
    assert_eq!(
        words,
        "For money: no recommendation: no scenario was judged in these families: clients, network."
    );
    let (_, words) = advice(&card, Purpose::Uptime);
    let head = "To keep working without a minority of the servers";
    assert_eq!(
        words,
        format!("{head}: no recommendation: no scenario that measures this was judged.")
    );
    assert_eq!(
        Scorecard::from_matrix(&record(vec![family_cell("a", Family::Load, &[])])),
        None
    );
}

#[test]
fn recommendation_lists_untested_families() {
    let mut cells = tested("plain", &[]);
    cells.retain(|cell| cell.scenario != "clocks");
    let card = scorecard(cells);
    let (_, words) = advice(&card, Purpose::Money);
    let end = "was not damaged in any of 4 scenarios. Based on 4 runs of 4 scenarios (sim); not tested: clocks.";
    assert!(words.ends_with(end), "{words}");
}

/// An inconclusive scenario counts neither as survived nor as lost, and supports no recommendation.
#[test]
fn inconclusive_scenario_is_not_counted() {
    let unknown = || [(Property::Lease, crate::inconclusive("too little"))];
    let mut cells = tested("plain", &[]);
    cells.retain(|cell| cell.scenario != "nodes");
    cells.push(family_cell("plain", Family::Nodes, &unknown()));
    let card = scorecard(cells);
    let plain = score(&card, "plain");
    assert_eq!(plain.not_judged, ["nodes"]);
    assert_eq!(plain.all.describe(), "4/4");
    let (choice, _) = advice(&card, Purpose::Money);
    assert!(matches!(choice, Choice::NotTried { missing } if *missing == [Family::Nodes]));
}

/// A semaphore that keeps all its promises protects no stock.
#[test]
fn locks_of_another_kind_are_not_recommended() {
    let mut semaphore = tested("semaphore", &[]);
    for cell in &mut semaphore {
        cell.setting = cell.setting.map(|it| CellSetting {
            lock_kind: LockKind::Semaphore,
            ..it
        });
    }
    semaphore.extend(tested("mutex", &[]));
    let card = scorecard(semaphore);
    let (choice, _) = advice(&card, Purpose::Money);
    assert!(matches!(choice, Choice::Lock { lock, others: 0, .. } if lock == "mutex"));
}

#[test]
fn costs_come_from_the_cells_that_measure_them() {
    let mut cells = tested("quorum", &[]);
    for cell in &mut cells {
        cell.counts.granted = 4;
        cell.counts.commands = Some(6);
        let measures = match cell.scenario.as_str() {
            "load" => Some(Measure::Healthy),
            "network" => Some(Measure::Minority),
            _ => None,
        };
        cell.setting = cell.setting.map(|it| CellSetting {
            measures,
            nodes: 5,
            ..it
        });
        if measures == Some(Measure::Minority) {
            cell.counts.refused = 1;
        }
        let latency = Latency {
            count: 3,
            p50_us: if measures.is_some() { 1_000 } else { 9_000_000 },
            p99_us: 2_000,
            ..Latency::default()
        };
        cell.latency.insert("acquire".into(), latency);
    }
    let card = scorecard(cells);
    let quorum = score(&card, "quorum");
    assert_eq!(
        quorum.describe_costs().unwrap(),
        "Commands per acquisition: 1.5; to acquire, median / p99: 1 ms / 2 ms healthy; 80 % granted \
         without a minority of the nodes."
    );
    assert_eq!(quorum.needs(), "5 nodes");
    let (_, words) = advice(&card, Purpose::Uptime);
    assert!(
        words.contains("`quorum`, on 5 nodes: 80 % of the requests were granted during that time."),
        "{words}"
    );
}

#[test]
fn every_report_has_the_same_recommendations() {
    let record = record(three());
    let card = Scorecard::from_matrix(&record).unwrap();
    let input = ReportInput {
        matrix: record.clone(),
        ..ReportInput::default()
    };
    let lines = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let terminal = lines(&crate::terminal::plain(&terminal::matrix(&record, 200)));
    let document: serde_json::Value =
        serde_json::from_str(&documents::matrix_json(&record)).unwrap();
    let markdown = file(&input, "md", "report.md")
        .replace("<code>", "`")
        .replace("</code>", "`");
    let page = file(&input, "html", "report.html")
        .replace("<b>", "`")
        .replace("</b>", "`");
    for (index, advice) in card.advice.iter().enumerate() {
        let words = &advice.words;
        // The terminal gives each recommendation in few words.
        let (purpose, _) = words.split_once(':').unwrap();
        assert!(terminal.contains(purpose), "{purpose}: {terminal}");
        assert_eq!(document["scorecard"]["advice"][index]["words"], *words);
        assert!(markdown.contains(words), "{words}: {markdown}");
        // The page has no card without a recommendation.
        let is_tried = !matches!(advice.choice, Choice::NotTried { .. });
        assert_eq!(page.contains(words), is_tried, "{words}: {page}");
    }
    let read = documents::read(&document.to_string());
    assert!(matches!(read, Ok(documents::Document::Matrix(read)) if *read == record));
}

#[test]
fn terminal_shows_the_scorecard() {
    let text = crate::terminal::plain(&terminal::matrix(&record(three()), 100));
    // The title, the recommendations and the locks. The table follows.
    let parts: Vec<&str> = text.split("\n\n").take(3).collect();
    insta::assert_snapshot!(parts.join("\n\n"), @"
    3 locks × 5 scenarios × sim   one run each, seed 0

    For money: tokens: no client and no fault of its own damaged the stock; needs 1 node, no data lost
      in a failover
    For a cron job: plain: no fault of its own, never blocked everyone; needs 1 node
    To keep working without a minority of the servers: no recommendation: too few scenarios were tested

               plain  tokens  thief
    clients
      clients    C      ◆       ✔    outlived-lease
    nodes
      nodes      ✔      R       ✔    lost-on-failover
    network
      network    ✔      ✔       ✘    stolen-release
    ✔ 2 scenarios in which every lock held: load, clocks
    ");
}
