//! A comparison as text for people and programs.

use std::fmt::Write;

use super::{Change, Comparison, Direction, OtherServer, Place, Ratio};
use crate::escape::visible;
use crate::markdown::quoted::{code, shortened};
use crate::markdown::{COMMENT_BYTES, Page};
use crate::units::span_us;

pub(crate) const METHOD: &str = "Bounds are distribution-free 99 % intervals of each quantile, from binomial \
                      order statistics; \"within noise\" means that they overlap. They cover the noise \
                      of the count, not of the machine.";

/// For a terminal: ends with a newline.
pub fn text(comparison: &Comparison) -> String {
    let mut out = format!("Before and after: {} cells in both\n", comparison.cells);
    writeln!(out, "\nVerdicts: {}", tally(comparison)).ok();
    for change in &comparison.verdicts {
        let what = change
            .property
            .map_or("cell".to_owned(), |property| property.to_string());
        writeln!(
            out,
            "  {} {}  {what}: {} → {}",
            sign(change.direction),
            named(&change.place),
            shortened(&change.before, 160),
            shortened(&change.after, 160)
        )
        .ok();
    }
    let beyond = comparison
        .latency
        .iter()
        .filter(|ratio| !ratio.within_noise);
    let beyond: Vec<&Ratio> = beyond.collect();
    writeln!(
        out,
        "\nLatency: {} of {} ratios beyond noise",
        beyond.len(),
        comparison.latency.len()
    )
    .ok();
    for ratio in beyond {
        writeln!(
            out,
            "  {}  {} {}: {}",
            named(&ratio.place),
            visible(&ratio.operation),
            percentile(ratio.quantile),
            ratio_in_words(ratio)
        )
        .ok();
    }
    for (kind, cell) in notes(comparison) {
        writeln!(out, "{kind}: {cell}").ok();
    }
    writeln!(out, "\n{METHOD}").ok();
    out
}

fn named(place: &Place) -> String {
    let Place {
        lock,
        scenario,
        backend,
    } = place;
    shortened(&format!("{lock} × {scenario} × {backend}"), 160)
}

fn sign(direction: Direction) -> &'static str {
    match direction {
        Direction::Worse => "✘ worse ",
        Direction::Dead => "‼ dead  ",
        Direction::Other => "≠ other ",
        Direction::Better => "✔ better",
    }
}

fn tally(comparison: &Comparison) -> String {
    let count = |wanted| {
        let changes = comparison.verdicts.iter();
        changes.filter(|change| change.direction == wanted).count()
    };
    match comparison.verdicts.len() {
        0 => "nothing changed".to_owned(),
        _ => format!(
            "{} worse, {}{} with another cause, {} better",
            count(Direction::Worse),
            match count(Direction::Dead) {
                0 => String::new(),
                1 => "1 dead alarm, ".to_owned(),
                alarms => format!("{alarms} dead alarms, "),
            },
            count(Direction::Other),
            count(Direction::Better)
        ),
    }
}

/// `p99`.
pub(crate) fn percentile(quantile: f64) -> String {
    format!("p{}", (quantile * 1_000.0).round() / 10.0)
}

/// `× 1.52 (1.3 to 1.8), 2 ms → 3.04 ms`.
pub(crate) fn ratio_in_words(ratio: &Ratio) -> String {
    let times = ratio
        .ratio
        .map_or("from 0".to_owned(), |times| format!("× {times:.2}"));
    let high = ratio
        .ratio_high
        .map_or("?".to_owned(), |high| format!("{high:.2}"));
    format!(
        "{times} ({:.2} to {high}), {} → {}",
        ratio.ratio_low,
        span_us(ratio.before.value_us),
        span_us(ratio.after.value_us)
    )
}

/// Cells of which a reader must know something else than a change: what, and the cell.
fn notes(comparison: &Comparison) -> impl Iterator<Item = (&'static str, String)> {
    let lists = [
        ("Only before", &comparison.only_before),
        ("Only after", &comparison.only_after),
        ("Scenario changed", &comparison.other_scenario),
    ];
    let places = lists
        .into_iter()
        .flat_map(|(kind, places)| places.iter().map(move |place| (kind, named(place))));
    let servers = comparison.other_server.iter();
    places.chain(servers.map(|other| ("Server changed", other.in_words())))
}

impl OtherServer {
    /// `redlock × calm × process: redis 7.0.15 → redis 8.0.2`.
    pub(crate) fn in_words(&self) -> String {
        format!("{}: {} → {}", named(&self.place), self.before, self.after)
    }
}

/// For a pull-request comment, worst first.
pub fn markdown(comparison: &Comparison) -> String {
    let mut page = Page::new(COMMENT_BYTES);
    let head = format!(
        "## Picklock: before and after\n\n{} cells in both. Verdicts: {}.\n\n",
        comparison.cells,
        tally(comparison)
    );
    page.add("headlines", &head);
    let head = "| | lock | scenario | backend | property | before | after |\n\
                |---|---|---|---|---|---|---|\n";
    rows(
        &mut page,
        "verdict changes",
        head,
        comparison.verdicts.iter().map(change_row),
    );
    let head = "| lock | scenario | backend | latency | ratio | before | after |\n\
                |---|---|---|---|---|---|---|\n";
    rows(
        &mut page,
        "latency ratios",
        head,
        comparison.latency.iter().map(ratio_row),
    );
    for (kind, cell) in notes(comparison) {
        page.add("cells of one set", &format!("- {kind}: {}\n", code(&cell)));
    }
    page.add("notes", &format!("\n{METHOD}\n"));
    page.done()
}

fn rows(page: &mut Page, kind: &'static str, head: &str, rows: impl Iterator<Item = String>) {
    let mut head = Some(head);
    for row in rows {
        let block = format!("{}{row}", head.unwrap_or_default());
        if page.add(kind, &block) {
            head = None;
        }
    }
    if head.is_none() {
        page.add("blank lines", "\n");
    }
}

fn cells(place: &Place) -> String {
    format!(
        "{} | {} | {}",
        code(&place.lock),
        code(&place.scenario),
        code(place.backend.word())
    )
}

fn change_row(change: &Change) -> String {
    let what = change
        .property
        .map_or("cell".to_owned(), |property| property.to_string());
    format!(
        "| {} | {} | {what} | {} | {} |\n",
        sign(change.direction).trim_end(),
        cells(&change.place),
        code(&change.before),
        code(&change.after)
    )
}

fn ratio_row(ratio: &Ratio) -> String {
    let high = ratio
        .ratio_high
        .map_or("?".to_owned(), |high| format!("{high:.2}"));
    let times = ratio
        .ratio
        .map_or("from 0".to_owned(), |times| format!("× {times:.2}"));
    let verdict = match ratio.within_noise {
        true => format!("{times}, within noise"),
        false => format!("**{times}** ({:.2} to {high})", ratio.ratio_low),
    };
    format!(
        "| {} | {} {} | {verdict} | {} | {} |\n",
        cells(&ratio.place),
        code(&ratio.operation),
        percentile(ratio.quantile),
        span_us(ratio.before.value_us),
        span_us(ratio.after.value_us)
    )
}

/// For programs: `picklock-comparison/1`, indented, ends with a newline.
pub fn json(comparison: &Comparison) -> String {
    let json = serde_json::to_string_pretty(comparison)
        .expect("a comparison holds only text and numbers, and no key that is not text");
    format!("{json}\n")
}
