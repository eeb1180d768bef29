//! The page that compares two sets: its contents, and how a browser shows it.

use picklock_reports::comparison::compare;
use picklock_reports::html::comparison_page;
use picklock_reports::report_input::ReportInput;
use picklock_verdicts::check::{Cause, Property, Status, Verdict};
use picklock_verdicts::expectation::Expectation;
use picklock_verdicts::latency::summarize;
use picklock_verdicts::record::Tally;

use super::super::runs;
use super::Sheet;
use super::looks::{assert_no_overflow, place, save_picture, written};

/// Sets deterministic latencies around `scale_us` that spread over about a decade.
fn time(material: &mut ReportInput, index: usize, scale_us: u64, count: u64) {
    let spread = |at: u64| scale_us + at * 7_919 % scale_us + at * 104_729 % (scale_us / 3);
    for latency in material.matrix.cells[index].latency.values_mut() {
        *latency = summarize((0..count).map(spread));
    }
}

fn violated(cause: Cause, story: &[&str]) -> Verdict {
    Verdict {
        status: Status::Violated,
        cause: Some(cause),
        story: story.iter().map(|line| (*line).to_owned()).collect(),
        ..Verdict::held()
    }
}

fn set(material: &mut ReportInput, index: usize, property: Property, verdict: Verdict) {
    let cell = &mut material.matrix.cells[index];
    let mut tally = Tally::default();
    match verdict.cause {
        Some(cause) => {
            tally.violated = cell.runs;
            tally.causes.insert(cause, cell.runs);
        }
        None => tally.held = cell.runs,
    }
    cell.tally.insert(property, tally);
    cell.verdicts.insert(property, verdict);
}

/// Returns some real runs and a changed copy. After: one lock broke, an expected violation no longer occurs,
/// another one has another cause, one was fixed, one cell is slower, one faster, one was added, one removed.
fn before_and_after() -> (ReportInput, ReportInput) {
    let locks = ["set-nx-px", "fenced", "redlock"];
    let scenarios = ["calm", "gc-pause", "slow-section"];
    let mut before = runs::matrix(&locks, &scenarios, 3);
    let mut after = before.clone();
    for index in 0..before.matrix.cells.len() {
        time(&mut before, index, 900 + 40 * index as u64, 1_000);
        time(&mut after, index, 905 + 40 * index as u64, 1_000);
    }
    time(&mut after, 2, 2_600, 1_000);
    time(&mut after, 4, 420, 1_000);
    time(&mut after, 5, 5_000, 12);
    let story = [
        "0.412 s  client 1 got the lock (lease until 1.412 s)",
        "0.634 s  client 2 got the lock while client 1 still held it",
    ];
    let broken = violated(Cause::LostOnFailover, &story);
    set(&mut after, 0, Property::Lease, broken);
    set(&mut after, 3, Property::Exclusion, Verdict::held());
    let other = violated(Cause::Race, &[]);
    set(&mut after, 6, Property::Exclusion, other);
    let stolen = violated(Cause::StolenRelease, &[]);
    set(&mut before, 1, Property::Ownership, stolen);
    before.matrix.cells.remove(8);
    after.matrix.cells.remove(7);
    after.matrix.picklock = "0.2.0".into();
    (before, after)
}

fn page((before, after): &(ReportInput, ReportInput)) -> String {
    let comparison = compare(&before.matrix, &after.matrix).expect("histograms decode");
    comparison_page(before, after, &comparison).expect("the page can be filled in")
}

#[test]
fn page_shows_verdicts_then_latencies_then_settings() {
    let page = page(&before_and_after());
    let body = &page[page.find("<main>").unwrap()..];
    let order = [
        "4 of 7 cells changed: 1 worse, 1 no longer violated, although expected, 1 with another cause, 1 better",
        "Got worse",
        "held</span> → <b class=\"is tone-redis\">violated: lost-on-failover",
        "client 2 got the lock while client 1 still held it",
        "No longer violated, although the scenario expects it",
        "Violated with another cause",
        "Got better",
        "Only before",
        "fenced × slow-section × sim",
        "Only after",
        "redlock × slow-section × sim",
        "Beyond noise: ",
        "Within noise: ",
        "What was compared",
        "picklock <b title=\"not the same\">≠</b></th><td>0.1.0</td><td>0.2.0",
        "picklock matrix --backend sim --seed 1",
    ];
    let mut from = 0;
    for words in order {
        let at = body[from..].find(words);
        from += at.unwrap_or_else(|| panic!("{words} is missing, or not in its place"));
    }
    // The scenario's own text about the unexpected pass.
    assert!(body.contains("The scenario expects: exclusion <b>violated"));
}

#[test]
fn set_compared_with_itself_has_no_changes() {
    let (before, _) = before_and_after();
    let page = page(&(before.clone(), before));
    assert!(page.contains("No verdict changed in 8 cells"));
    assert!(!page.contains("Beyond noise") && page.contains("Within noise"));
    assert!(!page.contains("not the same"));
}

