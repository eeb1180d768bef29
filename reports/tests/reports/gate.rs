//! The decision of the gate: planted differences are found and reported.

mod pairs;

use std::collections::BTreeMap;

use picklock_reports::gate::{
    Baseline, CellKey, CellRules, Decision, GateRuns, Kind, Limit, Metric, Pair, Paired, Reference,
    Rules, Side, absorb, changes, decide, gate_json, hint, markdown,
};
use picklock_reports::matrix::Severity;
use picklock_verdicts::check::{Cause, InconclusiveReason, Property, Verdict};
use picklock_verdicts::latency::summarize;
use picklock_verdicts::record::{Cell, Counts, Latency, MatrixRecord, Redis, SkippedCell};
use unicode_width::UnicodeWidthStr;

use crate::cell;
use crate::samples::{annotations, terminal};

fn latency(values_us: &[u64]) -> BTreeMap<String, Latency> {
    let one = || summarize(values_us.iter().copied());
    BTreeMap::from([("acquire".to_owned(), one()), ("release".to_owned(), one())])
}

fn violated(cause: Cause) -> Verdict {
    let story = [
        "1.000 s  client 1 got the lock | 100 %",
        "1.2 s  <b>two</b> inside",
    ];
    cell::violated(cause, &story)
}

/// Returns a cell of one run in which every property held, except for those in `otherwise`.
fn cell(lock: &str, scenario: &str, otherwise: &[(Property, Verdict)]) -> Cell {
    Cell {
        counts: Counts {
            granted: 5,
            ..Counts::default()
        },
        latency: latency(&[1_000, 2_000, 40_000]),
        ..cell::cell(lock, scenario, otherwise)
    }
}

fn runs(cells: Vec<Cell>) -> GateRuns {
    GateRuns {
        matrix: MatrixRecord {
            cells,
            ..MatrixRecord::default()
        },
        paired: Vec::new(),
    }
}

