//! The decision of the gate: what is planted is found, and said in the right words.

use std::collections::BTreeMap;

use picklock_reports::gate::{
    Baseline, CellKey, CellRules, Decision, GateOutcome, GateRuns, Limit, Metric, Pair, Paired,
    Reference, Rules, Side, absorb, annotations, changes, decide, gate_json, markdown, terminal,
};
use picklock_verdicts::check::{Cause, Property, Verdict};
use picklock_verdicts::latency::summarize;
use picklock_verdicts::record::{Cell, Counts, Latency, MatrixRecord, Redis, SkippedCell};

use crate::cell;

fn latency(values_us: &[u64]) -> BTreeMap<String, Latency> {
    let one = || summarize(values_us.iter().copied());
    BTreeMap::from([("acquire".to_owned(), one()), ("release".to_owned(), one())])
}

fn violated(cause: Cause) -> Verdict {
    let story = [
        "1.000 s  worker 1 got the lock | 100 %",
        "1.2 s  <b>two</b> inside",
    ];
    cell::violated(cause, &story)
}

/// A cell of one run in which everything held but what is named.
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

fn ran(cells: Vec<Cell>) -> GateRuns {
    GateRuns {
        matrix: MatrixRecord {
            cells,
            ..MatrixRecord::default()
        },
        paired: Vec::new(),
    }
}

/// The metric, which side of the bound it must stay on, what the bound is a multiple of, and the slack.
type Bound = (&'static str, Side, Reference, f64, f64);

const P99: Bound = ("acquire.p99", Side::Max, Reference::Baseline, 1.3, 2_000.0);

const AGAINST_CONTROL: Bound = ("acquire.p50", Side::Max, Reference::Control, 1.5, 0.0);

/// Rules for all of these cells, with these limits for each.
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
    let of_cell = CellRules {
        limits: limits.collect(),
        ..CellRules::default()
    };
    let cells = cells
        .iter()
        .map(|cell| (CellKey::new(cell), of_cell.clone()));
    Rules {
        cells: cells.collect(),
        control: None,
    }
}

fn two() -> Vec<Cell> {
    vec![cell("redlock", "calm", &[]), cell("set-nx-px", "calm", &[])]
}

/// The decision about `now`, with `before` as the baseline.
fn decided(before: Vec<Cell>, now: Vec<Cell>, limits: &[Bound]) -> Decision {
    let rules_now = rules(&now, limits);
    let baseline = Baseline::new(&rules(&before, limits), &ran(before));
    decide(&rules_now, Some(&baseline), &ran(now))
}

#[test]
fn nothing_differs() {
    let decision = decided(
        two(),
        two(),
        &[
            P99,
            ("violations.lease", Side::Max, Reference::Number, 0.0, 0.0),
            ("granted", Side::Min, Reference::Baseline, 1.0, 0.0),
        ],
    );
    assert_eq!(decision.outcome(), GateOutcome::AsExpected);
    assert_eq!((decision.expectations, decision.limits.len()), (2, 6));
    insta::assert_snapshot!(terminal(&decision));
    assert_eq!(annotations(&decision), "");
}

#[test]
fn a_verdict_differs() {
    let mut now = two();
    now[1] = cell(
        "set-nx-px",
        "calm",
        &[(Property::Lease, violated(Cause::Race))],
    );
    let decision = decided(two(), now, &[]);
    assert_eq!(decision.outcome(), GateOutcome::Differs);
    let all = [
        terminal(&decision),
        markdown(&decision),
        annotations(&decision),
        gate_json(&decision),
    ];
    insta::assert_snapshot!(all.join("\n---\n"));
}