#[test]
fn markup_in_names_is_escaped() {
    let attack = "</script><!--<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u{2028}\
                  \u{202e}🔓&amp;";
    let (mut before, mut after) = before_and_after();
    for material in [&mut before, &mut after] {
        let matrix = &mut material.matrix;
        (matrix.picklock, matrix.reproduce) = (attack.into(), attack.into());
        material.skipped = vec![attack.into()];
        for cell in &mut matrix.cells {
            cell.lock.name = attack.into();
            cell.scenario = format!("{}{attack}", cell.scenario);
            cell.reproduce = attack.into();
            cell.expected.values_mut().for_each(|wanted| {
                *wanted = Expectation::Any {
                    reason: Some(attack.into()),
                };
            });
            let latency = std::mem::take(&mut cell.latency).into_iter();
            cell.latency = latency
                .map(|(operation, latency)| (format!("{operation}{attack}"), latency))
                .collect();
            for verdict in cell.verdicts.values_mut() {
                verdict.story = vec![attack.into()];
            }
        }
    }
    before.matrix.cells[2].error = Some(attack.into());
    let page = page(&(before, after));
    assert!(!page.contains("<img") && !page.contains("<!--"));
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("</script").count(), 1);
    assert!(!page.contains(['\u{2028}', '\u{202e}']));
    assert!(page.contains("not run: &#60;/script"));
}

#[test]
fn browser_shows_changes_without_complaints() {
    let file = written("before-after.html", &page(&before_and_after()));
    let sheet = Sheet::open(&file, 1280, 900);
    sheet.prefer("light");
    assert_no_overflow(&sheet);
    save_picture("report-before-after-light.png", &sheet.picture());
    // The only change for the worse is expanded, with its story and its command.
    let number = |expression: &str| sheet.number(expression);
    assert_eq!(number("document.querySelectorAll('.change').length"), 4.0);
    let open = sheet.value("document.querySelector('.change[open] .story').textContent");
    assert!(open.as_str().unwrap().contains("client 2 got the lock"));
    let shown = "getComputedStyle(document.querySelector('.change .copy')).display";
    assert_ne!(sheet.value(shown), "none");
    assert_marks_match_their_numbers(&sheet);
    sheet.value("document.querySelector('#latency').scrollIntoView()");
    std::fs::write(place("before-after-latency.png"), sheet.picture()).unwrap();
    sheet.prefer("dark");
    std::fs::write(place("before-after-latency-dark.png"), sheet.picture()).unwrap();
    sheet.value("scrollTo(0, 0)");
    std::fs::write(place("before-after-dark.png"), sheet.picture()).unwrap();
    sheet.prefer("light");
    sheet.value("document.querySelector('.noise').open = true");
    sheet.size(390, 844);
    sheet.settle();
    assert_no_overflow(&sheet);
    std::fs::write(place("before-after-narrow.png"), sheet.picture()).unwrap();
    sheet.value("document.querySelector('#latency').scrollIntoView()");
    std::fs::write(place("before-after-narrow-latency.png"), sheet.picture()).unwrap();
    sheet.value("document.querySelector('.run').scrollIntoView()");
    std::fs::write(place("before-after-narrow-run.png"), sheet.picture()).unwrap();
    sheet.on_paper(760, 1100);
    std::fs::write(place("before-after-paper.png"), sheet.picture()).unwrap();
    // Nothing can be expanded on paper, so every change shows at least its own line.
    let hidden = "Array.from(document.querySelectorAll('.change')).filter(one => one.getBoundingClientRect().height < 20).length";
    assert_eq!(number(hidden), 0.0);
    assert!(sheet.print().starts_with(b"%PDF"));
    assert_eq!(sheet.complaints(), Vec::<String>::new());
}

/// Checks that slower ratios are right of the line, faster ones left of it, and all of them inside the
/// drawing.
fn assert_marks_match_their_numbers(sheet: &Sheet) {
    let rows = sheet.value(
        "JSON.stringify(Array.from(document.querySelectorAll('.ratio:not(.axis)')).map(row => ({
            words: row.querySelector('.figures').textContent,
            noise: row.closest('.noise') !== null,
            dot: Number(row.querySelector('.dot').getAttribute('cx')),
            bar: ['x1', 'x2'].map(name => Number(row.querySelector('.bar').getAttribute(name))),
            one: Number(row.querySelector('.one').getAttribute('x1')),
        })))",
    );
    let rows = rows.as_str().expect("a text");
    let rows: Vec<serde_json::Value> = serde_json::from_str(rows).expect("JSON");
    assert!(rows.len() > 10, "{}", rows.len());
    let (mut slower, mut faster) = (0, 0);
    for row in &rows {
        let number = |value: &serde_json::Value| value.as_f64().expect("a number");
        let (low, high) = (number(&row["bar"][0]), number(&row["bar"][1]));
        let (dot, one) = (number(&row["dot"]), number(&row["one"]));
        assert!(low <= dot && dot <= high, "{row}");
        if row["noise"] == true {
            assert!(low <= one && one <= high, "{row}");
            continue;
        }
        assert!(low > one || high < one, "{row}");
        slower += usize::from(low > one);
        faster += usize::from(high < one);
        let words = row["words"].as_str().expect("a text");
        let sign = if low > one { "▲ × " } else { "▼ × 0." };
        assert!(words.starts_with(sign), "{row}");
    }
    assert!(slower > 0 && faster > 0, "{slower} slower, {faster} faster");
}
