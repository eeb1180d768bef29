//! A browser opens the page: navigation by a reader, and pictures of it.

use std::path::PathBuf;

use picklock_reports::command_log::{CommandLog, Message};
use picklock_reports::html::page;
use picklock_scenarios::{Direction, Phase};
use picklock_verdicts::check::Property;
use picklock_verdicts::history::EventKind;

use super::super::{histories, runs};
use super::Sheet;

const LOCKS: [&str; 4] = ["setnx-expire", "set-nx-px", "fenced", "redlock"];
const SCENARIOS: [&str; 5] = [
    "calm",
    "gc-pause",
    "stale-delete",
    "master-failover",
    "crash-mid-acquire",
];

/// Returns the path where a page or a picture is saved for inspection.
pub fn place(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

pub fn written(name: &str, text: &str) -> PathBuf {
    let path = place(name);
    std::fs::write(&path, text).expect("the file can be written");
    path
}

/// Saves a picture next to the page, for inspection.
pub fn save_picture(name: &str, picture: &[u8]) {
    assert!(picture.len() < 300_000, "{name}: {} bytes", picture.len());
    std::fs::write(place(name), picture).expect("the file can be written");
}

/// Returns the visible time window of the expanded timeline.
pub fn window(sheet: &Sheet) -> (f64, f64) {
    let edge = |name: &str| {
        let dataset = "document.querySelector('.cell-details[open] .timeline').dataset";
        sheet.number(&format!("Number({dataset}.{name})"))
    };
    (edge("from"), edge("to"))
}

pub fn length((from, to): (f64, f64)) -> f64 {
    to - from
}

/// Checks that nothing is wider than the page, that no name of the matrix runs under its neighbour, and that no option
/// of a command is broken at its hyphens.
pub fn assert_no_overflow(sheet: &Sheet) {
    let wide = sheet.number("document.documentElement.scrollWidth - innerWidth");
    assert!(wide <= 0.0, "{wide} pixels too wide");
    let names = "document.querySelectorAll('.matrix tbody th[data-about]')";
    let covered = "it => it.offsetParent !== null && it.scrollWidth > it.clientWidth";
    let words = "document.querySelectorAll('.words > span, code')";
    let broken = "it => /^--[a-z-]+$/.test(it.textContent) && it.offsetHeight > 2 * parseFloat(getComputedStyle(it).fontSize)";
    for (elements, is_bad) in [(names, covered), (words, broken)] {
        let bad = sheet.value(&format!(
            "Array.from({elements}).filter({is_bad}).map(it => it.textContent).join(', ')"
        ));
        assert_eq!(bad.as_str(), Some(""));
    }
}

/// Clicks the element that a selector finds within the expanded cell.
pub fn click(sheet: &Sheet, selector: &str) {
    let selector = format!(".cell-details[open] {selector}");
    sheet.click(&selector);
    sheet.settle();
}

fn press(sheet: &Sheet, key: &str) {
    sheet.press(key);
    sheet.settle();
}

/// Returns the text of the element that a selector finds within the expanded cell.
pub fn text(sheet: &Sheet, selector: &str) -> String {
    let text = sheet.value(&format!(
        "document.querySelector('.cell-details[open] {selector}').textContent"
    ));
    text.as_str().expect("a text").to_owned()
}

#[test]
fn reader_can_navigate_from_cell_to_violation() {
    let matrix = runs::matrix(&LOCKS, &SCENARIOS, 3);
    let file = written("matrix.html", &page(&matrix).unwrap());
    let sheet = Sheet::open(&file, 1280, 900);
    sheet.prefer("light");
    assert_no_overflow(&sheet);
    sheet.value("document.getElementById('matrix').scrollIntoView()");
    save_picture("report-matrix-light.png", &sheet.picture());

    let cells = &matrix.matrix.cells;
    let index = cells
        .iter()
        .position(|cell| cell.lock.name == "set-nx-px" && cell.scenario == "gc-pause")
        .unwrap();
    from_the_cell_to_its_evidence(&sheet, index);
    zoom_and_pan(&sheet);

    let exclusion = &cells[index].verdicts[&Property::Exclusion];
    jump_to_the_violation(&sheet, exclusion.at_ns.unwrap() as f64);
    press(&sheet, "Escape");
    sheet.value(
        "document.querySelector('.cell-details[open] .timeline').scrollIntoView({block: 'center'})",
    );
    save_picture("report-timeline-light.png", &sheet.picture());
    sheet.prefer("dark");
    save_picture("report-timeline-dark.png", &sheet.picture());
    sheet.value("document.getElementById('matrix').scrollIntoView()");
    save_picture("report-matrix-dark.png", &sheet.picture());
    assert_eq!(sheet.complaints(), Vec::<String>::new());
}

fn from_the_cell_to_its_evidence(sheet: &Sheet, index: usize) {
    let opened = || sheet.number("document.querySelectorAll('.cell-details[open]').length");
    assert_eq!(opened(), 0.0);
    let tile = format!("a.tile[data-index='{index}']");
    sheet.click(&tile);
    sheet.until(&format!(
        "document.querySelector('.cell-details[data-index=\"{index}\"]')"
    ));
    assert_eq!(opened(), 1.0);
    let seen = format!(
        "document.querySelector('.cell-details[data-index=\"{index}\"]').getBoundingClientRect().top < innerHeight"
    );
    assert_eq!(sheet.value(&seen), true);
    assert!(text(sheet, ".story").contains("client"));
    assert!(text(sheet, ".command").contains("picklock scenario gc-pause"));
    // The same with the keyboard.
    sheet.value(&format!(
        "document.querySelector('.cell-details[data-index=\"{index}\"]').open = false"
    ));
    assert_eq!(opened(), 0.0);
    sheet.focus(&tile);
    press(sheet, "Enter");
    assert_eq!(opened(), 1.0);
}

/// Zooms and pans with buttons, keys and the wheel.
fn zoom_and_pan(sheet: &Sheet) {
    click(sheet, "canvas");
    press(sheet, "0");
    let whole = window(sheet);
    click(sheet, "[data-do='in']");
    let closer = window(sheet);
    assert!(
        length(closer) < length(whole) * 0.6,
        "{closer:?} of {whole:?}"
    );
    let canvas = ".cell-details[open] canvas";
    sheet.focus(canvas);
    press(sheet, "+");
    let closest = window(sheet);
    assert!(
        length(closest) < length(closer) * 0.6,
        "{closest:?} of {closer:?}"
    );
    press(sheet, "ArrowRight");
    assert!(window(sheet).0 > closest.0, "the arrow pans");
    press(sheet, "0");
    assert_eq!(window(sheet), whole);
    let place = |expression: &str| {
        let canvas = format!("document.querySelector('{canvas}').getBoundingClientRect()");
        sheet.number(&format!("(box => {expression})({canvas})"))
    };
    let (x, y) = (place("box.left + box.width / 2"), place("box.top + 60"));
    sheet.wheel(x, y, -240.0);
    assert!(
        length(window(sheet)) < length(whole) * 0.9,
        "the wheel zooms"
    );
}

fn jump_to_the_violation(sheet: &Sheet, at_ns: f64) {
    let canvas = ".cell-details[open] canvas";
    sheet.focus(canvas);
    press(sheet, "n");
    let status = text(sheet, ".jump-status");
    assert!(
        status.contains("exclusion violated: outlived-lease"),
        "{status}"
    );
    let shown = window(sheet);
    assert!(shown.0 < at_ns && at_ns < shown.1, "{at_ns} in {shown:?}");
    // Move down to the lane of the second holder and along it. The page announces each item.
    let mut announced = String::new();
    for _ in 0..8 {
        press(sheet, "ArrowDown");
        announced = text(sheet, ".announcement");
        if announced.starts_with("client 1") {
            break;
        }
    }
    assert!(announced.contains("client 1, holds"), "{announced}");
    assert!(announced.contains("token "), "{announced}");
    press(sheet, ".");
    let next = text(sheet, ".announcement");
    assert!(next.starts_with("client 1"), "{next}");
    assert!(next.contains("releases"), "{next}");
}

#[test]
fn page_fits_a_phone_and_paper() {
    let matrix = runs::matrix(&LOCKS, &["calm", "gc-pause"], 1);
    let file = written("narrow.html", &page(&matrix).unwrap());
    let sheet = Sheet::open(&file, 390, 844);
    sheet.prefer("light");
    assert_no_overflow(&sheet);
    save_picture("report-narrow.png", &sheet.picture());
    for index in 0..matrix.matrix.cells.len() {
        sheet.value(&format!(
            "location.hash = document.querySelector('a[data-index=\"{index}\"]').hash"
        ));
        sheet.until(&format!(
            "document.querySelector('.cell-details[data-index=\"{index}\"]')"
        ));
    }
    assert_no_overflow(&sheet);
    sheet.value("document.querySelectorAll('.cell-details')[6].scrollIntoView()");
    std::fs::write(place("narrow-evidence.png"), sheet.picture()).expect("the file can be written");
    sheet.value("document.querySelectorAll('.timeline')[6].scrollIntoView()");
    std::fs::write(place("narrow-timeline.png"), sheet.picture()).expect("the file can be written");
    sheet.on_paper(760, 1100);
    std::fs::write(place("paper.png"), sheet.picture()).expect("the file can be written");
    let paper = sheet.print();
    assert!(paper.starts_with(b"%PDF"));
    std::fs::write(place("page.pdf"), paper).expect("the file can be written");
    assert_eq!(sheet.complaints(), Vec::<String>::new());
}

#[test]
fn theme_overrides_the_system() {
    let file = written(
        "one.html",
        &page(&runs::matrix(&["redlock"], &["calm"], 1)).unwrap(),
    );
    let sheet = Sheet::open(&file, 800, 600);
    sheet.prefer("light");
    let paper = || sheet.value("getComputedStyle(document.body).backgroundColor");
    let light = paper();
    sheet.click("#theme");
    sheet.settle();
    let dark = paper();
    assert_ne!(light, dark);
    sheet.click("#theme");
    sheet.settle();
    assert_eq!(paper(), light);
    // The only cell is expanded from the start.
    assert_eq!(
        sheet
            .value("document.querySelectorAll('.cell-details[open] .timeline[data-ready]').length"),
        1
    );
    assert_eq!(sheet.complaints(), Vec::<String>::new());
}

/// A hundred thousand holds are drawn at every zoom level without a complaint.
#[test]
fn long_history_can_be_navigated() {
    let history = histories::long(100_000);
    let verdicts = picklock_verdicts::check::judge(&history);
    let record = runs::record(&history, verdicts, "Long.");
    let mut material = runs::nothing(1);
    material.matrix.cells = vec![runs::from_record(&record, "long", Default::default())];
    material.evidence = vec![picklock_reports::report_input::Evidence {
        run_dir: "long".into(),
        record,
        history: Some(history),
        command_log: None,
        has_repro: false,
    }];
    let file = written("long.html", &page(&material).unwrap());
    let sheet = Sheet::open(&file, 1280, 900);
    sheet.prefer("light");
    sheet.value("document.querySelector('.timeline').scrollIntoView()");
    std::fs::write(place("long-whole.png"), sheet.picture()).expect("the file can be written");
    sheet.focus("canvas");
    press(&sheet, "0");
    let whole = window(&sheet);
    let overlaps =
        picklock_verdicts::check::judge(&histories::long(100_000))[&Property::Exclusion].violations;
    for _ in 0..overlaps {
        sheet.press("n");
    }
    sheet.settle();
    let status = sheet.value("document.querySelector('.jump-status').textContent");
    let last = format!("{overlaps} of {overlaps}:");
    assert!(
        status.as_str().expect("a text").starts_with(&last),
        "{overlaps} overlaps, but {status}"
    );
    assert!(length(window(&sheet)) < length(whole) / 50.0);
    std::fs::write(place("long-close.png"), sheet.picture()).expect("the file can be written");
    assert_eq!(sheet.complaints(), Vec::<String>::new());
}

/// Commands are listed with their hold, and drawn as arrows on request.
#[test]
fn hold_lists_its_commands_and_arrows_are_optional() {
    let mut material = runs::matrix(&["set-nx-px"], &["gc-pause"], 1);
    let history = material.evidence[0].history.as_ref().expect("a history");
    let mut messages = Vec::new();
    for event in &history.events {
        let EventKind::Acquire { worker, op, .. } = event.what else {
            continue;
        };
        for (direction, later_ns) in [(Direction::Request, 0), (Direction::Reply, 300_000)] {
            messages.push(Message {
                at_ns: event.at_ns + later_ns,
                sent_ns: Some(event.at_ns + later_ns + 100_000),
                worker,
                node: 0,
                direction,
                op,
                phase: Phase::Acquire,
                outcome: "delayed".into(),
                preview: "SET k </script><b> NX".into(),
            });
        }
    }
    let count = messages.len();
    material.evidence[0].command_log = Some(CommandLog {
        messages,
        omitted: 0,
    });
    let page = page(&material).unwrap();
    assert!(page.contains("Commands per acquisition: 1.0 on average"));
    let sheet = Sheet::open(&written("messages.html", &page), 1280, 900);
    sheet.focus("canvas");
    let press = |key| {
        sheet.press(key);
        sheet.settle();
    };
    press("0");
    press(".");
    press(".");
    let announced = sheet.value("document.querySelector('.announcement').textContent");
    let announced = announced.as_str().expect("a text");
    assert!(
        announced.contains("acquire: 1 command") && announced.contains("→ SET k"),
        "{announced}"
    );
    press("m");
    let many = || sheet.value("document.querySelector('.many').textContent");
    assert_eq!(many(), format!("{count} messages"));
    std::fs::write(place("messages.png"), sheet.picture()).expect("the file can be written");
    press("m");
    assert_eq!(many(), "");
    assert_eq!(sheet.complaints(), Vec::<String>::new());
}

/// A row of the log shows its time in the timeline, and a click on the timeline shows the row.
#[test]
fn log_and_timeline_are_linked() {
    let page = page(&runs::matrix(&["set-nx-px"], &["gc-pause"], 1)).unwrap();
    let sheet = Sheet::open(&written("log.html", &page), 1280, 900);
    sheet.value("document.querySelector('.log-part').open = true");
    sheet.focus("canvas");
    press(&sheet, "0");
    let rows = sheet.number("document.querySelectorAll('.log tr').length");
    assert!(rows > 40.0, "{rows}");
    let whole = length(window(&sheet));
    // The log opens at the violation.
    assert_eq!(
        sheet.number("document.querySelectorAll('.log .is-here').length"),
        1.0
    );
    // A change of a key in the middle of the log.
    let key_history = ".log tr:nth-child(30)";
    let at = sheet.value(&format!(
        "document.querySelector('{key_history} button').textContent"
    ));
    sheet.click(&format!("{key_history} button"));
    sheet.settle();
    let (from, to) = window(&sheet);
    assert!(length((from, to)) < whole / 2.0, "{from} to {to}");
    let seconds: f64 = at.as_str().unwrap().trim_end_matches(" s").parse().unwrap();
    assert!(
        (from..=to).contains(&(seconds * 1e9)),
        "{at}: {from} to {to}"
    );
    sheet.click("canvas");
    sheet.settle();
    assert_eq!(
        sheet.number("document.querySelectorAll('.log .is-here').length"),
        1.0
    );
    // A time of the story is shown in both.
    sheet.click(".story li:nth-child(2) button");
    sheet.settle();
    let in_story = text(&sheet, ".story li:nth-child(2) button");
    let here = text(&sheet, ".log .is-here button");
    let [story_s, here_s] =
        [in_story, here].map(|it| it.trim_end_matches(" s").parse::<f64>().unwrap());
    assert!((story_s - here_s).abs() < 0.002, "{story_s} and {here_s}");
    let (from, to) = window(&sheet);
    assert!((from..=to).contains(&(story_s * 1e9)), "{from} to {to}");
    // The next violation is shown in both.
    sheet.focus(".cell-details[open] canvas");
    press(&sheet, "n");
    let status = text(&sheet, ".jump-status");
    let here = text(&sheet, ".log .is-here button");
    assert!(status.contains(&here), "{here} in {status}");
    std::fs::write(place("log.png"), sheet.picture()).expect("the file can be written");
    assert_eq!(sheet.complaints(), Vec::<String>::new());
}

/// Checks that complaints about a bad page are recorded.
#[test]
fn complaints_of_a_bad_page_are_recorded() {
    let page = page(&runs::nothing(1)).unwrap();
    let spy = "<img src=\"http://127.0.0.1:9/spy.png\" alt=\"\"><script>console.error('oh'); fetch('http://127.0.0.1:9/').catch(() => 0); missing();</script></body>";
    let file = written("bad.html", &page.replace("</body>", spy));
    let sheet = Sheet::open(&file, 800, 600);
    let complaints = sheet.complaints().join("\n");
    assert!(
        complaints.contains("Content Security Policy"),
        "{complaints}"
    );
    // The policy prevents foreign scripts from starting at all.
    assert!(
        !complaints.contains("missing is not defined"),
        "{complaints}"
    );
    // Without the policy, the script and the request are recorded themselves.
    let open = page.replace("http-equiv=\"Content-Security-Policy\"", "name=\"none\"");
    let file = written("open.html", &open.replace("</body>", spy));
    let sheet = Sheet::open(&file, 800, 600);
    let complaints = sheet.complaints().join("\n");
    for complaint in [
        "oh",
        "missing is not defined",
        "network request: http://127.0.0.1:9/spy.png",
    ] {
        assert!(complaints.contains(complaint), "{complaint}: {complaints}");
    }
}

/// Returns the announcement of a lane in the middle of the run.
fn announcement_in(sheet: &Sheet, lane: &str) -> String {
    sheet.focus(".cell-details[open] canvas");
    for _ in 0..12 {
        press(sheet, "ArrowDown");
        let announced = text(sheet, ".announcement");
        if announced.starts_with(lane) {
            return announced;
        }
    }
    panic!("no {lane}")
}

/// The lane of a wrong clock's owner shows the offset.
#[test]
fn wrong_clock_shows_its_offset() {
    for (lock, scenario, lane, expected) in [
        (
            "getset",
            "clock-skew",
            "client 1",
            "wall clock +2 s off: clock-skew of client 1",
        ),
        ("set-nx-px", "clock-jump", "node 0", "wall clock +"),
    ] {
        let page = page(&runs::matrix(&[lock], &[scenario], 1)).unwrap();
        let file = written(&format!("{scenario}.html"), &page);
        let sheet = Sheet::open(&file, 1280, 900);
        sheet.prefer("light");
        sheet.value("document.querySelector('.timeline').scrollIntoView({block: 'center'})");
        std::fs::write(place(&format!("{scenario}.png")), sheet.picture())
            .expect("the file can be written");
        let announced = announcement_in(&sheet, lane);
        assert!(announced.contains(expected), "{announced}");
        assert_eq!(sheet.complaints(), Vec::<String>::new());
    }
}
