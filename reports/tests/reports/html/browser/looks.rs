//! A browser opens the page: a reader's way through it, and how it looks.

use std::path::PathBuf;

use picklock_reports::command_log::{CommandLog, Message};
use picklock_reports::html::page;
use picklock_scenarios::{Direction, Phase};
use picklock_verdicts::check::Property;
use picklock_verdicts::history::EventKind;

use super::super::{histories, runs};
use super::Sheet;

const SUBJECTS: [&str; 4] = ["setnx-expire", "set-nx-px", "fenced", "redlock"];
const SCENARIOS: [&str; 5] = [
    "calm",
    "gc-pause",
    "stale-delete",
    "master-failover",
    "crash-mid-acquire",
];

/// Where pages and pictures are left for a person to look at.
pub fn place(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

pub fn written(name: &str, text: &str) -> PathBuf {
    let path = place(name);
    std::fs::write(&path, text).expect("the file can be written");
    path
}

/// Pictures go beside the page; with `PICKLOCK_PICTURES` set, into that folder as well.
pub fn keep(name: &str, picture: &[u8]) {
    assert!(picture.len() < 300_000, "{name}: {} bytes", picture.len());
    std::fs::write(place(name), picture).expect("the file can be written");
    if let Some(folder) = std::env::var_os("PICKLOCK_PICTURES") {
        std::fs::write(PathBuf::from(folder).join(name), picture).expect("the file can be written");
    }
}

/// The window of time of the timeline that is open.
pub fn window(sheet: &Sheet) -> (f64, f64) {
    let edge = |name: &str| {
        let of = "document.querySelector('.known_bug[open] .timeline').dataset";
        sheet.number(&format!("Number({of}.{name})"))
    };
    (edge("from"), edge("to"))
}

pub fn length((from, to): (f64, f64)) -> f64 {
    to - from
}

/// Nothing may be wider than the window, which would move the whole page sideways.
pub fn assert_no_overflow(sheet: &Sheet) {
    let wide = sheet.number("document.documentElement.scrollWidth - innerWidth");
    assert!(wide <= 0.0, "{wide} pixels too wide");
}

/// Clicks what a selector finds within the known bug that is open.
pub fn click(sheet: &Sheet, selector: &str) {
    let selector = format!(".known_bug[open] {selector}");
    sheet.click(&selector);
    sheet.settle();
}

fn press(sheet: &Sheet, key: &str) {
    sheet.press(key);
    sheet.settle();
}

/// The text of what a selector finds within the known bug that is open.
pub fn text(sheet: &Sheet, selector: &str) -> String {
    let text = sheet.value(&format!(
        "document.querySelector('.known_bug[open] {selector}').textContent"
    ));
    text.as_str().expect("a text").to_owned()
}

#[test]
fn a_reader_finds_the_evidence_and_the_violation_in_the_timeline() {
    let matrix = runs::matrix(&SUBJECTS, &SCENARIOS, 3);
    let file = written("matrix.html", &page(&matrix).unwrap());
    let sheet = Sheet::open(&file, 1280, 900);
    sheet.prefer("light");
    assert_no_overflow(&sheet);
    sheet.value("document.getElementById('matrix').scrollIntoView()");
    keep("report-matrix-light.png", &sheet.picture());

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
        "document.querySelector('.known_bug[open] .timeline').scrollIntoView({block: 'center'})",
    );
    keep("report-timeline-light.png", &sheet.picture());
    sheet.prefer("dark");
    keep("report-timeline-dark.png", &sheet.picture());
    sheet.value("document.getElementById('matrix').scrollIntoView()");
    keep("report-matrix-dark.png", &sheet.picture());
    assert_eq!(sheet.complaints(), Vec::<String>::new());
}

fn from_the_cell_to_its_evidence(sheet: &Sheet, index: usize) {
    let opened = || sheet.number("document.querySelectorAll('.known_bug[open]').length");
    assert_eq!(opened(), 0.0);
    let tile = format!("a.tile[href='#cell-{index}']");
    sheet.click(&tile);
    sheet.until(&format!("document.getElementById('cell-{index}')"));
    assert_eq!(opened(), 1.0);
    let seen = format!(
        "document.getElementById('cell-{index}').getBoundingClientRect().top < innerHeight"
    );
    assert_eq!(sheet.value(&seen), true);
    assert!(text(sheet, ".story").contains("worker"));
    assert!(text(sheet, ".command").contains("picklock scenario gc-pause"));
    // The same with the keyboard.
    sheet.value(&format!(
        "document.getElementById('cell-{index}').open = false"
    ));
    assert_eq!(opened(), 0.0);
    sheet.focus(&tile);
    press(sheet, "Enter");
    assert_eq!(opened(), 1.0);
}

