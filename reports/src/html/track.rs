//! What a history gives the timeline to draw, as columns of numbers.

use std::collections::{BTreeMap, BTreeSet};

use picklock_verdicts::check::Verdicts;
use picklock_verdicts::history::{History, What};
use serde::Serialize;

use super::bunch::{Piece, bunched, touches};
use super::column::Column;
use super::curve;
use super::messages::{Messages, messages};
use super::scene::{self, Dead, Fault, Node};
use super::sight::{self, Sight};
use super::wrong_clock::{Off, wrong_clocks};
use crate::escape::visible;
use crate::lanes::{Doing, Lane, Moment, lanes, overlaps_by_key};
use crate::units::span_ns;
use crate::wire_log::WireLog;

/// More lanes than this are not drawn.
const MOST_LANES: usize = 400;
/// Overlaps beyond this are neither listed nor kept out of bunches.
const MOST_OVERLAPS: usize = 5_000;
/// Marks beyond this are left out, sales first.
const MOST_MARKS: usize = 20_000;
/// Tokens of so many holds are told; with more, of those that overlap.
const MOST_TOKENS: usize = 2_000;
/// A token is cut after so many characters.
const LONGEST_TOKEN: usize = 40;
/// With more pieces than this, times are told to the microsecond.
const MOST_EXACT: usize = 20_000;

/// All that the timeline draws. Times in plain lists are nanoseconds, in columns `unit_ns`.
#[derive(Debug, Serialize)]
pub(super) struct Track {
    end_ns: u64,
    ttl_ns: u64,
    unit_ns: u64,
    keys: Vec<String>,
    lanes: Vec<LaneHead>,
    /// From the end of the piece before to the beginning of this one, in its lane.
    gaps: String,
    lengths: String,
    kinds: String,
    /// Attempt numbers, each less the one before.
    ops: String,
    piece_keys: String,
    /// For each bunch: holds in it, and the time that they held.
    bunches: String,
    /// Of each mark: its time less the one before's, its lane, what it is.
    marks: String,
    tokens: BTreeMap<u64, String>,
    nodes: Vec<Node>,
    faults: Vec<Fault>,
    /// From, to, key.
    overlaps: Vec<(u64, u64, u32)>,
    sights: Vec<Sight>,
    stock: Vec<curve::Steps>,
    fences: Option<curve::Fences>,
    /// `None`: the run kept no command log.
    messages: Option<Messages>,
    /// What is not shown, in words.
    pub(super) left_out: Vec<String>,
}

#[derive(Debug, Serialize)]
struct LaneHead {
    worker: usize,
    pieces: usize,
    frozen: Vec<(u64, u64)>,
    dead: Vec<Dead>,
    /// When its wall clock was off.
    clock: Vec<Off>,
}

/// How much a track may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Pieces in its lanes, more or less.
    pub(super) pieces: usize,
    /// Commands and replies.
    pub(super) messages: usize,
}

/// The track of a history, and of the command log that was kept with it.
pub(super) fn track(
    history: &History,
    wire: Option<&WireLog>,
    verdicts: &Verdicts,
    room: Room,
) -> Track {
    let end_ns = history.events.last().map_or(0, |event| event.at_ns);
    let mut left_out = Vec::new();
    let lanes = lanes(&history.events);
    let overlaps = overlaps(&lanes, &mut left_out);
    let spans = overlaps.iter().map(|&(from, to, _)| (from, to));
    let kept = crate::measures::merged(spans.collect());
    let lanes = chosen(lanes, &kept, &mut left_out);
    let (pieces, step_ns) = fitting(&lanes, &kept, end_ns, room.pieces);
    if step_ns > 0 {
        left_out.push(format!(
            "What lasted less than {} and takes part in no violation is drawn together: the \
             history is too long to draw each hold.",
            span_ns(step_ns)
        ));
    }
    let unit_ns = if pieces.iter().map(Vec::len).sum::<usize>() > MOST_EXACT {
        1_000
    } else {
        1
    };
    let columns = Columns::of(&pieces, unit_ns);
    let mut dead = scene::dead(history);
    let mut clocks = wrong_clocks(history);
    let heads = lanes.iter().zip(&pieces);
    let heads = heads.map(|((worker, lane), pieces)| LaneHead {
        worker: *worker,
        pieces: pieces.len(),
        frozen: lane.frozen_ns.clone(),
        dead: dead.remove(worker).unwrap_or_default(),
        clock: clocks.workers.remove(worker).unwrap_or_default(),
    });
    Track {
        end_ns,
        ttl_ns: history.header.ttl_ms.saturating_mul(1_000_000),
        unit_ns,
        keys: names(&history.header.keys),
        lanes: heads.collect(),
        gaps: columns.gaps.text(),
        lengths: columns.lengths.text(),
        kinds: columns.kinds.text(),
        ops: columns.ops.text(),
        piece_keys: columns.keys.text(),
        bunches: columns.bunches.text(),
        marks: marks(&lanes, unit_ns, &mut left_out),
        tokens: tokens(history, &overlaps, &mut left_out),
        nodes: scene::nodes(history, &mut clocks.nodes),
        faults: scene::faults(history),
        messages: wire
            .map(|log| messages(log, &together(&lanes, &kept), room.messages, &mut left_out)),
        sights: sight::sights(&overlaps, verdicts),
        overlaps,
        stock: curve::stock(history, &mut left_out),
        fences: curve::fences(history, &mut left_out),
        left_out,
    }
}

