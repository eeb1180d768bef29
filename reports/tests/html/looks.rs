//! A browser opens the page: a reader's way through it, and how it looks.

use std::path::PathBuf;

use picklock_reports::html::page;

use crate::browser::Sheet;
use crate::{histories, runs};

const SUBJECTS: [&str; 4] = ["setnx-expire", "getset", "set-nx-px", "redlock"];
const SCENARIOS: [&str; 5] = [
    "calm",
    "gc-pause",
    "holder-crash",
    "master-failover",
    "network-delay",
];

/// Where pages and pictures are left for whoever wants to look at them.
fn place(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn written(name: &str, text: &str) -> PathBuf {
    let path = place(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// Pictures go beside the page; with `PICKLOCK_PICTURES` set, into that folder as well.
fn keep(name: &str, picture: &[u8]) {
    assert!(picture.len() < 300_000, "{name}: {} bytes", picture.len());
    std::fs::write(place(name), picture).unwrap();
    if let Some(folder) = std::env::var_os("PICKLOCK_PICTURES") {
        std::fs::write(PathBuf::from(folder).join(name), picture).unwrap();
    }
}

/// The window of time of the timeline that is open.
fn window(sheet: &Sheet) -> (f64, f64) {
    let edge = |name: &str| {
        let of = "document.querySelector('.exhibit[open] .timeline').dataset";
        sheet.number(&format!("Number({of}.{name})"))
    };
    (edge("from"), edge("to"))
}

fn length((from, to): (f64, f64)) -> f64 {
    to - from
}

/// Nothing may be wider than the window, which would move the whole page sideways.
fn assert_no_overflow(sheet: &Sheet) {
    let wide = sheet.number("document.documentElement.scrollWidth - innerWidth");
    assert!(wide <= 0.0, "{wide} pixels too wide");
}

#[test]
fn a_reader_finds_the_evidence_and_the_violation_in_the_timeline() {
    let matrix = runs::matrix(&SUBJECTS, &SCENARIOS, 3);
    let file = written("matrix.html", &page(&matrix).unwrap());
    let sheet = Sheet::open(&file, 1280, 900);
    sheet.prefer("light");
    assert_no_overflow(&sheet);
    keep("report-matrix-light.png", &sheet.picture());

    // From the cell to its evidence.
    let cells = &matrix.matrix.cells;
    let index = cells
        .iter()
        .position(|cell| cell.subject.name == "set-nx-px" && cell.scenario == "gc-pause")
        .unwrap();
    let tile = format!("a.tile[href='#cell-{index}']");
    assert_eq!(
        sheet.value("document.querySelectorAll('.exhibit[open]').length"),
        0
    );
    sheet.tab.find_element(&tile).unwrap().click().unwrap();
    sheet.settle();
    let open = format!("document.getElementById('cell-{index}').open");
    assert_eq!(sheet.value(&open), true);
    let story = sheet.value("document.querySelector('.exhibit[open] .story').innerText");
    assert!(story.as_str().unwrap().contains("worker"), "{story}");

    // Into the timeline: buttons, keys, wheel.
    let canvas = ".exhibit[open] canvas";
    sheet.tab.find_element(canvas).unwrap().click().unwrap();
    sheet.settle();
    let whole = window(&sheet);
    sheet
        .tab
        .find_element(".exhibit[open] [data-do='in']")
        .unwrap()
        .click()
        .unwrap();
    sheet.settle();
    let closer = window(&sheet);
    assert!(
        length(closer) < length(whole) * 0.6,
        "{closer:?} of {whole:?}"
    );
    sheet.tab.find_element(canvas).unwrap().focus().unwrap();
    sheet.tab.press_key("+").unwrap();
    sheet.settle();
    let closest = window(&sheet);
    assert!(
        length(closest) < length(closer) * 0.6,
        "{closest:?} of {closer:?}"
    );
    sheet.tab.press_key("ArrowRight").unwrap();
    sheet.settle();
    assert!(window(&sheet).0 > closest.0, "the arrow pans");
    sheet.tab.press_key("0").unwrap();
    sheet.settle();
    let middle = |of: &str| {
        sheet.number(&format!(
            "(() => {{ const box = document.querySelector('{canvas}').getBoundingClientRect(); return {of}; }})()"
        ))
    };
    sheet.wheel(
        middle("box.left + box.width / 2"),
        middle("box.top + 60"),
        -240.0,
    );
    assert!(
        length(window(&sheet)) < length(whole) * 0.9,
        "the wheel zooms"
    );

    // To the violation.
    sheet.tab.find_element(canvas).unwrap().focus().unwrap();
    sheet.tab.press_key("n").unwrap();
    sheet.settle();
    let said = sheet.value("document.querySelector('.exhibit[open] .sight').textContent");
    assert!(
        said.as_str()
            .unwrap()
            .contains("exclusion violated: outlived-lease"),
        "{said}"
    );
    let evidence = matrix
        .evidence
        .iter()
        .find(|e| e.run_dir.contains("set-nx-px/gc-pause"));
    let verdicts = &evidence.unwrap().record.verdicts;
    let at_ns = verdicts[&picklock_harness::check::Property::Exclusion]
        .at_ns
        .unwrap() as f64;
    let shown = window(&sheet);
    assert!(shown.0 < at_ns && at_ns < shown.1, "{at_ns} in {shown:?}");
    // Along the lane with the keyboard: what stands there is said.
    sheet.tab.press_key("ArrowDown").unwrap();
    sheet.tab.press_key(".").unwrap();
    sheet.settle();
    let words = sheet.value("document.querySelector('.exhibit[open] .said').textContent");
    assert!(words.as_str().unwrap().len() > 5, "{words}");
    sheet.tab.press_key("Escape").unwrap();
    sheet.value(
        "document.querySelector('.exhibit[open] .timeline').scrollIntoView({block: 'center'})",
    );
    keep("report-timeline-light.png", &sheet.picture());
    sheet.prefer("dark");
    keep("report-timeline-dark.png", &sheet.picture());
    sheet.value("scrollTo(0, 0)");
    keep("report-matrix-dark.png", &sheet.picture());
    assert_eq!(sheet.complaints(), Vec::<String>::new());
}

#[test]
fn the_page_fits_a_telephone_and_paper() {
    let matrix = runs::matrix(&SUBJECTS, &["calm", "gc-pause"], 1);
    let file = written("narrow.html", &page(&matrix).unwrap());
    let sheet = Sheet::open(&file, 390, 844);
    sheet.prefer("light");
    assert_no_overflow(&sheet);
    keep("report-narrow.png", &sheet.picture());
    sheet.value(
        "document.querySelectorAll('.exhibit').forEach(exhibit => { exhibit.open = true; })",
    );
    sheet.settle();
    assert_no_overflow(&sheet);
    sheet.value("document.querySelectorAll('.exhibit')[6].scrollIntoView()");
    std::fs::write(place("narrow-evidence.png"), sheet.picture()).unwrap();
    sheet.value("document.querySelectorAll('.timeline')[6].scrollIntoView()");
    std::fs::write(place("narrow-timeline.png"), sheet.picture()).unwrap();
    let paper = sheet.print();
    assert!(paper.starts_with(b"%PDF"));
    std::fs::write(place("page.pdf"), paper).unwrap();
    assert_eq!(sheet.complaints(), Vec::<String>::new());
}

#[test]
fn the_theme_can_be_chosen_against_the_system() {
    let file = written(
        "one.html",
        &page(&runs::matrix(&["redlock"], &["calm"], 1)).unwrap(),
    );
    let sheet = Sheet::open(&file, 800, 600);
    sheet.prefer("light");
    let paper = || sheet.value("getComputedStyle(document.body).backgroundColor");
    let light = paper();
    sheet.tab.find_element("#theme").unwrap().click().unwrap();
    sheet.settle();
    let dark = paper();
    assert_ne!(light, dark);
    sheet.tab.find_element("#theme").unwrap().click().unwrap();
    sheet.settle();
    assert_eq!(paper(), light);
    // The only cell is open from the beginning.
    assert_eq!(
        sheet.value("document.querySelectorAll('.exhibit[open] .timeline[data-ready]').length"),
        1
    );
    assert_eq!(sheet.complaints(), Vec::<String>::new());
}

/// A hundred thousand holds are drawn, and drawn again at every zoom, without a complaint.
#[test]
fn a_long_history_can_be_walked_through() {
    let history = histories::long(100_000);
    let verdicts = picklock_harness::check::judge(&history);
    let record = runs::record(&history, verdicts, "Long.");
    let mut material = runs::nothing(1);
    material.matrix.cells = vec![runs::of_record(&record, "long", Default::default())];
    material.evidence = vec![picklock_reports::material::Evidence {
        run_dir: "long".into(),
        record,
        history: Some(history),
    }];
    let file = written("long.html", &page(&material).unwrap());
    let sheet = Sheet::open(&file, 1280, 900);
    sheet.prefer("light");
    sheet.value("document.querySelector('.timeline').scrollIntoView()");
    std::fs::write(place("long-whole.png"), sheet.picture()).unwrap();
    let whole = window(&sheet);
    sheet.tab.find_element("canvas").unwrap().focus().unwrap();
    for _ in 0..100 {
        sheet.tab.press_key("n").unwrap();
    }
    sheet.settle();
    let said = sheet.value("document.querySelector('.sight').textContent");
    assert!(said.as_str().unwrap().starts_with("100 of 100:"), "{said}");
    assert!(length(window(&sheet)) < length(whole) / 50.0);
    std::fs::write(place("long-close.png"), sheet.picture()).unwrap();
    assert_eq!(sheet.complaints(), Vec::<String>::new());
}

/// The ears work: what a bad page does is heard.
#[test]
fn a_page_that_calls_home_is_caught() {
    let page = page(&runs::nothing(1)).unwrap();
    let spy = "<img src=\"http://127.0.0.1:9/spy.png\" alt=\"\"><script>console.error('oh'); fetch('http://127.0.0.1:9/').catch(() => 0); missing();</script></body>";
    let file = written("bad.html", &page.replace("</body>", spy));
    let sheet = Sheet::open(&file, 800, 600);
    let complaints = sheet.complaints().join("\n");
    for heard in ["Content Security Policy", "oh", "missing is not defined"] {
        assert!(complaints.contains(heard), "{heard}: {complaints}");
    }
    // Without the policy the request itself shows.
    let open = page
        .replace("default-src 'none'; ", "")
        .replace("img-src data:", "img-src *");
    let file = written("open.html", &open.replace("</body>", spy));
    let sheet = Sheet::open(&file, 800, 600);
    let complaints = sheet.complaints().join("\n");
    assert!(
        complaints.contains("network request: http://127.0.0.1:9/spy.png"),
        "{complaints}"
    );
}
