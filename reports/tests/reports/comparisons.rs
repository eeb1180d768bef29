//! Before and after: real changes are reported, and noise is not.

use picklock_reports::comparison::{Comparison, Direction, compare, json, markdown};
use picklock_reports::statistics::{TAIL, enclosing_ranks};
use picklock_scenarios::{Family, LockKind};
use picklock_verdicts::check::{Cause, Property, Status, Verdict};
use picklock_verdicts::latency::summarize;
use picklock_verdicts::record::{CellSetting, MatrixRecord};

use crate::cells::{hostile, matrix};

fn text(comparison: &Comparison) -> String {
    picklock_reports::comparison::text(comparison).to_string()
}

/// A deterministic generator of numbers that look random.
struct Generator(u64);

impl Generator {
    /// Returns a roughly exponential latency around `scale_us`, in microseconds.
    fn latency_us(&mut self, scale_us: f64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let unit = ((self.0 >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
        (-unit.ln() * scale_us) as u64 + 200
    }
}

fn with_latency(seed: u64, scale_us: f64, count: usize) -> MatrixRecord {
    let mut matrix = matrix().matrix;
    let mut generator = Generator(seed);
    for cell in &mut matrix.cells {
        for latency in cell.latency.values_mut() {
            *latency = summarize((0..count).map(|_| generator.latency_us(scale_us)));
        }
    }
    matrix
}

#[test]
fn set_compared_with_itself_has_no_changes() {
    let matrix = with_latency(1, 900.0, 500);
    let same = compare(&matrix, &matrix).unwrap();
    assert_eq!((same.cells, same.verdicts.len()), (5, 0));
    assert!(!same.latency.is_empty() && same.latency.iter().all(|ratio| ratio.within_noise));
    let headline = "No verdict changed in 5 cells\n";
    assert!(text(&same).starts_with(headline), "{}", text(&same));
}

#[test]
fn changed_parameters_are_one_line_each() {
    let mut before = matrix().matrix;
    let mut after = before.clone();
    let setting = |ttl_ms| CellSetting {
        family: Family::Load,
        lock_kind: LockKind::Mutex,
        measures: None,
        nodes: 1,
        replicas: 0,
        ttl_ms: Some(ttl_ms),
        workers: Some(3),
    };
    for (index, cell) in before.cells.iter_mut().enumerate() {
        cell.setting = Some(setting(if index == 0 { 1_000 } else { 2_000 }));
    }
    for cell in &mut after.cells {
        cell.setting = Some(setting(3_000));
        cell.scenario_hash.push('0');
    }
    let comparison = compare(&before, &after).unwrap();
    let shown = text(&comparison);
    let line = "In 5 cells the lease is 3 s instead of 1 s or 2 s\n";
    assert!(shown.contains(line), "{shown}");
    let mut several = before.clone();
    several.cells[1].setting = Some(setting(8_000));
    let several = compare(&several, &after).unwrap().parameters[0].describe();
    assert_eq!(several, "In 5 cells the lease is 3 s instead of 1 s to 8 s");
    assert!(markdown(&comparison).contains(line));
    assert!(comparison.other_scenario.is_empty());
    assert!(!shown.contains("Scenario changed"), "{shown}");
}

#[test]
fn only_cells_with_the_same_options_are_compared() {
    let mut plain = matrix().matrix;
    plain.cells.truncate(1);
    let mut both = plain.clone();
    let options = &mut both.cells[0].options;
    options.insert("retry_delay".into(), "50ms".into());
    both.cells.extend(plain.cells.clone());
    let comparison = compare(&both, &plain).unwrap();
    assert_eq!(comparison.cells, 1);
    let only = comparison.only_before[0].to_string();
    assert_eq!(only, "set-nx-px,retry_delay=50ms × calm × process");
}

/// Returns one verdict that got worse, one that got better, one with another cause, and one unexpected pass.
fn all_directions() -> Comparison {
    let before = with_latency(1, 900.0, 500);
    let mut after = with_latency(2, 900.0, 500);
    let broken = Verdict {
        status: Status::Violated,
        cause: Some(Cause::LostOnFailover),
        ..Verdict::held()
    };
    after.cells[0]
        .verdicts
        .insert(Property::Lease, broken.clone());
    after.cells[0].tally.clear();
    let healed = &mut after.cells[1];
    healed.verdicts.insert(Property::Exclusion, Verdict::held());
    healed.verdicts.insert(Property::Resource, broken);
    healed.tally.clear();
    after.cells[4].error = None;
    after.cells.remove(2);
    compare(&before, &after).unwrap()
}

#[test]
fn violations_of_one_story_are_one_change() {
    let before = matrix().matrix;
    let mut after = before.clone();
    let lost = |cause| Verdict {
        status: Status::Violated,
        cause: Some(cause),
        ..Verdict::held()
    };
    let broken = &mut after.cells[0];
    // The same story, although one property has another cause. The most severe property, `lease`, is shown.
    for (property, cause) in [
        (Property::Exclusion, Cause::LostOnRestart),
        (Property::Lease, Cause::LostOnFailover),
        (Property::Resource, Cause::LostOnFailover),
    ] {
        let mut verdict = lost(cause);
        verdict.story = vec!["the node lost its data".into()];
        broken.verdicts.insert(property, verdict);
    }
    broken
        .verdicts
        .insert(Property::Claims, lost(Cause::FalseRelease));
    broken.tally.clear();
    let comparison = compare(&before, &after).unwrap();
    assert_eq!(comparison.verdicts.len(), 4);
    let shown = text(&comparison);
    let headline = "1 of 5 cells changed: 1 worse\n";
    assert!(shown.starts_with(headline), "{shown}");
    let changes: Vec<&str> = shown.lines().filter(|line| line.contains("✘")).collect();
    let cell = "  ✘ worse set-nx-px × calm × process";
    let story = "exclusion, lease, resource: held → violated: lost-on-failover";
    assert_eq!(
        changes,
        [
            format!("{cell}  {story}"),
            format!("{cell}  claims: held → violated: false-release"),
        ]
    );
    assert_eq!(markdown(&comparison).matches("| ✘ worse |").count(), 2);
}

#[test]
fn verdict_changes_are_sorted_worst_first() {
    let comparison = all_directions();
    let directions: Vec<Direction> = comparison
        .verdicts
        .iter()
        .map(|change| change.direction)
        .collect();
    assert_eq!(
        directions,
        [
            Direction::Worse,
            Direction::UnexpectedPass,
            Direction::Other,
            Direction::Better
        ]
    );
    assert_eq!(comparison.only_before.len(), 1);
    let document: serde_json::Value = serde_json::from_str(&json(&comparison)).unwrap();
    assert_eq!(document["format"], "picklock-comparison/1");
    let unexpected_pass = &document["verdicts"][1];
    assert_eq!(unexpected_pass["direction"], "unexpected-pass");
    assert_eq!(unexpected_pass["expected"], "violated: outlived-lease");
}

#[test]
fn text_and_markdown_describe_all_directions() {
    let comparison = all_directions();
    insta::assert_snapshot!(text(&comparison), @r#"
    3 of 4 cells changed: 1 worse, 1 no longer violated, although expected, 1 better

      ✘ worse set-nx-px × calm × process  lease: held → violated: lost-on-failover
      ≠ no longer violated set-nx-px × gc-pause × process  exclusion: violated: outlived-lease → held
      ≠ other set-nx-px × gc-pause × process  resource: violated: outlived-lease → violated: lost-on-failover
      ✔ better redlock × calm × process  cell: not run: no redis-server on the PATH → run

    Latency: 0 of 12 ratios beyond noise
    Only before: get-then-del × stale-delete × process

    Bounds are distribution-free 99 % intervals of each quantile, from binomial order statistics; "within noise" means that they overlap. They cover the noise of the count, not of the machine.
    "#);
    insta::assert_snapshot!(markdown(&comparison), @r#"
    ## Picklock: 3 of 4 cells changed: 1 worse, 1 no longer violated, although expected, 1 better

    | | lock | scenario | backend | properties | before | after |
    |---|---|---|---|---|---|---|
    | ✘ worse | <code>set-nx-px</code> | <code>calm</code> | <code>process</code> | lease | <code>held</code> | <code>violated: lost-on-failover</code> |
    | ≠ no longer violated | <code>set-nx-px</code> | <code>gc-pause</code> | <code>process</code> | exclusion | <code>violated: outlived-lease</code> | <code>held</code> |
    | ≠ other | <code>set-nx-px</code> | <code>gc-pause</code> | <code>process</code> | resource | <code>violated: outlived-lease</code> | <code>violated: lost-on-failover</code> |
    | ✔ better | <code>redlock</code> | <code>calm</code> | <code>process</code> | cell | <code>not run: no redis-server on the PATH</code> | <code>run</code> |

    | lock | scenario | backend | latency | ratio | before | after |
    |---|---|---|---|---|---|---|
    | <code>set-nx-px</code> | <code>gc-pause</code> | <code>process</code> | <code>acquire</code> p99 | × 1.13, within noise | 3.97 ms | 4.46 ms |
    | <code>set-nx-px</code> | <code>gc-pause</code> | <code>process</code> | <code>acquire</code> p50 | × 1.11, within noise | 771 µs | 854 µs |
    | <code>set-nx-px</code> | <code>calm</code> | <code>process</code> | <code>release</code> p50 | × 1.08, within noise | 791 µs | 851 µs |
    | <code>set-nx-px</code> | <code>calm</code> | <code>process</code> | <code>acquire</code> p99 | × 1.05, within noise | 4.09 ms | 4.29 ms |
    | <code>redlock</code> | <code>holder-crash</code> | <code>process</code> | <code>acquire</code> p50 | × 1.04, within noise | 808 µs | 844 µs |
    | <code>set-nx-px</code> | <code>gc-pause</code> | <code>process</code> | <code>release</code> p99 | × 1.02, within noise | 4.18 ms | 4.24 ms |
    | <code>set-nx-px</code> | <code>gc-pause</code> | <code>process</code> | <code>release</code> p50 | × 0.98, within noise | 866 µs | 851 µs |
    | <code>redlock</code> | <code>holder-crash</code> | <code>process</code> | <code>release</code> p50 | × 0.95, within noise | 833 µs | 795 µs |
    | <code>set-nx-px</code> | <code>calm</code> | <code>process</code> | <code>acquire</code> p50 | × 0.94, within noise | 829 µs | 778 µs |
    | <code>redlock</code> | <code>holder-crash</code> | <code>process</code> | <code>acquire</code> p99 | × 0.90, within noise | 4.29 ms | 3.88 ms |
    | <code>redlock</code> | <code>holder-crash</code> | <code>process</code> | <code>release</code> p99 | × 0.88, within noise | 4.14 ms | 3.66 ms |
    | <code>set-nx-px</code> | <code>calm</code> | <code>process</code> | <code>release</code> p99 | × 0.80, within noise | 4.69 ms | 3.74 ms |

    - Only before: <code>get-then-del × stale-delete × process</code>

    Bounds are distribution-free 99 % intervals of each quantile, from binomial order statistics; "within noise" means that they overlap. They cover the noise of the count, not of the machine.
    "#);
}

#[test]
fn only_expected_violation_can_pass_unexpectedly() {
    let before = matrix().matrix;
    let mut after = matrix().matrix;
    // Expected to hold, violated before, held now: this is better.
    let fixed = &mut after.cells[2];
    fixed.verdicts.insert(Property::Ownership, Verdict::held());
    fixed.tally.clear();
    // An expected violation that is inconclusive now is an unexpected pass, too.
    let inconclusive = &mut after.cells[1];
    let unknown = crate::inconclusive("too few grants: 1 of 3");
    inconclusive.verdicts.insert(Property::Exclusion, unknown);
    inconclusive.tally.clear();
    let comparison = compare(&before, &after).unwrap();
    let directions = |property| {
        let changes = comparison.verdicts.iter();
        let of_property = changes.filter(move |change| change.property == Some(property));
        of_property
            .map(|change| change.direction)
            .collect::<Vec<_>>()
    };
    assert_eq!(directions(Property::Ownership), [Direction::Better]);
    assert_eq!(directions(Property::Exclusion), [Direction::UnexpectedPass]);
    assert!(text(&comparison).contains("1 no longer violated, although expected"));
}

#[test]
fn ratio_within_noise_is_not_a_change() {
    let (mut ratios, mut alarms) = (0, 0);
    for seed in 0..30 {
        let before = with_latency(2 * seed + 1, 900.0, 300);
        let after = with_latency(2 * seed + 1_000_001, 900.0, 300);
        let comparison = compare(&before, &after).unwrap();
        ratios += comparison.latency.len();
        alarms += comparison
            .latency
            .iter()
            .filter(|ratio| !ratio.within_noise)
            .count();
    }
    assert!(ratios >= 400, "{ratios}");
    assert!(
        alarms * 400 <= ratios,
        "{alarms} false alarms in {ratios} ratios"
    );
    let slow = compare(&with_latency(5, 900.0, 300), &with_latency(6, 1_800.0, 300)).unwrap();
    let medians = slow.latency.iter().filter(|ratio| ratio.quantile == 0.5);
    assert!(medians.clone().count() > 4);
    for ratio in medians {
        assert!(!ratio.within_noise, "{ratio:?}");
        assert!(
            ratio.ratio_low > 1.0 && ratio.ratio_high.unwrap() < 4.0,
            "{ratio:?}"
        );
    }
}

#[test]
fn few_values_have_no_upper_bound() {
    let few = with_latency(1, 900.0, 20);
    let many_times_slower = with_latency(2, 90_000.0, 20);
    let comparison = compare(&few, &many_times_slower).unwrap();
    let tails = comparison
        .latency
        .iter()
        .filter(|ratio| ratio.quantile == 0.99);
    assert!(tails.clone().count() > 0);
    for ratio in tails {
        assert!(
            ratio.within_noise && ratio.ratio_high.is_none(),
            "{ratio:?}"
        );
    }
}

/// Computes the probability of `at` successes from the definition.
fn binomial(count: u64, quantile: f64, at: u64) -> f64 {
    let ways: f64 = (0..at)
        .map(|i| ((count - i) as f64 / (i + 1) as f64).ln())
        .sum();
    (ways + at as f64 * quantile.ln() + (count - at) as f64 * (1.0 - quantile).ln()).exp()
}

#[test]
fn ranks_are_the_tightest_that_cover_the_quantile() {
    for count in [1, 2, 7, 20, 100, 460, 461, 1_000] {
        for quantile in [0.5, 0.9, 0.99] {
            let below = |rank: u64| {
                (0..rank)
                    .map(|at| binomial(count, quantile, at))
                    .sum::<f64>()
            };
            let above = |rank: u64| {
                (rank..=count)
                    .map(|at| binomial(count, quantile, at))
                    .sum::<f64>()
            };
            let (low, high) = enclosing_ranks(count, quantile, TAIL);
            let message = format!("{count} values, {quantile}: {low:?} {high:?}");
            assert!(below(low.unwrap_or(0)) <= 0.005 + 1e-9, "{message}");
            assert!(below(low.unwrap_or(0) + 1) > 0.005 - 1e-9, "{message}");
            if let Some(high) = high {
                assert!(above(high) <= 0.005 + 1e-9, "{message}");
            }
            assert!(
                above(high.unwrap_or(count + 1) - 1) > 0.005 - 1e-9,
                "{message}"
            );
        }
    }
}

#[test]
fn more_values_narrow_the_interval() {
    let (low, high) = enclosing_ranks(1_000_000, 0.5, TAIL);
    assert!(low.unwrap() > 498_000 && high.unwrap() < 502_000);
    let (low, high) = enclosing_ranks(10_000_000_000, 0.5, TAIL);
    assert!(low.unwrap() > 4_999_000_000 && high.unwrap() < 5_001_000_000);
}

#[test]
fn control_characters_in_names_are_escaped() {
    let mut after = hostile().matrix;
    after.cells[0].error = Some(crate::cells::HOSTILE.into());
    let comparison = compare(&hostile().matrix, &after).unwrap();
    for report in [text(&comparison), markdown(&comparison)] {
        assert!(
            !report.contains('\u{1b}') && !report.contains('\u{202e}'),
            "{report}"
        );
    }
    assert!(!markdown(&comparison).contains("<script"));
}
