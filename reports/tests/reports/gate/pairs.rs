//! Runs in pairs with the control: the lock is distinguished from the machine.

use super::*;

/// Returns a real cell with nine pairs in which the lock takes `times` as long as the control. The machine
/// gradually slows down by half, and one pair is an outlier.
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
        let mut runs = runs(vec![cell]);
        runs.paired.push(paired);
        runs
    };
    let before = backend(baseline_times);
    let mut wanted = rules(&before.matrix.cells, &[limit]);
    wanted.control = Some("set-nx-px".into());
    let baseline = Baseline::new(&wanted, &before);
    decide(&wanted, Some(&baseline), &backend(times))
}

#[test]
fn pairs_distinguish_slow_lock_from_slow_machine() {
    let same = in_pairs(1.0, 1.0, AGAINST_CONTROL);
    assert_eq!(same.severity(), Severity::AsExpected);
    let slower = in_pairs(1.0, 2.0, AGAINST_CONTROL);
    assert_eq!(slower.severity(), Severity::Failed);
    // A lock that was always slow matches the baseline. A lock that is slower now does not.
    assert_eq!(in_pairs(2.0, 2.0, P99).severity(), Severity::AsExpected);
    let regressed = in_pairs(2.0, 4.0, P99);
    assert_eq!(regressed.severity(), Severity::Failed);
    // Below 95 % confidence, the limit is not broken.
    assert_eq!(
        in_pairs(1.0, 1.5, AGAINST_CONTROL).severity(),
        Severity::AsExpected
    );
    let all = [same, slower, regressed];
    insta::assert_snapshot!(all.each_ref().map(terminal).join("---\n"));
}

#[test]
fn failed_control_run_does_not_pass() {
    let (cell, mut paired) = paired(1.0);
    paired.error = Some("no Redis".into());
    let mut runs = runs(vec![cell]);
    let wanted = rules(&runs.matrix.cells, &[AGAINST_CONTROL]);
    runs.paired.push(paired);
    assert_eq!(decide(&wanted, None, &runs).severity(), Severity::NotRun);
    runs.paired.clear();
    assert_eq!(
        decide(&wanted, None, &runs).severity(),
        Severity::Inconclusive
    );
}

/// An inconclusive run may hide a violation.
#[test]
fn inconclusive_runs_count_against_maximum_violations() {
    let at_most = |max: f64| ("violations.lease", Side::Max, Reference::Number, max, 0.0);
    let outcome = |max, unknown, violated| {
        let mut cell = cell("redlock", "calm", &[]);
        cell.expected.clear();
        let tally = cell.tally.get_mut(&Property::Lease).unwrap();
        (tally.held, tally.unknown, tally.violated) = (1, unknown, violated);
        let wanted = rules(&[cell.clone()], &[at_most(max)]);
        decide(&wanted, None, &runs(vec![cell])).severity()
    };
    assert_eq!(outcome(0.0, 0, 0), Severity::AsExpected);
    assert_eq!(outcome(0.0, 3, 0), Severity::Inconclusive);
    assert_eq!(outcome(2.0, 2, 0), Severity::AsExpected);
    assert_eq!(outcome(2.0, 2, 1), Severity::Inconclusive);
    assert_eq!(outcome(0.0, 3, 1), Severity::Failed);
}

#[test]
fn runs_of_pairs_are_merged_into_one_cell() {
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
    let decision = decide(&rules(&[whole.clone()], &[]), None, &runs(vec![whole]));
    assert_eq!(
        decision.findings[0].problem,
        "lease violated: race in 1 of 3 runs, expected held"
    );
}
