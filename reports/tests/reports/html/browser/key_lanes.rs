//! The lanes of the nodes' keys, as a reader sees and hears them.

use picklock_reports::html::page;
use serde_json::{Value, json};

use super::super::runs;
use super::super::values::key_history;
use super::Sheet;
use super::looks::{assert_no_overflow, place, text, written};

/// What is said and which colour is painted at a time of a lane. The pointer goes down the picture
/// until the lane with that title answers.
fn seen(sheet: &Sheet, title: &str, at_ns: f64) -> Value {
    let probe = r"((title, at) => {
        const known bug = document.querySelector('.known bug[open]');
        const canvas = known bug.querySelector('canvas'), tip = document.getElementById('tip');
        const box = canvas.getBoundingClientRect(), shown = known bug.querySelector('.timeline').dataset;
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

/// The middle of a value, its lane's title, and what is to be read there.
fn expected(line: &Value) -> (String, f64, Vec<String>) {
    let title = format!(
        "key {} on node {}",
        line["key"].as_str().unwrap(),
        line["node"]
    );
    let time = |name: &str| line[name].as_f64().unwrap();
    let whose = |by: &Value| {
        let [worker, op] = ["worker", "op"].map(|name| by[name].as_u64().unwrap());
        let [phase, command] = ["phase", "command"].map(|name| by[name].as_str().unwrap());
        format!("worker {worker}, attempt {op}, {phase}: {command}")
    };
    let end = line["end"].as_str().unwrap().replace('-', " ");
    let ended = match &line["ended_by"] {
        Value::Null if end == "stays" => "still there at the end of the run".to_owned(),
        Value::Null => end,
        by => format!("{end} by {}", whose(by)),
    };
    let words = vec![
        format!("value {}", line["value"].as_str().unwrap()),
        format!("written by {}", whose(&line["written_by"])),
        ended,
    ];
    (
        title,
        f64::midpoint(time("from_ns"), time("until_ns")),
        words,
    )
}

#[test]
fn the_lanes_of_keys_show_and_say_what_the_key_history_has() {
    let input = runs::matrix(&["redlock"], &["quorum-erosion"], 1);
    let history = input.evidence[0].history.as_ref().unwrap();
    let end_ns = history.events.last().unwrap().at_ns as f64;
    let file = written("key-lanes.html", &page(&input).unwrap());
    let sheet = Sheet::open(&file, 1280, 900);
    sheet.prefer("light");
    sheet.value("document.querySelector('.timeline').scrollIntoView({block: 'center'})");
    let mut colours: Vec<(u64, String)> = Vec::new();
    let mut lines = key_history(history);
    // Narrower ones cannot be met with a pointer.
    lines.retain(|line| {
        let time = |name: &str| line[name].as_f64().unwrap();
        time("until_ns") - time("from_ns") > end_ns / 100.0
    });
    assert!(lines.len() >= 6, "{lines:?}");
    for line in &lines {
        let (title, middle_ns, wanted) = expected(line);
        let seen = seen(&sheet, &title, middle_ns);
        let heard: Vec<&str> = seen["words"].as_str().unwrap().lines().collect();
        for words in wanted {
            assert!(heard.contains(&&*words), "{words}: {heard:?}");
        }
        let worker = line["written_by"]["worker"].as_u64().unwrap();
        colours.push((worker, seen["colour"].as_str().unwrap().to_owned()));
    }
    // The colour tells the workers apart.
    let of = |worker: u64| colours.iter().find(|(w, _)| *w == worker).unwrap();
    let lost = lines
        .iter()
        .position(|line| line["end"] == "lost-in-restart");
    assert!(lost.is_some(), "{lines:?}");
    assert_ne!(of(0).1, of(1).1);
    std::fs::write(place("key-lanes.png"), sheet.picture()).unwrap();
    let lane = &lines[lost.unwrap()];
    by_keyboard(&sheet, &expected(lane));
    assert_eq!(sheet.complaints(), Vec::<String>::new());
}

/// Down to the lane and along it: what stands there is said aloud.
fn by_keyboard(sheet: &Sheet, (title, _, wanted): &(String, f64, Vec<String>)) {
    let press = |key: &str| {
        sheet.press(key);
        sheet.settle();
        text(sheet, ".said")
    };
    sheet.focus(".known_bug[open] canvas");
    let found = (0..40).any(|_| press("ArrowDown").starts_with(title.as_str()));
    assert!(found, "no lane {title}");
    let mut heard = String::new();
    for _ in 0..20 {
        heard = press(",");
    }
    for words in wanted {
        assert!(heard.contains(words.as_str()), "{words}: {heard}");
    }
}

#[test]
fn markup_in_keys_is_drawn_as_text() {
    let (record, history) = crate::key_history_samples::hostile();
    let input = picklock_reports::combine::of_run(record, Some(history));
    let file = written("hostile-keys.html", &page(&input).unwrap());
    let sheet = Sheet::open(&file, 390, 844);
    assert_no_overflow(&sheet);
    sheet.value("document.querySelector('.timeline').scrollIntoView({block: 'center'})");
    std::fs::write(place("hostile-keys.png"), sheet.picture()).unwrap();
    assert_eq!(sheet.complaints(), Vec::<String>::new());
}