#[test]
fn an_alarm_has_gone_dead() {
    let mut now = two();
    now[0]
        .expected
        .insert(Property::Lease, "violated: race".parse().unwrap());
    let decision = decided(two(), now, &[]);
    assert_eq!(decision.outcome(), GateOutcome::Differs);
    insta::assert_snapshot!(terminal(&decision), @"
    ✘ redlock × calm × sim: unexpected pass
      lease held, expected violated: race: unexpected pass
      = help: an expected violation no longer shows: either the lock was fixed (then change the expectation), or the fault no longer has its effect
      see it again: picklock scenario calm --impl redlock --backend sim --seed 1

    ✘ gate failed: 2 cells, 2 runs, 2 expectations, 0 limits; 1 finding
    ");
}

#[test]
fn an_alarm_rings_for_another_reason() {
    let mut now = two();
    now[0] = cell(
        "redlock",
        "calm",
        &[(Property::Lease, violated(Cause::Race))],
    );
    now[0]
        .expected
        .insert(Property::Lease, "violated: evicted".parse().unwrap());
    let decision = decided(two(), now.clone(), &[]);
    let problem = "lease violated: race, expected violated: evicted";
    assert_eq!(decision.findings[0].problem, problem);
    now[0]
        .expected
        .insert(Property::Lease, "violated".parse().unwrap());
    assert_eq!(decided(two(), now, &[]).outcome(), GateOutcome::AsExpected);
}

#[test]
fn a_latency_regressed() {
    let mut now = two();
    now[0].latency = latency(&[1_000, 2_000, 60_000]);
    let decision = decided(two(), now, &[P99]);
    assert_eq!(decision.outcome(), GateOutcome::Differs);
    insta::assert_snapshot!(terminal(&decision), @"
    ✘ redlock × calm × sim: limit broken
      acquire.p99 is 60 ms, and must be <= 54 ms (acquire.p99 <= baseline * 1.3 + 2ms; baseline 40 ms)
      see it again: picklock scenario calm --impl redlock --backend sim --seed 1

    ✘ gate failed: 2 cells, 2 runs, 2 expectations, 2 limits; 1 finding
    ");
}

#[test]
fn a_cell_is_missing_on_either_side() {
    let one = || vec![cell("redlock", "calm", &[])];
    let omitted = decided(two(), one(), &[]);
    let added = decided(one(), two(), &[]);
    // Asked for, and nobody ran it.
    let lost = decide(&rules(&two(), &[]), None, &ran(one()));
    let mut skipped = ran(one());
    skipped.matrix.skipped.push(SkippedCell {
        lock: "set-nx-px".into(),
        scenario: "calm".into(),
        backend: picklock_scenarios::BackendName::Sim,
        reason: "needs 5 nodes".into(),
        family: None,
    });
    let baseline = Baseline::new(&rules(&two(), &[]), &ran(two()));
    let skipped = decide(&rules(&one(), &[]), Some(&baseline), &skipped);
    let all = [omitted, added, lost, skipped];
    for decision in &all {
        assert_eq!(decision.outcome(), GateOutcome::Differs);
    }
    insta::assert_snapshot!(all.each_ref().map(terminal).join("---\n"));
}

#[test]
fn the_baseline_is_about_something_else() {
    let mut other = two();
    other[0].scenario_hash = "1".repeat(40);
    other[1].runs = 3;
    for tally in other[1].tally.values_mut() {
        tally.held = 3;
    }
    let decision = decided(two(), other, &[P99]);
    assert_eq!(decision.outcome(), GateOutcome::Differs);
    let new_limit = decide(
        &rules(
            &two(),
            &[("release.p50", Side::Max, Reference::Baseline, 2.0, 0.0)],
        ),
        Some(&Baseline::new(&rules(&two(), &[P99]), &ran(two()))),
        &ran(two()),
    );
    assert_eq!(new_limit.outcome(), GateOutcome::Differs);
    insta::assert_snapshot!([terminal(&decision), terminal(&new_limit)].join("---\n"));
}

/// Another patch level is the same server; another version, or another server, is not.
#[test]
fn a_baseline_of_another_server_is_stale() {
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
        ("redis", "7.0.16", GateOutcome::AsExpected),
        ("redis", "8.0.2", GateOutcome::Differs),
        ("valkey", "7.0.15", GateOutcome::Differs),
    ] {
        let decision = decided(then.clone(), on(server, version), &[]);
        assert_eq!(decision.outcome(), outcome, "{server} {version}");
    }
    // A baseline of before does not say on which server it was written.
    assert_eq!(decided(two(), then, &[]).outcome(), GateOutcome::AsExpected);
}

#[test]
fn without_a_baseline_or_without_any_run_nothing_passes() {
    let no_baseline = decide(&rules(&two(), &[P99]), None, &ran(two()));
    let empty = decide(&rules(&[], &[]), None, &ran(Vec::new()));
    assert_eq!(no_baseline.outcome(), GateOutcome::Differs);
    assert_eq!(empty.outcome(), GateOutcome::Differs);
    insta::assert_snapshot!([terminal(&no_baseline), terminal(&empty)].join("---\n"));
}

#[test]
fn what_could_not_be_run_or_judged_never_passes() {
    let mut now = two();
    now[0].error = Some("seed 1: no redis-server on the PATH".into());
    now[1] = cell(
        "set-nx-px",
        "calm",
        &[(Property::Lease, crate::inconclusive("too little"))],
    );
    let both = decided(two(), now.clone(), &[]);
    assert_eq!(both.outcome(), GateOutcome::NotRun);
    let unknown = decided(vec![now[1].clone()], vec![now[1].clone()], &[]);
    assert_eq!(unknown.outcome(), GateOutcome::Inconclusive);
    let mut open = cell("no-lock", "calm", &[]);
    open.expected.clear();
    let nothing_expected = decided(vec![open.clone()], vec![open], &[]);
    assert_eq!(nothing_expected.outcome(), GateOutcome::Inconclusive);
    let mut idle = cell("redlock", "calm", &[]);
    idle.latency = latency(&[]);
    let unmeasured = decided(
        vec![idle.clone()],
        vec![idle],
        &[("acquire.p99", Side::Max, Reference::Number, 2e6, 0.0)],
    );
    assert_eq!(unmeasured.outcome(), GateOutcome::Inconclusive);
    let all = [both, unknown, nothing_expected, unmeasured];
    insta::assert_snapshot!(all.each_ref().map(terminal).join("---\n"));
}

/// Whatever limits are met, but one that counts these violations.
#[test]
fn a_violation_differs_although_nothing_is_expected() {
    let race = (Property::Lease, violated(Cause::Race));
    let mut open = cell("no-lock", "calm", &[race]);
    open.expected.clear();
    let decided = |metric: &'static str, max: f64| {
        let bound = (metric, Side::Max, Reference::Number, max, 0.0);
        let wanted = rules(&[open.clone()], &[bound]);
        decide(&wanted, None, &ran(vec![open.clone()]))
    };
    let decision = decided("acquire.p99", 2e6);
    assert_eq!(decision.outcome(), GateOutcome::Differs);
    let problem = "lease was violated 1 of 1 times, and nothing is expected of it";
    assert_eq!(decision.findings[0].problem, problem);
    let counted = decided("violations.lease", 1.0);
    assert_eq!(counted.outcome(), GateOutcome::AsExpected);
}

