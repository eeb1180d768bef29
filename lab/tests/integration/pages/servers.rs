//! The same cells, compared on several servers.

use picklock_lab::servers::{Refusal, by_server};
use picklock_reports::report_input::ReportInput;
use picklock_verdicts::check::{Cause, Property, Verdict};
use picklock_verdicts::record::{Cell, MATRIX_FORMAT, MatrixRecord, Mismatch, Redis};

use super::{HOSTILE, cell, inconclusive, violated};

/// Returns cells for two locks in two scenarios.
fn cells() -> Vec<Cell> {
    let outlived = [(
        Property::Exclusion,
        violated(Cause::OutlivedLease, &["two were inside"]),
    )];
    vec![
        cell("set-nx-px", "calm", &[]),
        cell("redlock", "calm", &[]),
        cell("set-nx-px", "gc-pause", &outlived),
        cell("redlock", "gc-pause", &outlived),
    ]
}

/// Returns the matrix of a server.
pub fn on(server: &str, version: &str, mut cells: Vec<Cell>) -> ReportInput {
    for cell in &mut cells {
        cell.redis = Some(Redis {
            server: server.into(),
            version: version.into(),
        });
    }
    ReportInput {
        matrix: MatrixRecord {
            format: MATRIX_FORMAT.into(),
            picklock: "0.1.0".into(),
            seed: 1,
            seeds: 1,
            cells,
            ..MatrixRecord::default()
        },
        ..ReportInput::default()
    }
}

/// Names the matrices `m1`, `m2` and so on.
fn together(parts: Vec<ReportInput>) -> Vec<(String, ReportInput)> {
    let named = (1..).zip(parts);
    named
        .map(|(number, part)| (format!("m{number}"), part))
        .collect()
}

fn on_two_servers() -> Vec<(String, ReportInput)> {
    together(vec![
        on("redis", "7.0.15", cells()),
        on("valkey", "9.1.2", cells()),
    ])
}

#[track_caller]
fn refusal(parts: Vec<ReportInput>) -> Refusal {
    by_server(&together(parts)).expect_err("it is refused")
}

/// Returns the part of a page from this heading to the next.
fn below<'a>(page: &'a str, heading: &str) -> &'a str {
    let rest = page.split_once(heading).map_or("", |(_, rest)| rest);
    rest.split("\n### ").next().unwrap_or(rest)
}

/// Either result is correct, so the servers do not differ.
#[test]
fn any_expectation_is_not_a_difference() {
    let with = |expected: &str, verdict: Verdict| {
        let mut cell = cell("getset", "gc-pause", &[(Property::Lease, verdict)]);
        cell.expected
            .insert(Property::Lease, expected.parse().unwrap());
        vec![cell]
    };
    let page = |expected: &str| {
        let race = violated(Cause::Race, &["two were granted it"]);
        let parts = vec![
            on("redis", "7.0.15", with(expected, Verdict::held())),
            on("valkey", "9.1.2", with(expected, race)),
        ];
        by_server(&together(parts)).unwrap()
    };
    let none = "No cell that was compared differs";
    assert!(page("any").contains(none), "{}", page("any"));
    assert!(!page("held").contains(none), "{}", page("held"));
}