/// The attempts that held during an overlap.
fn together(lanes: &[(usize, Lane)], kept: &[(u64, u64)]) -> BTreeSet<u64> {
    let each = lanes.iter().flat_map(|(_, lane)| &lane.stretches);
    let inside = each.filter(|stretch| stretch.doing.holds() && touches(kept, stretch));
    inside.map(|stretch| stretch.op).collect()
}

fn names(keys: &[String]) -> Vec<String> {
    let shown = |key: &String| super::name::name(key).shown;
    keys.iter().take(1_000).map(shown).collect()
}

fn overlaps(lanes: &BTreeMap<usize, Lane>, left_out: &mut Vec<String>) -> Vec<(u64, u64, u32)> {
    let by_key = overlaps_by_key(lanes).into_iter();
    let mut all: Vec<(u64, u64, u32)> = by_key
        .flat_map(|(key, spans)| spans.into_iter().map(move |(from, to)| (from, to, key)))
        .collect();
    all.sort_unstable();
    if all.len() > MOST_OVERLAPS {
        left_out.push(format!(
            "Of {} overlaps the first {MOST_OVERLAPS} are marked.",
            all.len()
        ));
        all.truncate(MOST_OVERLAPS);
    }
    all
}

/// The lanes that are drawn: all, or of too many those that held during an overlap, then those
/// that held at all.
fn chosen(
    lanes: BTreeMap<usize, Lane>,
    kept: &[(u64, u64)],
    left_out: &mut Vec<String>,
) -> Vec<(usize, Lane)> {
    let count = lanes.len();
    let mut lanes: Vec<(usize, Lane)> = lanes.into_iter().collect();
    if count <= MOST_LANES {
        return lanes;
    }
    let interest = |lane: &Lane| {
        let mut holds = lane.stretches.iter().filter(|s| s.doing.holds());
        if holds.clone().any(|stretch| touches(kept, stretch)) {
            0
        } else if holds.next().is_some() || !lane.frozen_ns.is_empty() {
            1
        } else {
            2
        }
    };
    lanes.sort_by_cached_key(|(worker, lane)| (interest(lane), *worker));
    lanes.truncate(MOST_LANES);
    lanes.sort_by_key(|(worker, _)| *worker);
    left_out.push(format!(
        "{} of {count} workers have no lane here; those that held together, and those that held \
         at all, come first.",
        count - MOST_LANES
    ));
    lanes
}

/// The pieces of each lane, bunched as little as will do, and the step: 0 if nothing had to be.
fn fitting(
    lanes: &[(usize, Lane)],
    kept: &[(u64, u64)],
    end_ns: u64,
    most_pieces: usize,
) -> (Vec<Vec<Piece>>, u64) {
    let at_step = |step_ns: u64| -> Vec<Vec<Piece>> {
        let each = lanes.iter();
        each.map(|(_, lane)| bunched(&lane.stretches, step_ns, kept))
            .collect()
    };
    let stretches: usize = lanes.iter().map(|(_, lane)| lane.stretches.len()).sum();
    if stretches <= most_pieces {
        return (at_step(0), 0);
    }
    let mut step_ns = end_ns / 1_000_000 + 1;
    loop {
        let pieces = at_step(step_ns);
        let count: usize = pieces.iter().map(Vec::len).sum();
        // Past the length of the run nothing more can be put together.
        if count <= most_pieces || step_ns > end_ns {
            return (pieces, step_ns);
        }
        step_ns = step_ns.saturating_mul(2);
    }
}