#[test]
fn expectation_of_the_user_overrides_the_scenarios() {
    let mut wanted = rules(&two(), &[]);
    for ((_, rules), words) in wanted.cells.iter_mut().zip(["held", "violated"]) {
        rules
            .expects
            .insert(Property::Lease, words.parse().unwrap());
    }
    let decision = decide(&wanted, None, &ran(two()));
    let problems: Vec<&str> = decision
        .findings
        .iter()
        .map(|one| one.problem.as_str())
        .collect();
    assert_eq!(problems, ["lease held, expected violated: unexpected pass"]);
    assert_eq!(
        decision.findings[0].cell.as_ref().unwrap().lock,
        "set-nx-px"
    );
}

/// A real cell with nine pairs in which the lock takes `times` as long as the control, on a
/// machine that slows down by half on the way and is wild once.
fn paired(times: f64) -> (Cell, Paired) {
    let mut lock = cell("mine", "round-trips", &[]);
    lock.backend = picklock_scenarios::BackendName::Process;
    let pairs = (0..9_u32).map(|pair| {
        let control_us = 4_000.0 * (1.0 + 0.06 * f64::from(pair));
        let noise = [1.02, 0.97, 1.0, 3.0, 0.99, 1.01, 0.96, 1.03, 1.0][pair as usize];
        let side = |us: f64| latency(&[us as u64, us as u64 + 10]);
        Pair {
            lock: side(control_us * times * noise),
            control: side(control_us),
        }
    });
    let paired = Paired {
        key: CellKey::new(&lock),
        control: "set-nx-px".into(),
        pairs: pairs.collect(),
        error: None,
    };
    (lock, paired)
}

