//! `[[limit]]` tables: named comparisons.

use picklock_reports::configuration::{ConfiguredRules, Source, Tables};
use picklock_reports::gate::{CellKey, Metric};
use picklock_scenarios::BackendName;
use picklock_verdicts::latency::LOSS_REPORT;
use picklock_verdicts::record::{Cell, KeyHistoryTally};

/// Parses a `[[limit]]` table with these lines, and returns its limits as text, or the error. All cells are
/// simulated.
fn parse(lines: &str) -> Result<Vec<String>, String> {
    let source = Source {
        file: "picklock.toml".to_owned(),
        text: format!("[[limit]]\n{lines}\n"),
    };
    let tables = Tables::read(&source).map_err(|error| error.to_string())?;
    let configured = ConfiguredRules {
        source: &source,
        tables: &tables,
        control: Some("set-nx-px"),
        today: (2026, 12, 1),
        omitted: &[],
    };
    let cell = CellKey {
        lock: "redlock".to_owned(),
        options: Default::default(),
        scenario: "calm".to_owned(),
        backend: BackendName::Sim,
    };
    let rules = configured.check(vec![(0, cell)]);
    let cells = rules.map_err(|error| error.to_string())?.cells;
    Ok(cells[0].1.limits.iter().map(ToString::to_string).collect())
}

#[test]
fn each_bound_of_a_table_is_a_limit() {
    for (lines, limits) in [
        (
            "metric = \"violations.lease\"\nmax = 0",
            vec!["violations.lease <= 0"],
        ),
        (
            "metric = \"release.max\"\nmax = \"1.5s\"",
            vec!["release.max <= 1500ms"],
        ),
        (
            "metric = \"acquire.p99\"\nmax_vs_baseline = 1.3\nslack = \"2ms\"",
            vec!["acquire.p99 <= baseline * 1.3 + 2ms"],
        ),
        (
            "metric = \"sold\"\nmax_vs_baseline = 1\nmin_vs_baseline = 1\nmin = 2",
            vec!["sold >= 2", "sold <= baseline", "sold >= baseline"],
        ),
        (
            "metric = \"acquire.p50\"\nmax_vs_control = 1.5\nmin_vs_control = 0.5\nslack = \"50us\"",
            vec![
                "acquire.p50 <= control * 1.5 + 50us",
                "acquire.p50 >= control * 0.5 - 50us",
            ],
        ),
    ] {
        let limits: Vec<String> = limits.into_iter().map(str::to_owned).collect();
        assert_eq!(parse(lines), Ok(limits), "{lines}");
    }
}

/// On real servers, only if the event would have been observed.
#[test]
fn event_that_never_occurred_counts_as_zero() {
    let mut cell = crate::cell::cell("redlock", "calm", &[]);
    let value = |cell: &Cell, name: &str| Metric::named(name).unwrap().value_in(cell);
    assert_eq!(value(&cell, &format!("{LOSS_REPORT}.count")), Some(0.0));
    assert_eq!(value(&cell, &format!("{LOSS_REPORT}.p50")), None);
    assert_eq!(value(&cell, "acquire_requested.count"), None);
    cell.backend = BackendName::Process;
    for (confirmed_runs, count) in [(0, None), (1, Some(0.0))] {
        cell.key_history = Some(KeyHistoryTally {
            runs: 1,
            confirmed_runs,
            ..KeyHistoryTally::default()
        });
        assert_eq!(value(&cell, "handover.count"), count);
    }
}

#[test]
fn invalid_limit_is_rejected_with_its_position() {
    let tables = [
        "",
        "metric = \"acquire.p99\"",
        "max = 3",
        "metric = \"acquire.p95\"\nmax = \"2ms\"",
        "metric = \"acquire.p99\"\nmax = 2",
        "metric = \"acquire.p99\"\nmax = \"2 min\"",
        "metric = \"acquire.p99\"\nmax = \"2ttl\"",
        "metric = \"acquire.p99\"\nmax_vs_baseline = \"2ms\"",
        "metric = \"acquire.p99\"\nmax_vs_baseline = -1",
        "metric = \"acquire.p99\"\nmax_vs_baseline = nan",
        "metric = \"acquire.p99\"\nmax_vs_basline = 2",
        "metric = \"violations.lease\"\nmax = \"2ms\"",
        "metric = \"granted\"\nmax_vs_control = 2",
    ];
    let shown = tables.map(|lines| parse(lines).unwrap_err());
    insta::assert_snapshot!(shown.join("\n"));
}
