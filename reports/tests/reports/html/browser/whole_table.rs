//! The whole truth table on one page, as `picklock matrix --out R && picklock report R` writes it: its size,
//! and how it is read, filtered and printed.

use std::path::PathBuf;

use picklock_harness::sim::{LockFactory, Simulation, run};
use picklock_harness::spec::RunSpec;
use picklock_impls::{LOCKS, find};
use picklock_reports::command_log::{self, CommandLog};
use picklock_reports::html::page;
use picklock_reports::report_input::ReportInput;
use picklock_scenarios::{BackendName, LockKind, catalog};
use picklock_verdicts::record::SkippedCell;

use super::super::runs;
use super::looks::{assert_no_overflow, click, length, place, save_picture, text, window, written};
use super::{Sheet, accessibility};

/// Path of an existing report that the test opens instead of creating one: `PICKLOCK_REPORT=/…/report.html
/// cargo test -p picklock-reports whole_table`
const GIVEN: &str = "PICKLOCK_REPORT";

/// Maximum size of the page in bytes.
const MAX_BYTES: u64 = 2_000_000;

/// Maximum number of elements before anything is expanded.
const MAX_ELEMENTS: f64 = 10_000.0;

/// Returns every lock under every scenario that can be simulated, and the cells that cannot.
fn whole_table() -> ReportInput {
    let mut material = runs::nothing(1);
    for scenario in catalog::names() {
        let known = catalog::named(scenario).expect("a scenario of the catalog");
        // A matrix of locks with one holder has no scenarios for other kinds.
        if known.workload.kind.lock_kind() != LockKind::Mutex {
            continue;
        }
        for lock in LOCKS {
            let lacking = known.topology.lacks_nodes(lock.nodes);
            let elsewhere = || "needs what only these backends have: process".to_owned();
            let lacking = lacking.or_else(|| (!known.runs_in(BackendName::Sim)).then(elsewhere));
            if let Some(reason) = lacking {
                material.matrix.skipped.push(SkippedCell {
                    lock: lock.name.into(),
                    scenario: scenario.into(),
                    backend: BackendName::Sim,
                    reason,
                    family: Some(known.family()),
                });
                continue;
            }
            let (cell, evidence) = runs::cell(lock.name, scenario, 1);
            material.matrix.cells.push(cell);
            material.evidence.extend(evidence.map(|mut evidence| {
                evidence.command_log = Some(proxy(lock.name, scenario));
                evidence
            }));
        }
    }
    material
}

/// Returns the command log of the first run of a cell.
fn proxy(lock: &str, scenario: &str) -> CommandLog {
    let lock = LockFactory::built_in(find(lock).expect("a built-in lock"));
    let scenario = catalog::named(scenario).expect("a scenario of the catalog");
    let spec = RunSpec::simulated(lock.spec().clone(), scenario, 1).resolved();
    let simulated = run(Simulation {
        spec: spec.expect("the scenario fits the lock"),
        lock,
        logs_commands: true,
    });
    let log = simulated
        .expect("it runs")
        .command_log
        .expect("it was asked for");
    let mut text = Vec::new();
    log.write(&mut text).expect("memory takes all");
    command_log::read(&String::from_utf8(text).expect("a log is text")).expect("our own log")
}

fn file() -> PathBuf {
    match std::env::var_os(GIVEN) {
        Some(given) => PathBuf::from(given),
        None => written("whole-table.html", &page(&whole_table()).unwrap()),
    }
}

#[test]
fn whole_table_is_small_readable_and_navigable() {
    let file = file();
    assert_small(&file);
    let sheet = Sheet::open(&file, 1400, 900);
    sheet.prefer("light");
    assert_no_overflow(&sheet);
    assert_layout(&sheet);
    save_picture("scorecard-light.png", &sheet.picture());
    assert_keyboard_filters(&sheet);
    assert_headers_stay_visible(&sheet);
    save_picture("report-whole-light.png", &sheet.picture());
    assert_eq!(accessibility::faults(&sheet), Vec::<String>::new());
    assert_evidence_opens(&sheet);
    assert_eq!(accessibility::faults(&sheet), Vec::<String>::new());
    std::fs::write(place("evidence-light.png"), sheet.picture()).unwrap();
    sheet.prefer("dark");
    std::fs::write(place("evidence-dark.png"), sheet.picture()).unwrap();
    assert_eq!(accessibility::faults(&sheet), Vec::<String>::new());
    assert_fits_other_windows(&sheet);
    assert_eq!(sheet.complaints(), Vec::<String>::new());
    let sheet = Sheet::open(&file, 1400, 900);
    assert_prints_on_ten_pages(&sheet);
}

/// Checks the size and the number of elements. The time until the page is usable is only recorded, because it
/// depends on the machine.
fn assert_small(file: &std::path::Path) {
    let bytes = std::fs::metadata(file).expect("the page is there").len();
    let sheet = Sheet::open(file, 1400, 900);
    let elements = sheet.number("document.querySelectorAll('*').length");
    let ready = sheet.number("Number(document.documentElement.dataset.ready)");
    let found = format!("{bytes} bytes, {elements} elements, ready after {ready:.0} ms");
    std::fs::write(place("whole-table.txt"), &found).expect("the file can be written");
    assert!(bytes < MAX_BYTES, "{found}");
    assert!(elements < MAX_ELEMENTS, "{found}");
    assert!(ready > 0.0, "{found}");
}

