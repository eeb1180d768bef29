//! The lanes of the nodes' keys, as shown and announced to a reader.

use picklock_reports::html::page;
use serde_json::{Value, json};

use super::super::runs;
use super::super::values::key_history;
use super::Sheet;
use super::looks::{assert_no_overflow, place, text, written};

/// Returns the text and the colour that are shown at a time of a lane. Moves the pointer down the canvas
/// until it finds the lane with that title.
fn seen(sheet: &Sheet, title: &str, at_ns: f64) -> Value {
    let probe = r"((title, at) => {
        const details = document.querySelector('.cell-details[open]');
        const canvas = details.querySelector('canvas'), tip = document.getElementById('tip');
        const box = canvas.getBoundingClientRect(), shown = details.querySelector('.timeline').dataset;
        const left = 84, right = box.width - 8;
        const x = left + (at - shown.from) / (shown.to - shown.from) * (right - left);
        for (let y = 1; y < box.height; y++) {
            const place = { clientX: box.left + x, clientY: box.top + y, pointerId: 1 };
            canvas.dispatchEvent(new PointerEvent('pointermove', place));
            if (tip.hidden || tip.firstChild.textContent !== title) continue;
            const words = [...tip.children].map((line) => line.textContent).join('\n');
            const copy = document.createElement('canvas');
            const pen = copy.getContext('2d', { willReadFrequently: true });
            pen.drawImage(canvas, Math.round(x), y + 3, 1, 1, 0, 0, 1, 1);
            const colour = pen.getImageData(0, 0, 1, 1).data.join();
            return JSON.stringify({ words, colour });
        }
        return JSON.stringify({ words: 'no such lane', colour: '' });
    })";
    let call = format!("{probe}({}, {at_ns})", json!(title));
    let seen = sheet.value(&call);
    serde_json::from_str(seen.as_str().expect("a text")).expect("JSON")
}

/// Returns the title of the value's lane, the middle of the value, and its expected text.
fn expected(line: &Value) -> (String, f64, Vec<String>) {
    let title = format!(
        "key {} on node {}",
        line["key"].as_str().unwrap(),
        line["node"]
    );
    let time = |name: &str| line[name].as_f64().unwrap();
    let author = |by: &Value| {
        let [worker, op] = ["worker", "op"].map(|name| by[name].as_u64().unwrap());
        let [phase, command] = ["phase", "command"].map(|name| by[name].as_str().unwrap());
        format!("client {worker}, attempt {op}, {phase}: {command}")
    };
    let end = line["end"].as_str().unwrap().replace('-', " ");
    let ended = match &line["ended_by"] {
        Value::Null if end == "stays" => "still there at the end of the run".to_owned(),
        Value::Null => end,
        by => format!("{end} by {}", author(by)),
    };
    let words = vec![
        format!("value {}", line["value"].as_str().unwrap()),
        format!("written by {}", author(&line["written_by"])),
        ended,
    ];
    (
        title,
        f64::midpoint(time("from_ns"), time("until_ns")),
        words,
    )
}

#[test]
fn key_lanes_match_the_key_history() {
    let input = runs::matrix(&["redlock"], &["quorum-erosion"], 1);
    let history = input.evidence[0].history.as_ref().unwrap();
    let end_ns = history.events.last().unwrap().at_ns as f64;
    let file = written("key-lanes.html", &page(&input).unwrap());
    let sheet = Sheet::open(&file, 1280, 900);
    sheet.prefer("light");
    sheet.value("document.querySelector('.timeline').scrollIntoView({block: 'center'})");
    sheet.click("[data-do='nodes']");
    sheet.settle();
    let mut colours: Vec<(u64, String)> = Vec::new();
    let mut lines = key_history(history);
    // The pointer cannot hit narrower values.
    lines.retain(|line| {
        let time = |name: &str| line[name].as_f64().unwrap();
        time("until_ns") - time("from_ns") > end_ns / 100.0
    });
    assert!(lines.len() >= 6, "{lines:?}");
    for line in &lines {
        let (title, middle_ns, wanted) = expected(line);
        let seen = seen(&sheet, &title, middle_ns);
        let lines: Vec<&str> = seen["words"].as_str().unwrap().lines().collect();
        for words in wanted {
            assert!(lines.contains(&&*words), "{words}: {lines:?}");
        }
        let worker = line["written_by"]["worker"].as_u64().unwrap();
        colours.push((worker, seen["colour"].as_str().unwrap().to_owned()));
    }
    // The colour distinguishes the workers.
    let colour_of = |worker: u64| colours.iter().find(|(w, _)| *w == worker).unwrap();
    let lost = lines
        .iter()
        .position(|line| line["end"] == "lost-in-restart");
    assert!(lost.is_some(), "{lines:?}");
    assert_ne!(colour_of(0).1, colour_of(1).1);
    std::fs::write(place("key-lanes.png"), sheet.picture()).unwrap();
    let lane = &lines[lost.unwrap()];
    by_keyboard(&sheet, &expected(lane));
    assert_eq!(sheet.complaints(), Vec::<String>::new());
}

/// Moves to the lane and along it with the keyboard, and checks the announced text.
fn by_keyboard(sheet: &Sheet, (title, _, wanted): &(String, f64, Vec<String>)) {
    let press = |key: &str| {
        sheet.press(key);
        sheet.settle();
        text(sheet, ".announcement")
    };
    sheet.focus(".cell-details[open] canvas");
    let found = (0..40).any(|_| press("ArrowDown").starts_with(title.as_str()));
    assert!(found, "no lane {title}");
    let mut announced = String::new();
    for _ in 0..20 {
        announced = press(",");
    }
    for words in wanted {
        assert!(announced.contains(words.as_str()), "{words}: {announced}");
    }
}

#[test]
fn markup_in_keys_is_drawn_as_text() {
    let (record, history) = crate::key_history_samples::hostile();
    let input = picklock_reports::combine::from_run(record, Some(history));
    let file = written("hostile-keys.html", &page(&input).unwrap());
    let sheet = Sheet::open(&file, 390, 844);
    assert_no_overflow(&sheet);
    sheet.value("document.querySelector('.timeline').scrollIntoView({block: 'center'})");
    std::fs::write(place("hostile-keys.png"), sheet.picture()).unwrap();
    assert_eq!(sheet.complaints(), Vec::<String>::new());
}