#[test]
fn the_same_everywhere() {
    insta::assert_snapshot!(by_server(&on_two_servers()).unwrap(), @"
    | server | version | backend | Picklock | cells | as expected | otherwise | not judged | open |
    |---|---|---|---|---:|---:|---:|---:|---:|
    | redis | 7.0.15 | sim | 0.1.0 | 4 | 4 | 0 | 0 | 0 |
    | valkey | 9.1.2 | sim | 0.1.0 | 4 | 4 | 0 | 0 | 0 |

    One run of each cell, with seed 1.

    | scenario | redis 7.0.15 | valkey 9.1.2 |
    |---|---|---|
    | <code>calm</code> | 2 locks; as expected | same; as expected |
    | <code>gc-pause</code> | 2 locks; as expected | same; as expected |

    ### Where the servers differ

    No cell that was compared differs between the servers. Properties that the scenario leaves open (`any`) are not compared: either result is possible on any server.
    ");
}

#[test]
fn one_cell_differs_and_is_not_as_expected() {
    let mut others = cells();
    let race = violated(Cause::Race, &[]);
    others[1] = cell("redlock", "calm", &[(Property::Lease, race)]);
    others[1].mismatches = vec![Mismatch {
        property: Property::Lease,
        expected: "held".parse().unwrap(),
        got: "violated: race".parse().unwrap(),
        runs: 1,
    }];
    let parts = vec![
        on("redis", "7.0.15", cells()),
        on("redis", "8.0.2", cells()),
        on("valkey", "9.1.2", others),
    ];
    insta::assert_snapshot!(by_server(&together(parts)).unwrap(), @"
    | server | version | backend | Picklock | cells | as expected | otherwise | not judged | open |
    |---|---|---|---|---:|---:|---:|---:|---:|
    | redis | 7.0.15 | sim | 0.1.0 | 4 | 4 | 0 | 0 | 0 |
    | redis | 8.0.2 | sim | 0.1.0 | 4 | 4 | 0 | 0 | 0 |
    | valkey | 9.1.2 | sim | 0.1.0 | 4 | 3 | 1 | 0 | 0 |

    One run of each cell, with seed 1.

    | scenario | redis 7.0.15 | redis 8.0.2 | valkey 9.1.2 |
    |---|---|---|---|
    | <code>calm</code> | 2 locks; as expected | same; as expected | 1 same, **1 different**; **1 otherwise than expected** |
    | <code>gc-pause</code> | 2 locks; as expected | same; as expected | same; as expected |

    ### Where the servers differ

    | lock | scenario | property | redis 7.0.15 | redis 8.0.2 | valkey 9.1.2 |
    |---|---|---|---|---|---|
    | <code>redlock</code> | <code>calm</code> | lease | held | held | **violated**: race ‼ expected held |
    ");
}

#[test]
fn incomparable_cell_is_named_and_not_a_difference() {
    let mut others = cells();
    // One cell was not run, one has other content, one is inconclusive; one cell and one scenario are missing.
    others[0].error = Some("seed 1: the server ended\nmore".into());
    others[0].verdicts.clear();
    others[0].tally.clear();
    others[1].scenario_hash = "1".repeat(40);
    others.remove(2);
    let unknown = [(Property::Exclusion, inconclusive("it stood still"))];
    others[2] = cell("redlock", "gc-pause", &unknown);
    let mut matrix = on("valkey", "9.1.2", others);
    matrix.matrix.interrupted = true;
    matrix.skipped = vec!["m3: no such file or directory".into()];
    let mut first = cells();
    first.push(cell("redlock", "two-keys", &[]));
    let parts = vec![on("redis", "7.0.15", first), matrix];
    let page = by_server(&together(parts)).unwrap();
    assert!(page.contains("No cell that was compared differs"), "{page}");
    insta::assert_snapshot!(page, @"
    | server | version | backend | Picklock | cells | as expected | otherwise | not judged | open |
    |---|---|---|---|---:|---:|---:|---:|---:|
    | redis | 7.0.15 | sim | 0.1.0 | 5 | 5 | 0 | 0 | 0 |
    | valkey | 9.1.2 | sim | 0.1.0 | 3 | 2 | 0 | 1 | 0 |

    One run of each cell, with seed 1.
    The matrix of valkey 9.1.2 was interrupted.

    | scenario | redis 7.0.15 | valkey 9.1.2 |
    |---|---|---|
    | <code>calm</code> | 2 locks; as expected | 3 not compared; 1 not judged |
    | <code>gc-pause</code> | 2 locks; as expected | 2 not compared; as expected |
    | <code>two-keys</code> | 1 lock; as expected | no cell |

    ### Where the servers differ

    No cell that was compared differs between the servers. Properties that the scenario leaves open (`any`) are not compared: either result is possible on any server.

    ### What could not be compared on all servers

    | lock | scenario | property | redis 7.0.15 | valkey 9.1.2 |
    |---|---|---|---|---|
    | <code>set-nx-px</code> | <code>calm</code> | all | was run | could not be run: seed 1: the server ended |
    | <code>redlock</code> | <code>calm</code> | all | was run | another content of the scenario |
    | <code>set-nx-px</code> | <code>gc-pause</code> | all | was run | no such cell |
    | <code>redlock</code> | <code>gc-pause</code> | exclusion | **violated**: outlived-lease | unknown |
    | <code>redlock</code> | <code>two-keys</code> | all | was run | no such cell |
    | <code>redlock</code> | <code>calm</code> | all | another content of the scenario | was run |

    ### Skipped

    - m3: no such file or directory
    ");
}

#[test]
fn several_backends_and_runs_and_options_are_kept_apart() {
    let of = |violated_runs: u64| {
        let mut cells = cells();
        let mut other_backend = cells[0].clone();
        other_backend.backend = picklock_scenarios::BackendName::Docker;
        cells.push(other_backend);
        let mut optional = cells[0].clone();
        optional.options.insert("drift".into(), "2".into());
        cells.push(optional);
        for cell in &mut cells {
            cell.runs = 20;
            let tally = cell.tally.get_mut(&Property::Lease).unwrap();
            tally.held = 20;
        }
        let tally = cells[0].tally.get_mut(&Property::Lease).unwrap();
        tally.held = 20 - violated_runs;
        tally.violated = violated_runs;
        if violated_runs > 0 {
            tally.causes.insert(Cause::Race, violated_runs);
        }
        cells
    };
    let parts = || {
        let mut parts = vec![
            on("redis", "7.0.15", of(3)),
            on("redis", "8.0.2", of(5)),
            on("valkey", "9.1.2", of(0)),
        ];
        parts.iter_mut().for_each(|part| part.matrix.seeds = 20);
        parts
    };
    insta::assert_snapshot!(by_server(&together(parts())).unwrap(), @"
    | server | version | backend | Picklock | cells | as expected | otherwise | not judged | open |
    |---|---|---|---|---:|---:|---:|---:|---:|
    | redis | 7.0.15 | sim, docker | 0.1.0 | 6 | 6 | 0 | 0 | 0 |
    | redis | 8.0.2 | sim, docker | 0.1.0 | 6 | 6 | 0 | 0 | 0 |
    | valkey | 9.1.2 | sim, docker | 0.1.0 | 6 | 6 | 0 | 0 | 0 |

    20 runs of each cell, with the seeds 1 to 20. Servers differ in a cell if one has a result that the other never has.

    | scenario | redis 7.0.15 | redis 8.0.2 | valkey 9.1.2 |
    |---|---|---|---|
    | <code>calm</code> (sim) | 3 locks; as expected | same; as expected | 2 same, **1 different**; as expected |
    | <code>gc-pause</code> (sim) | 2 locks; as expected | same; as expected | same; as expected |
    | <code>calm</code> (docker) | 1 lock; as expected | same; as expected | same; as expected |

    ### Where the servers differ

    | lock | scenario | property | redis 7.0.15 | redis 8.0.2 | valkey 9.1.2 |
    |---|---|---|---|---|---|
    | <code>set-nx-px</code> | <code>calm</code> (sim) | lease | held in 17, **violated** in 3: race | held in 15, **violated** in 5: race | held in 20 |
    ");
    // A different frequency alone is not a difference.
    let two = parts().into_iter().take(2).collect();
    let page = by_server(&together(two)).unwrap();
    assert!(page.contains("No cell that was compared differs"), "{page}");
}

#[test]
fn every_pair_of_servers_is_compared() {
    let with = |verdict: Verdict| vec![cell("redlock", "calm", &[(Property::Lease, verdict)])];
    let parts = vec![
        on("redis", "7.0.15", with(inconclusive("it stood still"))),
        on("redis", "8.0.2", with(Verdict::held())),
        on("valkey", "9.1.2", with(violated(Cause::Race, &[]))),
    ];
    let page = by_server(&together(parts)).unwrap();
    let differing = below(&page, "### Where the servers differ");
    assert!(
        differing.contains("| lease | unknown | held | **violated**: race |"),
        "{page}"
    );
}

#[test]
fn names_of_strangers_stay_text() {
    let hostile = || {
        let mut cells = cells();
        cells[0].lock.name = HOSTILE.into();
        cells[0].scenario = HOSTILE.into();
        cells[0].options.insert(HOSTILE.into(), HOSTILE.into());
        cells
    };
    let mut others = hostile();
    others[0].error = Some(HOSTILE.into());
    let mut parts = vec![
        on("redis", "7.0.15", hostile()),
        on("valkey", HOSTILE, others),
    ];
    parts[1].matrix.picklock = HOSTILE.into();
    parts[1].skipped = vec![HOSTILE.into()];
    let page = by_server(&together(parts)).unwrap();
    for raw in ["<script", "@team", "`c`", "\u{1b}", "a|b", "](#"] {
        assert!(!page.contains(raw), "{raw:?} in {page}");
    }
    let tables = page.lines().filter(|line| line.starts_with('|'));
    for line in tables {
        let columns = line.matches('|').count();
        assert!([4, 6, 10].contains(&columns), "{columns} in {line}");
    }
}

#[test]
fn indistinguishable_servers_are_rejected() {
    let redis = || on("redis", "7.0.15", cells());
    let valkey = || on("valkey", "9.1.2", cells());
    let mut mixed = valkey();
    mixed.matrix.cells[1].redis = redis().matrix.cells[1].redis.clone();
    let mut nowhere = valkey();
    nowhere
        .matrix
        .cells
        .iter_mut()
        .for_each(|cell| cell.redis = None);
    let mut twice = valkey();
    twice.matrix.cells.push(twice.matrix.cells[0].clone());
    let mut seeded = valkey();
    seeded.matrix.seed = 2;
    let mut strange = valkey();
    for cell in &mut strange.matrix.cells {
        cell.lock.name = format!("my-{}", cell.lock.name);
    }
    let refusals = [
        refusal(vec![redis()]),
        refusal(vec![redis(), mixed]),
        refusal(vec![redis(), nowhere]),
        refusal(vec![redis(), valkey(), redis()]),
        refusal(vec![redis(), twice]),
        refusal(vec![redis(), seeded]),
        refusal(vec![redis(), strange]),
    ];
    let words: Vec<String> = refusals.iter().map(Refusal::to_string).collect();
    insta::assert_snapshot!(words.join("\n"), @"
    there is only one matrix: name two or more, each from a different server
    m2: it ran on more than one server: valkey 9.1.2, redis 7.0.15. Run a matrix for each, with `picklock matrix --server NAME`
    m2: none of its cells names the server on which it ran
    m1 and m3: both ran on redis 7.0.15
    m2: it has the cell set-nx-px × calm × sim twice
    m1 and m2: their seeds differ. Run both with the same `--seed` and `--seeds`
    the matrices have no cell in common: run the same locks and scenarios in the same backend on each server
    ");
}