fn assert_layout(sheet: &Sheet) {
    let tiles = sheet.number("document.querySelectorAll('a.tile').length");
    assert!(tiles >= 500.0, "{tiles} cells");
    let order = "['#scorecard', '.whose', 'table.matrix', '#evidence'].map(it =>
        document.querySelector(it).getBoundingClientRect().top)";
    let sorted =
        format!("(tops => String(tops.every((top, i) => !i || tops[i - 1] < top)))({order})");
    assert_eq!(sheet.value(&sorted), "true");
    // All thirteen columns fit into the window.
    let right = "[...document.querySelector('table.matrix').tHead.rows[0].cells].at(-1)
        .getBoundingClientRect().right";
    assert!(sheet.number(right) <= 1400.0, "{}", sheet.number(right));
    let has_reason = "document.querySelector('.inapplicable').textContent.includes('needs 5 Redis nodes; this lock uses 1')";
    assert_eq!(sheet.value(has_reason), true);
}

fn shown(sheet: &Sheet) -> f64 {
    sheet.number(
        "[...document.querySelectorAll('a.tile')].filter(it => it.checkVisibility()
        && !it.closest('.other')).length",
    )
}

fn assert_keyboard_filters(sheet: &Sheet) {
    let all = shown(sheet);
    sheet.press("/");
    for key in ["f", "e", "n", "c", "e", "d"] {
        sheet.press(key);
    }
    sheet.settle();
    let fenced = shown(sheet);
    assert!(fenced > 0.0 && fenced < all / 5.0, "{fenced} of {all}");
    let status = sheet.value("document.getElementById('filter-status').textContent");
    assert!(
        status
            .as_str()
            .is_some_and(|status| status.ends_with(" cells")),
        "{status}"
    );
    sheet.press("Escape");
    sheet.settle();
    assert_eq!(shown(sheet), all);
    choose(sheet, "verdict", "fenced");
    let fenced_tiles = sheet.number("document.querySelectorAll('a.tone-fenced').length");
    assert_eq!(shown(sheet), fenced_tiles);
    choose(sheet, "verdict", "");
    // A family can be collapsed and expanded.
    sheet.click(".family button");
    sheet.settle();
    assert!(shown(sheet) < all);
    sheet.press("Enter");
    sheet.settle();
    assert_eq!(shown(sheet), all);
}

fn choose(sheet: &Sheet, name: &str, value: &str) {
    sheet.value(&format!(
        "(it => {{ it.value = '{value}'; it.dispatchEvent(new Event('input')); }})(document.getElementById('filter-{name}'))"
    ));
    sheet.settle();
}

fn assert_headers_stay_visible(sheet: &Sheet) {
    sheet.value("document.querySelector('.box').scrollIntoView({ block: 'end' })");
    sheet.value("document.querySelector('.box').scrollTo(0, 600)");
    sheet.settle();
    let head = "document.querySelector('table.matrix thead th').getBoundingClientRect().top
        - document.querySelector('.box').getBoundingClientRect().top";
    let off = sheet.number(head);
    assert!((0.0..4.0).contains(&off), "the head is {off} pixels away");
}

fn assert_evidence_opens(sheet: &Sheet) {
    let wanted = "(tiles => tiles.find(tile => {
        const head = tile.closest('table').tHead.rows[0].cells[tile.closest('td').cellIndex];
        return head.textContent === 'set-nx-px' && tile.closest('tr').cells[0].textContent === 'gc-pause';
    }).hash)([...document.querySelectorAll('a.tile')])";
    let hash = sheet.value(wanted);
    let hash = hash.as_str().expect("the cell is there");
    sheet.click(&format!("a.tile[href='{hash}']"));
    sheet.until(&format!(
        "document.querySelector('{hash}.cell-details[open] .timeline[data-ready]') !== null"
    ));
    assert!(text(sheet, ".command").contains("scenario gc-pause --impl set-nx-px "));
    assert!(text(sheet, ".story").contains("client"));
    let whole = window(sheet);
    click(sheet, "[data-do='in']");
    let closer = window(sheet);
    assert!(
        length(closer) < length(whole) * 0.6,
        "{closer:?} of {whole:?}"
    );
}

fn assert_fits_other_windows(sheet: &Sheet) {
    for (width, height) in [(768, 1024), (390, 844)] {
        for scheme in ["light", "dark"] {
            sheet.prefer(scheme);
            sheet.size(width, height);
            sheet.settle();
            assert_eq!(sheet.value("document.getElementById('tip').hidden"), true);
            for (part, selector) in [
                ("scorecard", "#scorecard"),
                ("matrix", "#matrix .box"),
                ("evidence", ".cell-details"),
            ] {
                sheet.value(&format!(
                    "document.querySelector('{selector}').scrollIntoView()"
                ));
                sheet.settle();
                assert_no_overflow(sheet);
                let name = format!("{part}-{width}-{scheme}.png");
                std::fs::write(place(&name), sheet.picture()).expect("the file can be written");
            }
        }
    }
}

/// Checks that nothing is cut off, and that the page needs at most ten sheets.
fn assert_prints_on_ten_pages(sheet: &Sheet) {
    let paper = sheet.print();
    std::fs::write(place("whole-table.pdf"), &paper).expect("the file can be written");
    let text = String::from_utf8_lossy(&paper);
    let pages = text.matches("/Type /Page\n").count();
    assert!((1..=10).contains(&pages), "{pages} pages");
    // The width of an A4 page in landscape format, without margins.
    sheet.on_paper(979, 700);
    let cut = "[...document.querySelectorAll('main *')].filter(it => it.checkVisibility()
        && getComputedStyle(it).overflowX !== 'visible' && it.scrollWidth > it.clientWidth + 1).length
        + Math.max(0, document.documentElement.scrollWidth - innerWidth)";
    assert_eq!(sheet.number(cut), 0.0);
}
