//! A comparison as text for people and programs.

use std::fmt::{self, Write};

use super::{Change, Comparison, Direction, OtherServer, Place, Ratio};
use crate::escape::{shortened, visible};
use crate::markdown::quoted::code;
use crate::markdown::{COMMENT_BYTES, Page, place_columns, table_of};
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

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {} × {}", self.lock, self.scenario, self.backend)
    }
}

fn named(place: &Place) -> String {
    shortened(&place.to_string(), 160)
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
    let count = |wanted| comparison.changed(wanted).count();
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
    let (times, bounds) = times_and_bounds(ratio);
    format!(
        "{times} ({bounds}), {} → {}",
        span_us(ratio.before.value_us),
        span_us(ratio.after.value_us)
    )
}

/// `× 1.52`, and `1.30 to 1.80`.
fn times_and_bounds(ratio: &Ratio) -> (String, String) {
    let times = ratio.ratio.map(|times| format!("× {times:.2}"));
    let high = ratio.ratio_high.map(|high| format!("{high:.2}"));
    let bounds = format!(
        "{:.2} to {}",
        ratio.ratio_low,
        high.as_deref().unwrap_or("?")
    );
    (times.unwrap_or_else(|| "from 0".to_owned()), bounds)
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
    let changes = comparison.verdicts.iter().map(change_row);
    table_of(&mut page, "verdict changes", head, changes.collect());
    let head = "| lock | scenario | backend | latency | ratio | before | after |\n\
                |---|---|---|---|---|---|---|\n";
    let ratios = comparison.latency.iter().map(ratio_row);
    table_of(&mut page, "latency ratios", head, ratios.collect());
    for (kind, cell) in notes(comparison) {
        page.add("cells of one set", &format!("- {kind}: {}\n", code(&cell)));
    }
    page.add("notes", &format!("\n{METHOD}\n"));
    page.done()
}

fn cells(place: &Place) -> String {
    place_columns(&place.lock, &place.scenario, place.backend)
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
    let (times, bounds) = times_and_bounds(ratio);
    let verdict = match ratio.within_noise {
        true => format!("{times}, within noise"),
        false => format!("**{times}** ({bounds})"),
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