/// Buttons, keys, wheel.
fn zoom_and_pan(sheet: &Sheet) {
    click(sheet, "canvas");
    let whole = window(sheet);
    click(sheet, "[data-do='in']");
    let closer = window(sheet);
    assert!(
        length(closer) < length(whole) * 0.6,
        "{closer:?} of {whole:?}"
    );
    let canvas = ".known_bug[open] canvas";
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
    let place = |of: &str| {
        let canvas = format!("document.querySelector('{canvas}').getBoundingClientRect()");
        sheet.number(&format!("(box => {of})({canvas})"))
    };
    let (x, y) = (place("box.left + box.width / 2"), place("box.top + 60"));
    sheet.wheel(x, y, -240.0);
    assert!(
        length(window(sheet)) < length(whole) * 0.9,
        "the wheel zooms"
    );
}

fn jump_to_the_violation(sheet: &Sheet, at_ns: f64) {
    let canvas = ".known_bug[open] canvas";
    sheet.focus(canvas);
    press(sheet, "n");
    let said = text(sheet, ".jump-status");
    assert!(
        said.contains("exclusion violated: outlived-lease"),
        "{said}"
    );
    let shown = window(sheet);
    assert!(shown.0 < at_ns && at_ns < shown.1, "{at_ns} in {shown:?}");
    // Down to the lane of the second holder, and along it: what stands there is said.
    let mut heard = String::new();
    for _ in 0..8 {
        press(sheet, "ArrowDown");
        heard = text(sheet, ".said");
        if heard.starts_with("worker 1") {
            break;
        }
    }
    assert!(heard.contains("worker 1, holds"), "{heard}");
    assert!(heard.contains("token "), "{heard}");
    press(sheet, ".");
    let next = text(sheet, ".said");
    assert!(next.starts_with("worker 1"), "{next}");
    assert!(next.contains("releases"), "{next}");
}

