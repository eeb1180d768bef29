//! The data of the page's timeline, as columns of numbers.

use std::collections::{BTreeMap, BTreeSet};

use picklock_verdicts::check::{Status, Verdicts};
use picklock_verdicts::timeline::{Hold, Timeline};
use serde::Serialize;

use super::clock_offset::{ClockOffset, clock_offsets};
use super::cluster::{Piece, clustered, fitting};
use super::column::Column;
use super::downtime::{Downtime, downtimes};
use super::fault_band::{FaultBand, fault_bands};
use super::jump_target::{JumpTarget, jump_targets};
use super::messages::{Messages, messages};
use super::name::name;
use super::node_rows::{NodeRow, node_rows};
use super::time_series;
use super::value_rows::{ValueRows, value_rows};
use crate::command_log::CommandLog;
use crate::escape::{shortened, visible};
use crate::measures::{meets, merged};
use crate::run_log::{EntryKind, Selection, entries};
use crate::units::span_ns;
use crate::worker_lanes::{Lane, MarkKind, lanes, overlaps_by_key};

/// Maximum number of lanes.
const MAX_LANES: usize = 400;
/// Maximum number of overlaps. Further ones are not listed, and their holds may become part of a cluster.
const MAX_OVERLAPS: usize = 5_000;
/// Maximum number of marks. Sales are dropped first.
const MAX_MARKS: usize = 20_000;
/// Maximum number of holds with tokens. If there are more, only overlapping holds have their tokens.
const MAX_TOKENS: usize = 2_000;
/// Maximum number of characters of a token.
const MAX_TOKEN_LENGTH: usize = 40;
/// Maximum number of characters of a row of the log.
const MAX_ROW_LENGTH: usize = 160;
/// Maximum number of cells on a page with logs.
const MAX_CELLS_WITH_LOG: usize = 8;
/// Maximum number of pieces with nanosecond resolution. With more, times have microsecond resolution.
const MAX_EXACT: usize = 20_000;

/// The data that the timeline draws. Times in plain lists are in nanoseconds; times in columns are in units
/// of `unit_ns`.
#[derive(Debug, Serialize)]
pub(super) struct TimelineData {
    end_ns: u64,
    ttl_ns: u64,
    unit_ns: u64,
    keys: Vec<String>,
    lanes: Vec<LaneHead>,
    /// Per piece, the time from the end of the previous piece in its lane to its start.
    gaps: String,
    lengths: String,
    kinds: String,
    /// Attempt numbers, as differences.
    ops: String,
    piece_keys: String,
    /// Per cluster: the number of its holds, and their total duration.
    clusters: String,
    /// Per mark: the time since the previous one, its lane, its kind.
    marks: String,
    tokens: BTreeMap<u64, String>,
    nodes: Vec<NodeRow>,
    values: ValueRows,
    faults: Vec<FaultBand>,
    /// Start, end, key.
    overlaps: Vec<(u64, u64, u32)>,
    jump_targets: Vec<JumpTarget>,
    stock: Vec<time_series::Steps>,
    fences: Option<time_series::Fences>,
    /// The messages, or `None` if the run has no command log.
    pub(super) messages: Option<Messages>,
    /// Messages, commands, key history and faults around the first violation. Per row: time, kind, route,
    /// text.
    pub(super) log: Vec<LogRow>,
    /// Whether the log continues before or after these rows.
    #[serde(skip)]
    pub(super) log_is_part: bool,
    /// Descriptions of omitted data. The page lists them below the timeline.
    #[serde(skip)]
    pub(super) omitted: Vec<String>,
}

type LogRow = (u64, EntryKind, String, String);

#[derive(Debug, Serialize)]
struct LaneHead {
    worker: usize,
    pieces: usize,
    frozen: Vec<(u64, u64)>,
    dead: Vec<Downtime>,
    /// The periods in which its wall clock was off.
    clock: Vec<ClockOffset>,
}

/// Limits of a timeline.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Approximate number of pieces in its lanes.
    pub(super) pieces: usize,
    /// Number of commands and replies.
    pub(super) messages: usize,
    /// Approximate number of values in the lanes of the nodes' keys.
    pub(super) values: usize,
    /// Number of rows of the log: 0 on a page of many cells.
    pub(super) log: usize,
}

/// Number of cells above which a page shows less per cell.
const MANY_CELLS: usize = 100;