fn in_pairs(baseline_times: f64, times: f64, limit: Bound) -> Decision {
    let backend = |times| {
        let (cell, paired) = paired(times);
        let mut ran = ran(vec![cell]);
        ran.paired.push(paired);
        ran
    };
    let before = backend(baseline_times);
    let mut wanted = rules(&before.matrix.cells, &[limit]);
    wanted.control = Some("set-nx-px".into());
    let baseline = Baseline::new(&wanted, &before);
    decide(&wanted, Some(&baseline), &backend(times))
}

#[test]
fn pairs_tell_a_slow_lock_from_a_slow_machine() {
    let same = in_pairs(1.0, 1.0, AGAINST_CONTROL);
    assert_eq!(same.outcome(), GateOutcome::AsExpected);
    let slower = in_pairs(1.0, 2.0, AGAINST_CONTROL);
    assert_eq!(slower.outcome(), GateOutcome::Differs);
    // Slow from the beginning is the baseline; slower than that is not.
    assert_eq!(in_pairs(2.0, 2.0, P99).outcome(), GateOutcome::AsExpected);
    let regressed = in_pairs(2.0, 4.0, P99);
    assert_eq!(regressed.outcome(), GateOutcome::Differs);
    // Not sure to 95 %: no alarm.
    assert_eq!(
        in_pairs(1.0, 1.5, AGAINST_CONTROL).outcome(),
        GateOutcome::AsExpected
    );
    let all = [same, slower, regressed];
    insta::assert_snapshot!(all.each_ref().map(terminal).join("---\n"));
}

#[test]
fn a_control_that_could_not_be_run_is_no_pass() {
    let (cell, mut paired) = paired(1.0);
    paired.error = Some("no Redis".into());
    let mut ran = ran(vec![cell]);
    let wanted = rules(&ran.matrix.cells, &[AGAINST_CONTROL]);
    ran.paired.push(paired);
    assert_eq!(decide(&wanted, None, &ran).outcome(), GateOutcome::NotRun);
    ran.paired.clear();
    assert_eq!(
        decide(&wanted, None, &ran).outcome(),
        GateOutcome::Inconclusive
    );
}

/// A run that could not be judged may be a violation.
#[test]
fn most_violations_are_not_kept_by_runs_that_nobody_could_judge() {
    let most = |max: f64| ("violations.lease", Side::Max, Reference::Number, max, 0.0);
    let outcome = |max, unknown, violated| {
        let mut cell = cell("redlock", "calm", &[]);
        cell.expected.clear();
        let tally = cell.tally.get_mut(&Property::Lease).unwrap();
        (tally.held, tally.unknown, tally.violated) = (1, unknown, violated);
        let wanted = rules(&[cell.clone()], &[most(max)]);
        decide(&wanted, None, &ran(vec![cell])).outcome()
    };
    assert_eq!(outcome(0.0, 0, 0), GateOutcome::AsExpected);
    assert_eq!(outcome(0.0, 3, 0), GateOutcome::Inconclusive);
    assert_eq!(outcome(2.0, 2, 0), GateOutcome::AsExpected);
    assert_eq!(outcome(2.0, 2, 1), GateOutcome::Inconclusive);
    assert_eq!(outcome(0.0, 3, 1), GateOutcome::Differs);
}