#[derive(Default)]
struct Columns {
    gaps: Column,
    lengths: Column,
    kinds: Column,
    ops: Column,
    keys: Column,
    bunches: Column,
}

impl Columns {
    fn of(lanes: &[Vec<Piece>], unit_ns: u64) -> Self {
        let mut columns = Columns::default();
        for pieces in lanes {
            let (mut before, mut op_before) = (0, 0);
            for piece in pieces {
                // Both ends are rounded, not the length: the error does not add up.
                let (from, to) = (piece.began_ns() / unit_ns, piece.ended_ns() / unit_ns);
                columns.gaps.push(from.saturating_sub(before));
                columns.lengths.push(to - from);
                before = to;
                let (op, key) = match piece {
                    Piece::Stretch(stretch) => {
                        columns.kinds.push(kind(stretch.doing));
                        (stretch.op, stretch.key)
                    }
                    Piece::Bunch(bunch) => {
                        columns.kinds.push(if bunch.past { 6 } else { 5 });
                        columns.bunches.push(bunch.holds);
                        columns.bunches.push(bunch.held_ns / unit_ns);
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

/// The numbers that the page's script knows.
fn kind(doing: Doing) -> u64 {
    match doing {
        Doing::Waiting => 0,
        Doing::InLease => 1,
        Doing::PerhapsPast => 2,
        Doing::PastLease => 3,
        Doing::Releasing => 4,
    }
}

fn marks(lanes: &[(usize, Lane)], unit_ns: u64, left_out: &mut Vec<String>) -> String {
    let mut marks: Vec<(u64, usize, u64)> = Vec::new();
    for (index, (_, lane)) in lanes.iter().enumerate() {
        for mark in &lane.marks {
            let what = match mark.what {
                Moment::Died => 0,
                Moment::FencedOff => 1,
                Moment::Sold => 2,
                Moment::Released => continue,
            };
            marks.push((mark.at_ns, index, what));
        }
    }
    marks.sort_unstable();
    if marks.len() > MOST_MARKS {
        left_out.push(format!(
            "Of {} marks (sales, refused accesses, deaths) some {MOST_MARKS} are drawn: the first \
             deaths and refusals, and sales evenly.",
            marks.len()
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

/// Leaves half of the room to deaths and refusals, and fills the other half evenly with sales.
fn thin(marks: &mut Vec<(u64, usize, u64)>) {
    const SALE: u64 = 2;
    let sales = marks.iter().filter(|mark| mark.2 == SALE).count();
    let every = sales.div_ceil(MOST_MARKS / 2).max(1);
    let (mut sale, mut other) = (0, 0);
    marks.retain(|mark| {
        if mark.2 == SALE {
            sale += 1;
            sale % every == 0
        } else {
            other += 1;
            other <= MOST_MARKS / 2
        }
    });
}

/// Tokens by attempt.
fn tokens(
    history: &History,
    overlaps: &[(u64, u64, u32)],
    left_out: &mut Vec<String>,
) -> BTreeMap<u64, String> {
    let granted = |event: &picklock_verdicts::history::Event| match &event.what {
        What::Granted {
            op, token, fence, ..
        } => Some((event.at_ns, *op, told(token, *fence))),
        _ => None,
    };
    let count = history.events.iter().filter_map(granted).count();
    let all = history.events.iter().filter_map(granted);
    if count <= MOST_TOKENS {
        return all.map(|(_, op, token)| (op, token)).collect();
    }
    left_out.push(format!(
        "Of {count} grants only those at the beginning of an overlap, and at most {MOST_TOKENS}, \
         tell their tokens."
    ));
    let begins: BTreeSet<u64> = overlaps.iter().map(|span| span.0).collect();
    let at_overlap = all.filter(|(at_ns, _, _)| begins.contains(at_ns));
    let tokens = at_overlap.map(|(_, op, token)| (op, token));
    tokens.take(MOST_TOKENS).collect()
}

fn told(token: &str, fence: Option<u64>) -> String {
    let token = visible(token);
    let mut told: String = token.chars().take(LONGEST_TOKEN).collect();
    if token.chars().nth(LONGEST_TOKEN).is_some() {
        told.push('…');
    }
    if let Some(fence) = fence {
        told.push_str(&format!(" · fencing token {fence}"));
    }
    told
}