impl Room {
    /// Returns the limits of each timeline on a page with this many cells, so that the page has a few
    /// megabytes. A piece takes about 20 bytes there, a message 50 and its text, a value 180. On a page with
    /// many cells, a run without violations shows no single commands or values of keys.
    pub(super) fn for_cells(cells: usize, is_quiet: bool) -> Room {
        let share = |all: usize, min: usize| (all / cells.max(1)).max(min);
        let room = Room {
            pieces: share(300_000, 1_000),
            messages: share(20_000, 75),
            values: share(12_000, 60),
            log: if cells <= MAX_CELLS_WITH_LOG { 400 } else { 0 },
        };
        if is_quiet && cells > MANY_CELLS {
            Room {
                messages: 0,
                values: 0,
                ..room
            }
        } else {
            room
        }
    }

    /// Returns `true` if commands and values of keys are omitted.
    pub(super) fn is_without_commands(self) -> bool {
        self.messages == 0 && self.values == 0
    }
}

/// Returns the timeline of a run, with the command log that was saved with its history.
pub(super) fn timeline_data(
    timeline: &Timeline<'_>,
    proxy: Option<&CommandLog>,
    verdicts: &Verdicts,
    room: Room,
) -> TimelineData {
    let (history, end_ns) = (timeline.history(), timeline.end_ns());
    let mut omitted = Vec::new();
    let lanes = lanes(timeline);
    let overlaps = overlaps(timeline, &mut omitted);
    let spans = overlaps.iter().map(|&(from, to, _)| (from, to));
    let exact = merged(spans.collect());
    let lanes = chosen(lanes, &exact, &mut omitted);
    let (pieces, step_ns) = fitting(end_ns, room.pieces, |step_ns| {
        let each = lanes.iter();
        each.map(|(_, lane)| clustered(&lane.segments, step_ns, &exact))
            .collect()
    });
    if step_ns > 0 {
        omitted.push(format!(
            "Neighbours within {} that are not part of a violation are drawn as one, because the \
             history is too long to draw each hold.",
            span_ns(step_ns)
        ));
    }
    let is_exact = pieces.iter().map(Vec::len).sum::<usize>() <= MAX_EXACT;
    let unit_ns = if is_exact { 1 } else { 1_000 };
    let columns = Columns::for_lanes(&pieces, unit_ns);
    let faults = fault_bands(timeline);
    let mut clocks = clock_offsets(timeline);
    let heads = lane_heads(timeline, &lanes, &pieces, &mut clocks.workers);
    let keys = history.header.keys.iter().take(1_000);
    let (log, log_is_part) = log_rows(timeline, proxy, verdicts, room.log);
    TimelineData {
        end_ns,
        ttl_ns: history.header.ttl_ms.saturating_mul(1_000_000),
        unit_ns,
        keys: keys.map(|key| name(key).shown).collect(),
        lanes: heads,
        gaps: columns.gaps.text(),
        lengths: columns.lengths.text(),
        kinds: columns.kinds.text(),
        ops: columns.ops.text(),
        piece_keys: columns.keys.text(),
        clusters: columns.clusters.text(),
        marks: marks(&lanes, unit_ns, &mut omitted),
        tokens: tokens(timeline, &overlaps, &mut omitted),
        nodes: node_rows(timeline, &faults, &mut clocks.nodes),
        values: match room.values {
            0 => ValueRows::default(),
            max => value_rows(timeline, &shown_at(&exact, verdicts), max, &mut omitted),
        },
        faults,
        messages: proxy
            .filter(|_| room.messages > 0)
            .map(|log| messages(log, &together(&lanes, &exact), room.messages, &mut omitted)),
        log,
        log_is_part,
        jump_targets: jump_targets(&overlaps, verdicts),
        overlaps,
        stock: time_series::stock(history, &mut omitted),
        fences: time_series::fences(timeline, &mut omitted),
        omitted,
    }
}

/// Returns what is drawn of each lane besides its pieces.
fn lane_heads<T>(
    timeline: &Timeline<'_>,
    lanes: &[(usize, Lane)],
    pieces: &[Vec<T>],
    clocks: &mut BTreeMap<usize, Vec<ClockOffset>>,
) -> Vec<LaneHead> {
    let mut dead = downtimes(timeline);
    let heads = lanes.iter().zip(pieces);
    let heads = heads.map(|((worker, lane), pieces)| LaneHead {
        worker: *worker,
        pieces: pieces.len(),
        frozen: lane.frozen_ns.clone(),
        dead: dead.remove(worker).unwrap_or_default(),
        clock: clocks.remove(worker).unwrap_or_default(),
    });
    heads.collect()
}