#[test]
fn runs_of_pairs_are_one_cell() {
    let mut whole = cell("redlock", "calm", &[]);
    let lease = (Property::Lease, violated(Cause::Race));
    let mut other = cell("redlock", "calm", &[lease]);
    let acquired = whole.latency["acquire"].count;
    assert!(acquired > 0);
    (whole.reruns, whole.elapsed_ms) = (1, Some(500));
    (other.reruns, other.elapsed_ms) = (2, Some(700));
    absorb(&mut whole, other.clone());
    absorb(&mut whole, cell("redlock", "calm", &[]));
    assert_eq!(whole.runs, 3);
    assert_eq!((whole.reruns, whole.elapsed_ms), (3, Some(1200)));
    assert_eq!(whole.latency["acquire"].count, 3 * acquired);
    let lease = &whole.tally[&Property::Lease];
    assert_eq!(
        (lease.held, lease.violated, lease.causes[&Cause::Race]),
        (2, 1, 1)
    );
    assert_eq!(whole.verdicts, other.verdicts);
    let decision = decide(&rules(&[whole.clone()], &[]), None, &ran(vec![whole]));
    assert_eq!(
        decision.findings[0].problem,
        "lease violated: race in 1 of 3 runs, expected held"
    );
}

#[test]
fn a_baseline_is_read_back_and_says_what_changed() {
    let mut before = two();
    before[0].options.insert("retries".into(), "3".into());
    let wanted = rules(&before, &[P99]);
    let old = Baseline::new(&wanted, &ran(before.clone()));
    assert_eq!(Baseline::parse(&old.to_text()).unwrap(), old);
    insta::assert_snapshot!("baseline_file", old.to_text());
    before[0].latency = latency(&[50_000]);
    before.remove(1);
    before.push(cell("fenced", "calm", &[]));
    let new = Baseline::new(&rules(&before, &[P99]), &ran(before));
    insta::assert_snapshot!(changes(Some(&old), &new).join("\n"), @"
    + fenced × calm × sim
    ~ redlock retries=3 × calm × sim: acquire.p99 40031 → 50015
    - set-nx-px × calm × sim
    ");
    assert!(changes(Some(&old), &old).is_empty());
}

#[test]
fn strangers_words_stay_words() {
    let mut hostile = cell(
        "x\n::error::`|<img>\x1b[2J",
        "calm",
        &[(Property::Lease, violated(Cause::Race))],
    );
    hostile.reproduce = "picklock\n::set-output name=a::b".into();
    let decision = decided(vec![hostile.clone()], vec![hostile], &[]);
    let lines = annotations(&decision);
    assert_eq!(lines.lines().count(), 1, "{lines}");
    let page = markdown(&decision);
    assert!(!page.contains("<img>") && !page.contains('\x1b'), "{page}");
    assert!(!terminal(&decision).contains('\x1b'));
    let mut talkative = cell("redlock", "calm", &[]);
    talkative.error = Some("ask @team about #12\nat https://x.y | `z`".into());
    let page = markdown(&decided(two(), vec![talkative], &[]));
    let parted = "| ask &#64;<!-- -->team about &#35;<!-- -->12<br>at https:<!-- -->//x.y &#124; &#96;z&#96; |";
    assert!(page.contains(parted), "{page}");
}

#[test]
fn github_shows_ten() {
    let cells: Vec<Cell> = (0..15)
        .map(|number| {
            let name = format!("lock-{number}");
            cell(&name, "calm", &[(Property::Lease, violated(Cause::Race))])
        })
        .collect();
    let lines = annotations(&decided(cells.clone(), cells, &[]));
    assert_eq!(lines.lines().count(), 10);
    assert!(
        lines.ends_with("6 more findings; the log has them\n"),
        "{lines}"
    );
}
