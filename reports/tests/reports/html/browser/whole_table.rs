//! The whole truth table on one page, as `picklock matrix --out R && picklock report R` leaves it.

use std::path::PathBuf;

use picklock_impls::LOCKS;
use picklock_reports::html::page;
use picklock_reports::report_input::ReportInput;
use picklock_scenarios::{BackendName, catalog};

use super::super::runs;
use super::Sheet;
use super::looks::{assert_no_overflow, click, length, text, window, written};

/// The page of a report that is there already, to be walked through instead of one that is made
/// here: `PICKLOCK_REPORT=/…/report.html cargo test -p picklock-reports whole_table`
const GIVEN: &str = "PICKLOCK_REPORT";

/// Every lock under every scenario that can be simulated.
fn whole_table() -> ReportInput {
    let mut material = runs::nothing(1);
    for scenario in catalog::names() {
        let known = catalog::named(scenario).expect("a scenario of the catalog");
        let least = known.topology.min_nodes.unwrap_or(0);
        for strategy in LOCKS.iter().filter(|one| one.nodes >= least) {
            if known.runs_in(BackendName::Sim) {
                let (cell, evidence) = runs::cell(strategy.name, scenario, 1);
                material.matrix.cells.push(cell);
                material.evidence.extend(evidence);
            }
        }
    }
    material
}

#[test]
fn the_whole_table_leads_to_its_evidence() {
    let file = match std::env::var_os(GIVEN) {
        Some(given) => PathBuf::from(given),
        None => written("whole-table.html", &page(&whole_table()).unwrap()),
    };
    let sheet = Sheet::open(&file, 1280, 900);
    assert_no_overflow(&sheet);
    let tiles = sheet.number("document.querySelectorAll('a.tile').length");
    assert!(tiles >= 250.0, "{tiles} cells");
    let astray = "[...document.querySelectorAll('a.tile')]
        .filter(tile => !document.querySelector('.exhibit' + tile.getAttribute('href'))).length";
    assert_eq!(sheet.number(astray), 0.0);

    let wanted = "[...document.querySelectorAll('.exhibit')]
        .find(one => one.textContent.includes('scenario gc-pause --impl set-nx-px ')).id";
    let id = sheet.value(wanted);
    let id = id.as_str().expect("the cell has evidence");
    sheet.click(&format!("a.tile[href='#{id}']"));
    sheet.settle();
    assert!(text(&sheet, ".story").contains("worker"));
    let whole = window(&sheet);
    click(&sheet, "[data-do='in']");
    let closer = window(&sheet);
    assert!(
        length(closer) < length(whole) * 0.6,
        "{closer:?} of {whole:?}"
    );
    assert_eq!(sheet.complaints(), Vec::<String>::new());
}