/// Returns the log around the first violation, or from the start of the run if there is none. The flag is `true` if the
/// log continues.
fn log_rows(
    timeline: &Timeline<'_>,
    proxy: Option<&CommandLog>,
    verdicts: &Verdicts,
    max: usize,
) -> (Vec<LogRow>, bool) {
    let violated = verdicts.values().filter_map(|verdict| verdict.at_ns);
    let first_ns = violated.min().unwrap_or(0);
    let wanted = Selection {
        around: Some((first_ns, max / 2)),
        ..Selection::default()
    };
    let rows = entries(timeline.history(), proxy, &wanted);
    let before = rows.partition_point(|entry| entry.at_ns < first_ns);
    let is_part = before.max(rows.len() - before) >= max / 2;
    let rows = rows.into_iter().map(|entry| {
        let text = shortened(&entry.text, MAX_ROW_LENGTH);
        (entry.at_ns, entry.kind, entry.route, text)
    });
    (rows.collect(), is_part)
}

/// Returns the times at which violations are visible: the overlaps, and the first violation of each property.
fn shown_at(overlaps: &[(u64, u64)], verdicts: &Verdicts) -> Vec<(u64, u64)> {
    let violated = verdicts.values();
    let violated = violated.filter(|verdict| verdict.status == Status::Violated);
    let points = violated.filter_map(|verdict| Some((verdict.at_ns?, verdict.at_ns?)));
    merged(overlaps.iter().copied().chain(points).collect())
}

/// Returns the attempts whose holds take part in an overlap.
fn together(lanes: &[(usize, Lane)], overlaps: &[(u64, u64)]) -> BTreeSet<u64> {
    let segments = lanes.iter().flat_map(|(_, lane)| &lane.segments);
    let holds = segments.filter(|segment| segment.activity.holds());
    let inside = holds.filter(|hold| meets(overlaps, hold.from_ns, hold.to_ns));
    inside.map(|hold| hold.op).collect()
}

fn overlaps(timeline: &Timeline<'_>, omitted: &mut Vec<String>) -> Vec<(u64, u64, u32)> {
    let by_key = overlaps_by_key(timeline).into_iter();
    let mut all: Vec<(u64, u64, u32)> = by_key
        .flat_map(|(key, spans)| spans.into_iter().map(move |(from, to)| (from, to, key)))
        .collect();
    all.sort_unstable();
    if all.len() > MAX_OVERLAPS {
        omitted.push(format!(
            "Only the first {MAX_OVERLAPS} of {} overlaps are marked.",
            all.len()
        ));
        all.truncate(MAX_OVERLAPS);
    }
    all
}

/// Returns the lanes to draw: all of them, or if there are too many, first lanes with overlapping holds, then
/// lanes with any hold.
fn chosen(
    lanes: BTreeMap<usize, Lane>,
    overlaps: &[(u64, u64)],
    omitted: &mut Vec<String>,
) -> Vec<(usize, Lane)> {
    let count = lanes.len();
    let mut lanes: Vec<(usize, Lane)> = lanes.into_iter().collect();
    if count <= MAX_LANES {
        return lanes;
    }
    let interest = |lane: &Lane| {
        let holds = || lane.segments.iter().filter(|it| it.activity.holds());
        if holds().any(|hold| meets(overlaps, hold.from_ns, hold.to_ns)) {
            0
        } else if holds().next().is_some() || !lane.frozen_ns.is_empty() {
            1
        } else {
            2
        }
    };
    lanes.sort_by_cached_key(|(worker, lane)| (interest(lane), *worker));
    lanes.truncate(MAX_LANES);
    lanes.sort_by_key(|(worker, _)| *worker);
    omitted.push(format!(
        "{} of {count} clients have no lane here: clients whose holds overlapped come first, then clients with \
         any hold.",
        count - MAX_LANES
    ));
    lanes
}

#[derive(Default)]
struct Columns {
    gaps: Column,
    lengths: Column,
    kinds: Column,
    ops: Column,
    keys: Column,
    clusters: Column,
}