#[test]
fn the_page_fits_a_telephone_and_paper() {
    let matrix = runs::matrix(&SUBJECTS, &["calm", "gc-pause"], 1);
    let file = written("narrow.html", &page(&matrix).unwrap());
    let sheet = Sheet::open(&file, 390, 844);
    sheet.prefer("light");
    assert_no_overflow(&sheet);
    keep("report-narrow.png", &sheet.picture());
    for index in 0..matrix.matrix.cells.len() {
        sheet.value(&format!("location.hash = '#cell-{index}'"));
        sheet.until(&format!("document.getElementById('cell-{index}')"));
    }
    assert_no_overflow(&sheet);
    sheet.value("document.querySelectorAll('.known_bug')[6].scrollIntoView()");
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
fn the_theme_can_be_chosen_against_the_system() {
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
    // The only cell is open from the beginning.
    assert_eq!(
        sheet.value("document.querySelectorAll('.known_bug[open] .timeline[data-ready]').length"),
        1
    );
    assert_eq!(sheet.complaints(), Vec::<String>::new());
}

/// A hundred thousand holds are drawn, and drawn again at every zoom, without a complaint.
#[test]
fn a_long_history_can_be_walked_through() {
    let history = histories::long(100_000);
    let verdicts = picklock_verdicts::check::judge(&history);
    let record = runs::record(&history, verdicts, "Long.");
    let mut material = runs::nothing(1);
    material.matrix.cells = vec![runs::of_record(&record, "long", Default::default())];
    material.evidence = vec![picklock_reports::report_input::Evidence {
        run_dir: "long".into(),
        record,
        history: Some(history),
        proxy: None,
        has_repro: false,
    }];
    let file = written("long.html", &page(&material).unwrap());
    let sheet = Sheet::open(&file, 1280, 900);
    sheet.prefer("light");
    sheet.value("document.querySelector('.timeline').scrollIntoView()");
    std::fs::write(place("long-whole.png"), sheet.picture()).expect("the file can be written");
    let whole = window(&sheet);
    sheet.focus("canvas");
    let overlaps =
        picklock_verdicts::check::judge(&histories::long(100_000))[&Property::Exclusion].violations;
    for _ in 0..overlaps {
        sheet.press("n");
    }
    sheet.settle();
    let said = sheet.value("document.querySelector('.jump-status').textContent");
    let last = format!("{overlaps} of {overlaps}:");
    assert!(
        said.as_str().expect("a text").starts_with(&last),
        "{overlaps} overlaps, and {said}"
    );
    assert!(length(window(&sheet)) < length(whole) / 50.0);
    std::fs::write(place("long-close.png"), sheet.picture()).expect("the file can be written");
    assert_eq!(sheet.complaints(), Vec::<String>::new());
}

/// What was said on the wire stands with the hold, and as arrows, if asked for.
#[test]
fn commands_stand_with_the_hold_and_arrows_are_drawn_when_asked_for() {
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
    material.evidence[0].proxy = Some(CommandLog {
        messages,
        omitted: 0,
    });
    let page = page(&material).unwrap();
    assert!(page.contains("Commands to get the lock once: 1.0 on average"));
    let sheet = Sheet::open(&written("messages.html", &page), 1280, 900);
    sheet.focus("canvas");
    let press = |key| {
        sheet.press(key);
        sheet.settle();
    };
    press(".");
    press(".");
    let said = sheet.value("document.querySelector('.said').textContent");
    let said = said.as_str().expect("a text");
    assert!(
        said.contains("acquire: 1 command") && said.contains("→ SET k"),
        "{said}"
    );
    press("m");
    let many = || sheet.value("document.querySelector('.many').textContent");
    assert_eq!(many(), format!("{count} messages"));
    std::fs::write(place("messages.png"), sheet.picture()).expect("the file can be written");
    press("m");
    assert_eq!(many(), "");
    assert_eq!(sheet.complaints(), Vec::<String>::new());
}

/// A row of the log shows its moment, and a click on the timeline shows the row.
#[test]
fn log_and_timeline_lead_to_each_other() {
    let page = page(&runs::matrix(&["set-nx-px"], &["gc-pause"], 1)).unwrap();
    let sheet = Sheet::open(&written("log.html", &page), 1280, 900);
    let rows = sheet.number("document.querySelectorAll('.log tr').length");
    assert!(rows > 40.0, "{rows}");
    let whole = length(window(&sheet));
    // The log opens at the violation.
    assert_eq!(
        sheet.number("document.querySelectorAll('.log .is-here').length"),
        1.0
    );
    // A key that changes in the middle of the log.
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
    // A time of the story shows its moment in both.
    sheet.click(".story li:nth-child(2) button");
    sheet.settle();
    let told = text(&sheet, ".story li:nth-child(2) button");
    let here = text(&sheet, ".log .is-here button");
    let [told_s, here_s] = [told, here].map(|it| it.trim_end_matches(" s").parse::<f64>().unwrap());
    assert!((told_s - here_s).abs() < 0.002, "{told_s} and {here_s}");
    let (from, to) = window(&sheet);
    assert!((from..=to).contains(&(told_s * 1e9)), "{from} to {to}");
    // The next violation is shown in both.
    sheet.focus(".known_bug[open] canvas");
    press(&sheet, "n");
    let told = text(&sheet, ".jump-status");
    let here = text(&sheet, ".log .is-here button");
    assert!(told.contains(&here), "{here} in {told}");
    std::fs::write(place("log.png"), sheet.picture()).expect("the file can be written");
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
    assert!(
        complaints.contains("Content Security Policy"),
        "{complaints}"
    );
    // A script that is not the page's own does not even start.
    assert!(
        !complaints.contains("missing is not defined"),
        "{complaints}"
    );
    // Without the policy the script and the request itself show.
    let open = page.replace("http-equiv=\"Content-Security-Policy\"", "name=\"none\"");
    let file = written("open.html", &open.replace("</body>", spy));
    let sheet = Sheet::open(&file, 800, 600);
    let complaints = sheet.complaints().join("\n");
    for heard in [
        "oh",
        "missing is not defined",
        "network request: http://127.0.0.1:9/spy.png",
    ] {
        assert!(complaints.contains(heard), "{heard}: {complaints}");
    }
}

/// What a lane says in the middle of the run.
fn heard_in(sheet: &Sheet, lane: &str) -> String {
    sheet.focus(".known_bug[open] canvas");
    for _ in 0..12 {
        press(sheet, "ArrowDown");
        let heard = text(sheet, ".said");
        if heard.starts_with(lane) {
            return heard;
        }
    }
    panic!("no {lane}")
}

/// A wrong clock stands with its number in the lane of its owner.
#[test]
fn a_clock_that_is_off_says_by_how_much() {
    for (lock, scenario, lane, said) in [
        (
            "getset",
            "clock-skew",
            "worker 1",
            "wall clock +2 s off: clock-skew of worker 1",
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
        let heard = heard_in(&sheet, lane);
        assert!(heard.contains(said), "{heard}");
        assert_eq!(sheet.complaints(), Vec::<String>::new());
    }
}