/// The metric, the side of the bound, the reference of the bound, the factor and the slack.
type Bound = (&'static str, Side, Reference, f64, f64);

const P99: Bound = ("acquire.p99", Side::Max, Reference::Baseline, 1.3, 2_000.0);

const AGAINST_CONTROL: Bound = ("acquire.p50", Side::Max, Reference::Control, 1.5, 0.0);

/// Returns rules for all of these cells, with these limits for each.
fn rules(cells: &[Cell], limits: &[Bound]) -> Rules {
    let limits = limits
        .iter()
        .map(|(metric, side, reference, factor, slack)| Limit {
            metric: Metric::named(metric).unwrap(),
            side: *side,
            reference: *reference,
            factor: *factor,
            slack: *slack,
        });
    let cell_rules = CellRules {
        limits: limits.collect(),
        ..CellRules::default()
    };
    let cells = cells
        .iter()
        .map(|cell| (CellKey::new(cell), cell_rules.clone()));
    Rules {
        cells: cells.collect(),
        control: None,
    }
}

fn two() -> Vec<Cell> {
    vec![cell("redlock", "calm", &[]), cell("set-nx-px", "calm", &[])]
}

/// Returns the decision about `now`, with `before` as the baseline.
fn gate(before: Vec<Cell>, now: Vec<Cell>, limits: &[Bound]) -> Decision {
    let rules_now = rules(&now, limits);
    let baseline = Baseline::new(&rules(&before, limits), &runs(before));
    decide(&rules_now, Some(&baseline), &runs(now))
}

#[test]
fn same_results_pass() {
    let decision = gate(
        two(),
        two(),
        &[
            P99,
            ("violations.lease", Side::Max, Reference::Number, 0.0, 0.0),
            ("granted", Side::Min, Reference::Baseline, 1.0, 0.0),
        ],
    );
    assert_eq!(decision.severity(), Severity::AsExpected);
    assert_eq!((decision.expectations, decision.limits.len()), (2, 6));
    insta::assert_snapshot!(terminal(&decision));
    assert_eq!(annotations(&decision), "");
}

#[test]
fn unexpected_verdict_fails() {
    let mut now = two();
    now[1] = cell(
        "set-nx-px",
        "calm",
        &[(Property::Lease, violated(Cause::Race))],
    );
    let decision = gate(two(), now, &[]);
    assert_eq!(decision.severity(), Severity::Failed);
    let all = [
        terminal(&decision),
        markdown(&decision),
        annotations(&decision),
        gate_json(&decision),
    ];
    insta::assert_snapshot!(all.join("\n---\n"));
}

/// Returns a decision with a violation in two cells, an inconclusive cell, and an expected violation that did not
/// occur.
fn failed() -> Decision {
    let unknown = || {
        Verdict::unknown(vec![InconclusiveReason::TooFewGrants {
            granted: 2,
            needed: 4,
            failed: None,
        }])
    };
    let pass = || Verdict {
        story: vec!["client 0 held the lock for 3.2 s: its value never expires".into()],
        ..Verdict::held()
    };
    let race = || (Property::Lease, violated(Cause::Race));
    let mut now = vec![
        cell("my-lock", "stale-delete", &[race()]),
        cell("my-lock", "late-release", &[race()]),
        cell(
            "my-lock",
            "lost-release",
            &[(Property::Lease, unknown()), (Property::Claims, unknown())],
        ),
        cell("my-lock", "gc-pause", &[(Property::Exclusion, pass())]),
    ];
    for cell in &mut now {
        let held = Property::ALL.map(|property| (property, "held".parse().unwrap()));
        cell.expected = held.into_iter().collect();
    }
    let outlived = "violated: outlived-lease".parse().unwrap();
    now[3].expected.insert(Property::Exclusion, outlived);
    decide(&rules(&now, &[]), None, &runs(now))
}

#[test]
fn failed_gate_at_80_and_120_columns() {
    let decision = failed();
    let shown = [80, 120].map(|width| {
        let text = picklock_reports::gate::terminal(&decision, width).to_string()
            + &hint(&decision, false);
        for line in text.lines().filter(|line| !line.contains("picklock ")) {
            assert!(line.width() <= width, "{width}: {line}");
        }
        text
    });
    insta::assert_snapshot!(shown.join("---\n"));
}

#[test]
fn inconclusive_cell_is_one_finding() {
    let decision = failed();
    let kinds: Vec<Kind> = decision.findings.iter().map(|one| one.kind).collect();
    let expected = [Kind::Verdict, Kind::UnexpectedPass, Kind::Inconclusive];
    assert_eq!(kinds, expected);
    let text = terminal(&decision);
    assert!(
        text.contains("? my-lock × lost-release × sim: inconclusive"),
        "{text}"
    );
    assert!(text.contains(": 2 findings, 1 cell inconclusive"), "{text}");
}

/// A violation that the configuration expects does not prevent the rest of the cell from being judged.
#[test]
fn help_of_inconclusive_cell_depends_on_violation() {
    let race = (Property::Exclusion, violated(Cause::Race));
    let unknown = (Property::Lease, crate::inconclusive("too little"));
    let mut now = cell("no-lock", "calm", &[race, unknown]);
    let comes_first = "the violation in this cell comes first";
    for (expected, is_first) in [("violated: race", false), ("held", true)] {
        let expected = expected.parse().unwrap();
        now.expected.insert(Property::Exclusion, expected);
        let decision = decide(&rules(&[now.clone()], &[]), None, &runs(vec![now.clone()]));
        let text = terminal(&decision);
        assert!(text.contains("lease unknown, expected held"), "{text}");
        assert_eq!(text.contains(comes_first), is_first, "{text}");
    }
}

#[test]
fn same_help_is_printed_once() {
    let unknown = || [(Property::Lease, crate::inconclusive("too little"))];
    let now = ["calm", "lost-reply"].map(|scenario| cell("set-nx-px", scenario, &unknown()));
    let text = terminal(&gate(now.to_vec(), now.to_vec(), &[]));
    assert_eq!(text.matches("inconclusive\n").count(), 2, "{text}");
    assert_eq!(text.matches("= help: ").count(), 1, "{text}");
}

#[test]
fn interrupted_gate_reports_what_it_found() {
    let decision = {
        let wanted = two();
        let mut runs = runs(vec![cell(
            "redlock",
            "calm",
            &[(Property::Lease, violated(Cause::Race))],
        )]);
        runs.matrix.interrupted = true;
        decide(&rules(&wanted, &[]), None, &runs)
    };
    assert_eq!((decision.unfinished, decision.findings.len()), (1, 1));
    let text = terminal(&decision);
    assert!(text.contains("interrupted before 1 cell had run"), "{text}");
}

#[test]
fn unexpected_pass_fails() {
    let mut now = two();
    now[0]
        .expected
        .insert(Property::Lease, "violated: race".parse().unwrap());
    let decision = gate(two(), now, &[]);
    assert_eq!(decision.severity(), Severity::Failed);
    insta::assert_snapshot!(terminal(&decision), @"
    ✘ redlock × calm × sim: unexpected pass
      lease held, expected violated: race
      = help: an expected violation did not occur: either the fault had no effect, or the lock kept the others out for longer than its lease (then find out why), or it cannot be broken like this any more
        (then change the expectation)
      reproduce: picklock scenario calm --impl redlock --backend sim --seed 1

    ✘ gate failed: 1 finding in 2 cells, 2 runs, 2 expectations
    ");
}

#[test]
fn expected_violation_with_another_cause_fails() {
    let mut now = two();
    now[0] = cell(
        "redlock",
        "calm",
        &[(Property::Lease, violated(Cause::Race))],
    );
    now[0]
        .expected
        .insert(Property::Lease, "violated: evicted".parse().unwrap());
    let decision = gate(two(), now.clone(), &[]);
    let problem = "lease violated: race, expected violated: evicted";
    assert_eq!(decision.findings[0].problem, problem);
    now[0]
        .expected
        .insert(Property::Lease, "violated".parse().unwrap());
    assert_eq!(gate(two(), now, &[]).severity(), Severity::AsExpected);
}

#[test]
fn latency_regression_fails() {
    let mut now = two();
    now[0].latency = latency(&[1_000, 2_000, 60_000]);
    let decision = gate(two(), now, &[P99]);
    assert_eq!(decision.severity(), Severity::Failed);
    insta::assert_snapshot!(terminal(&decision), @"
    ✘ redlock × calm × sim: limit broken
      acquire.p99 is 60 ms, and must be <= 54 ms (acquire.p99 <= baseline * 1.3 + 2ms; baseline 40 ms)
      reproduce: picklock scenario calm --impl redlock --backend sim --seed 1

    ✘ gate failed: 1 finding in 2 cells, 2 runs, 2 expectations, 2 limits
    ");
}

#[test]
fn missing_cell_on_either_side_fails() {
    let one = || vec![cell("redlock", "calm", &[])];
    let omitted = gate(two(), one(), &[]);
    let added = gate(one(), two(), &[]);
    // Configured, but not run.
    let not_run = decide(&rules(&two(), &[]), None, &runs(one()));
    let mut skipped = runs(one());
    skipped.matrix.skipped.push(SkippedCell {
        lock: "set-nx-px".into(),
        scenario: "calm".into(),
        backend: picklock_scenarios::BackendName::Sim,
        reason: "needs 5 nodes".into(),
        family: None,
    });
    let baseline = Baseline::new(&rules(&two(), &[]), &runs(two()));
    let skipped = decide(&rules(&one(), &[]), Some(&baseline), &skipped);
    let all = [omitted, added, not_run, skipped];
    for decision in &all {
        assert_eq!(decision.severity(), Severity::Failed);
    }
    insta::assert_snapshot!(all.each_ref().map(terminal).join("---\n"));
}

#[test]
fn outdated_baseline_fails() {
    let mut other = two();
    other[0].scenario_hash = "1".repeat(40);
    other[1].runs = 3;
    for tally in other[1].tally.values_mut() {
        tally.held = 3;
    }
    let decision = gate(two(), other, &[P99]);
    assert_eq!(decision.severity(), Severity::Failed);
    let new_limit = decide(
        &rules(
            &two(),
            &[("release.p50", Side::Max, Reference::Baseline, 2.0, 0.0)],
        ),
        Some(&Baseline::new(&rules(&two(), &[P99]), &runs(two()))),
        &runs(two()),
    );
    assert_eq!(new_limit.severity(), Severity::Failed);
    insta::assert_snapshot!([terminal(&decision), terminal(&new_limit)].join("---\n"));
}

/// Another patch level is the same server. Another version or product is not.
#[test]
fn baseline_of_another_server_is_stale() {
    let on = |server: &str, version: &str| {
        let mut cells = two();
        for cell in &mut cells {
            cell.redis = Some(Redis {
                server: server.into(),
                version: version.into(),
            });
        }
        cells
    };
    let then = on("redis", "7.0.15");
    for (server, version, outcome) in [
        ("redis", "7.0.16", Severity::AsExpected),
        ("redis", "8.0.2", Severity::Failed),
        ("valkey", "7.0.15", Severity::Failed),
    ] {
        let decision = gate(then.clone(), on(server, version), &[]);
        assert_eq!(decision.severity(), outcome, "{server} {version}");
    }
    // A baseline without server information matches every server.
    assert_eq!(gate(two(), then, &[]).severity(), Severity::AsExpected);
}

#[test]
fn missing_baseline_or_empty_run_fails() {
    let no_baseline = decide(&rules(&two(), &[P99]), None, &runs(two()));
    let empty = decide(&rules(&[], &[]), None, &runs(Vec::new()));
    assert_eq!(no_baseline.severity(), Severity::Failed);
    assert_eq!(empty.severity(), Severity::Failed);
    insta::assert_snapshot!([terminal(&no_baseline), terminal(&empty)].join("---\n"));
}

#[test]
fn inconclusive_or_failed_run_does_not_pass() {
    let mut now = two();
    now[0].error = Some("seed 1: no redis-server on the PATH".into());
    now[1] = cell(
        "set-nx-px",
        "calm",
        &[(Property::Lease, crate::inconclusive("too little"))],
    );
    let both = gate(two(), now.clone(), &[]);
    assert_eq!(both.severity(), Severity::NotRun);
    let unknown = gate(vec![now[1].clone()], vec![now[1].clone()], &[]);
    assert_eq!(unknown.severity(), Severity::Inconclusive);
    let mut free = cell("no-lock", "calm", &[]);
    free.expected.clear();
    let nothing_expected = gate(vec![free.clone()], vec![free], &[]);
    assert_eq!(nothing_expected.severity(), Severity::Inconclusive);
    let mut idle = cell("redlock", "calm", &[]);
    idle.latency = latency(&[]);
    let unmeasured = gate(
        vec![idle.clone()],
        vec![idle],
        &[("acquire.p99", Side::Max, Reference::Number, 2e6, 0.0)],
    );
    assert_eq!(unmeasured.severity(), Severity::Inconclusive);
    let all = [both, unknown, nothing_expected, unmeasured];
    insta::assert_snapshot!(all.each_ref().map(terminal).join("---\n"));
}

/// No limit excuses a violation, unless it counts these violations.
#[test]
fn violation_without_expectation_fails() {
    let race = (Property::Lease, violated(Cause::Race));
    let mut free = cell("no-lock", "calm", &[race]);
    free.expected.clear();
    let decide_with = |metric: &'static str, max: f64| {
        let bound = (metric, Side::Max, Reference::Number, max, 0.0);
        let wanted = rules(&[free.clone()], &[bound]);
        decide(&wanted, None, &runs(vec![free.clone()]))
    };
    let decision = decide_with("acquire.p99", 2e6);
    assert_eq!(decision.severity(), Severity::Failed);
    let problem = "lease was violated in 1 of 1 runs, without an expectation";
    assert_eq!(decision.findings[0].problem, problem);
    let counted = decide_with("violations.lease", 1.0);
    assert_eq!(counted.severity(), Severity::AsExpected);
}

#[test]
fn user_expectation_overrides_the_scenario() {
    let mut wanted = rules(&two(), &[]);
    for ((_, rules), words) in wanted.cells.iter_mut().zip(["held", "violated"]) {
        rules
            .expects
            .insert(Property::Lease, words.parse().unwrap());
    }
    let decision = decide(&wanted, None, &runs(two()));
    let problems: Vec<&str> = decision
        .findings
        .iter()
        .map(|one| one.problem.as_str())
        .collect();
    assert_eq!(problems, ["lease held, expected violated"]);
    assert_eq!(
        decision.findings[0].cell.as_ref().unwrap().lock,
        "set-nx-px"
    );
}

#[test]
fn baseline_round_trips_and_lists_its_changes() {
    let mut before = two();
    before[0].options.insert("retries".into(), "3".into());
    let wanted = rules(&before, &[P99]);
    let old = Baseline::new(&wanted, &runs(before.clone()));
    assert_eq!(Baseline::parse(&old.to_text()).unwrap(), old);
    insta::assert_snapshot!("baseline_file", old.to_text());
    before[0].latency = latency(&[50_000]);
    before.remove(1);
    before.push(cell("fenced", "calm", &[]));
    let new = Baseline::new(&rules(&before, &[P99]), &runs(before));
    insta::assert_snapshot!(changes(Some(&old), &new).join("\n"), @"
    + fenced × calm × sim
    ~ redlock retries=3 × calm × sim: acquire.p99 40031 → 50015
    - set-nx-px × calm × sim
    ");
    assert!(changes(Some(&old), &old).is_empty());
}

#[test]
fn untrusted_text_is_escaped() {
    let mut hostile = cell(
        "x\n::error::`|<img>\x1b[2J",
        "calm",
        &[(Property::Lease, violated(Cause::Race))],
    );
    hostile.reproduce = "picklock\n::set-output name=a::b".into();
    let decision = gate(vec![hostile.clone()], vec![hostile], &[]);
    let lines = annotations(&decision);
    assert_eq!(lines.lines().count(), 1, "{lines}");
    let page = markdown(&decision);
    assert!(!page.contains("<img>") && !page.contains('\x1b'), "{page}");
    assert!(!terminal(&decision).contains('\x1b'));
    let mut with_links = cell("redlock", "calm", &[]);
    with_links.error = Some("ask @team about #12\nat https://x.y | `z`".into());
    let page = markdown(&gate(two(), vec![with_links], &[]));
    let parted = "ask &#64;<!-- -->team about &#35;<!-- -->12<br>at https:<!-- -->//x.y &#124; <code>z</code>";
    assert!(page.contains(parted), "{page}");
}

#[test]
fn annotations_are_limited_to_ten() {
    let verdict = [(Property::Lease, violated(Cause::Race))];
    let cell = |number| cell(&format!("lock-{number}"), "calm", &verdict);
    let cells: Vec<Cell> = (0..15).map(cell).collect();
    let lines = annotations(&gate(cells.clone(), cells, &[]));
    assert_eq!(lines.lines().count(), 10);
    let last = "6 more findings; the log has them\n";
    assert!(lines.ends_with(last), "{lines}");
}
