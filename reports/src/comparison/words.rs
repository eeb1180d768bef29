//! Formats a comparison as text, Markdown and JSON.

use std::fmt::{self, Write};

use super::{ChangedStory, Comparison, Direction, OtherServer, Place, Ratio};
use crate::escape::{shortened, visible};
use crate::inert::Inert;
use crate::markdown::quoted::code;
use crate::markdown::{COMMENT_BYTES, Page, place_columns, table_of};
use crate::units::{count, grouped, span_us};

pub(crate) const METHOD: &str = "Bounds are distribution-free 99 % intervals of each quantile, from binomial \
                      order statistics; \"within noise\" means that they overlap. They cover the noise \
                      of the count, not of the machine.";

/// Formats the comparison for a terminal. The text ends with a newline.
pub fn text(comparison: &Comparison) -> Inert {
    let mut out = format!("{}\n", headline(comparison));
    for parameter in &comparison.parameters {
        writeln!(out, "{}", parameter.describe()).ok();
    }
    let stories = comparison.stories();
    if !stories.is_empty() {
        out.push('\n');
    }
    for story in &stories {
        let (sign, cell) = (sign(story.direction), named(&story.first().place));
        let [before, after] = story
            .outcomes()
            .map(|outcome| shortened(&outcome.to_string(), 160));
        let item = story.item();
        writeln!(out, "  {sign} {cell}  {item}: {before} → {after}").ok();
    }
    let ratios = comparison.latency.iter();
    let beyond: Vec<&Ratio> = ratios.filter(|ratio| !ratio.within_noise).collect();
    let (some, all) = (beyond.len(), comparison.latency.len());
    writeln!(out, "\nLatency: {some} of {all} ratios beyond noise").ok();
    for ratio in beyond {
        let (cell, operation) = (named(&ratio.place), visible(&ratio.operation));
        let (quantile, words) = (percentile(ratio.quantile), describe_ratio(ratio));
        writeln!(out, "  {cell}  {operation} {quantile}: {words}").ok();
    }
    for (kind, cell) in notes(comparison) {
        writeln!(out, "{kind}: {cell}").ok();
    }
    writeln!(out, "\n{METHOD}").ok();
    Inert::lines(&out)
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
        Direction::Worse => "✘ worse",
        Direction::UnexpectedPass => "≠ no longer violated",
        Direction::Other => "≠ other",
        Direction::Better => "✔ better",
    }
}

/// Returns in how many cells a verdict changed, and in which direction.
pub(crate) fn headline(comparison: &Comparison) -> String {
    let all = count(comparison.cells, "cell");
    let cells = comparison.changed_cells();
    let changed: usize = cells.iter().map(|(_, cells)| cells).sum();
    if changed == 0 {
        return format!("No verdict changed in {all}");
    }
    let words = |(direction, cells): &(Direction, usize)| {
        let cells = grouped(*cells);
        match direction {
            Direction::Worse => format!("{cells} worse"),
            Direction::UnexpectedPass => format!("{cells} no longer violated, although expected"),
            Direction::Other => format!("{cells} with another cause"),
            Direction::Better => format!("{cells} better"),
        }
    };
    let words: Vec<String> = cells.iter().map(words).collect();
    let (changed, words) = (grouped(changed), words.join(", "));
    format!("{changed} of {all} changed: {words}")
}

/// Formats a quantile, such as `p99`.
pub(crate) fn percentile(quantile: f64) -> String {
    format!("p{}", (quantile * 1_000.0).round() / 10.0)
}

/// Formats a ratio, such as `× 1.52 (1.30 to 1.80), 2 ms → 3.04 ms`.
pub(crate) fn describe_ratio(ratio: &Ratio) -> String {
    let (times, bounds) = times_and_bounds(ratio);
    let [before, after] = spans(ratio);
    format!("{times} ({bounds}), {before} → {after}")
}

/// Returns the latencies before and after.
fn spans(ratio: &Ratio) -> [String; 2] {
    [ratio.before.value_us, ratio.after.value_us].map(span_us)
}

/// Formats a ratio and its bounds, such as `× 1.52` and `1.30 to 1.80`. The bounds do not justify more digits.
fn times_and_bounds(ratio: &Ratio) -> (String, String) {
    let times = ratio.ratio.map(|times| format!("× {}", two_digits(times)));
    let high = ratio.ratio_high.map(two_digits);
    let (low, high) = (two_digits(ratio.ratio_low), high.as_deref().unwrap_or("?"));
    let times = times.unwrap_or_else(|| "from 0".to_owned());
    (times, format!("{low} to {high}"))
}

/// Formats a ratio with two significant digits, or two decimals below 2, where they show the difference from 1.
fn two_digits(ratio: f64) -> String {
    match ratio {
        it if it >= 10.0 => format!("{it:.0}"),
        it if it >= 2.0 => format!("{it:.1}"),
        it => format!("{it:.2}"),
    }
}

/// Returns cells that are noted without a change: the kind of the note and the cell.
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
    places.chain(servers.map(|other| ("Server changed", other.describe())))
}

impl OtherServer {
    /// Formats the cell and its servers, such as `redlock × calm × process: redis 7.0.15 → redis 8.0.2`.
    pub(crate) fn describe(&self) -> String {
        let [before, after] = [&self.before, &self.after].map(|it| visible(it));
        format!("{}: {before} → {after}", named(&self.place))
    }
}

/// Formats the comparison for a pull-request comment, with the worst changes first.
pub fn markdown(comparison: &Comparison) -> String {
    let mut page = Page::new(COMMENT_BYTES);
    let head = format!("## Picklock: {}\n\n", headline(comparison));
    page.add("headlines", &head);
    for parameter in &comparison.parameters {
        let line = format!("- {}\n", parameter.describe());
        page.add("changed parameters", &line);
    }
    let head = "| | lock | scenario | backend | properties | before | after |\n\
                |---|---|---|---|---|---|---|\n";
    let stories = comparison.stories();
    let changes = stories.iter().map(change_row);
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

fn change_row(story: &ChangedStory<'_>) -> String {
    let sign = sign(story.direction);
    let (cell, item) = (cells(&story.first().place), story.item());
    let [before, after] = story.outcomes().map(|it| code(&it.to_string()));
    format!("| {sign} | {cell} | {item} | {before} | {after} |\n")
}

fn ratio_row(ratio: &Ratio) -> String {
    let (times, bounds) = times_and_bounds(ratio);
    let verdict = if ratio.within_noise {
        format!("{times}, within noise")
    } else {
        format!("**{times}** ({bounds})")
    };
    let (cell, operation) = (cells(&ratio.place), code(&ratio.operation));
    let quantile = percentile(ratio.quantile);
    let [before, after] = spans(ratio);
    format!("| {cell} | {operation} {quantile} | {verdict} | {before} | {after} |\n")
}

/// Formats the comparison as a `picklock-comparison/1` document, indented, with a newline at the end.
pub fn json(comparison: &Comparison) -> String {
    let json = serde_json::to_string_pretty(comparison)
        .expect("a comparison holds only text and numbers, and no key that is not text");
    format!("{json}\n")
}