impl Columns {
    fn for_lanes(lanes: &[Vec<Piece>], unit_ns: u64) -> Self {
        let mut columns = Columns::default();
        for pieces in lanes {
            let (mut before, mut op_before) = (0, 0);
            for piece in pieces {
                // Round both ends instead of the length, so that errors do not add up.
                let (from_ns, to_ns) = piece.span_ns();
                let (from, to) = (from_ns / unit_ns, to_ns / unit_ns);
                columns.gaps.push(from.saturating_sub(before));
                columns.lengths.push(to - from);
                before = to;
                let (op, key) = match piece {
                    Piece::Segment(segment) => {
                        columns.kinds.push(segment.activity as u64);
                        (segment.op, segment.key)
                    }
                    Piece::Cluster(cluster) => {
                        columns.kinds.push(if cluster.past { 6 } else { 5 });
                        columns.clusters.push(cluster.holds);
                        columns.clusters.push(cluster.held_ns / unit_ns);
                        (op_before, 0)
                    }
                };
                columns.ops.push_signed(op.wrapping_sub(op_before) as i64);
                op_before = op;
                columns.keys.push(u64::from(key));
            }
        }
        columns
    }
}

fn marks(lanes: &[(usize, Lane)], unit_ns: u64, omitted: &mut Vec<String>) -> String {
    let mut marks: Vec<(u64, usize, u64)> = Vec::new();
    for (index, (_, lane)) in lanes.iter().enumerate() {
        for mark in &lane.marks {
            let what = match mark.kind {
                MarkKind::Died => 0,
                MarkKind::FencedOff => 1,
                MarkKind::Sold => 2,
                MarkKind::Cancelled => 3,
                MarkKind::Released => continue,
            };
            marks.push((mark.at_ns, index, what));
        }
    }
    marks.sort_unstable();
    if marks.len() > MAX_MARKS {
        omitted.push(format!(
            "Only about {MAX_MARKS} of {} marks (sales, refused accesses, deaths) are drawn: the first \
             deaths and refusals, and sales evenly.",
            marks.len(),
        ));
        thin(&mut marks);
    }
    let mut column = Column::default();
    let mut before = 0;
    for (at_ns, lane, what) in marks {
        let at = at_ns / unit_ns;
        column.push(at - before);
        before = at;
        column.push(lane as u64);
        column.push(what);
    }
    column.text()
}

/// Spends half of the limit on deaths and refusals, and spreads sales evenly over the other half.
fn thin(marks: &mut Vec<(u64, usize, u64)>) {
    const SALE: u64 = 2;
    let sales = marks.iter().filter(|mark| mark.2 == SALE).count();
    let every = sales.div_ceil(MAX_MARKS / 2).max(1);
    let (mut sale, mut other) = (0, 0);
    marks.retain(|mark| {
        if mark.2 == SALE {
            sale += 1;
            sale % every == 0
        } else {
            other += 1;
            other <= MAX_MARKS / 2
        }
    });
}

/// Returns tokens by attempt.
fn tokens(
    timeline: &Timeline<'_>,
    overlaps: &[(u64, u64, u32)],
    omitted: &mut Vec<String>,
) -> BTreeMap<u64, String> {
    let holds = timeline.holds();
    let token = |hold: &Hold| (hold.op, describe_token(&hold.token, hold.fence));
    let count = holds.len();
    if count <= MAX_TOKENS {
        return holds.iter().map(token).collect();
    }
    omitted.push(format!(
        "Of {count} grants, only those at the start of an overlap, and at most {MAX_TOKENS}, \
         show their tokens."
    ));
    let begins: BTreeSet<u64> = overlaps.iter().map(|span| span.0).collect();
    let at_overlap = holds.iter().filter(|hold| begins.contains(&hold.begin_ns));
    at_overlap.take(MAX_TOKENS).map(token).collect()
}

fn describe_token(token: &str, fence: Option<u64>) -> String {
    let token = visible(token);
    let mut words: String = token.chars().take(MAX_TOKEN_LENGTH).collect();
    if token.chars().nth(MAX_TOKEN_LENGTH).is_some() {
        words.push('…');
    }
    if let Some(fence) = fence {
        words.push_str(&format!(" · fencing token {fence}"));
    }
    words
}
