//! The timeline of a violation as a small SVG, which follows the reader's light or dark theme.

use std::collections::BTreeMap;
use std::fmt::Write;

use picklock_harness::history::{History, KeyName};
use picklock_reports::units::span_ns;
use picklock_verdicts::key_history::{KeyHistory, SpanEnd, ValueSpan};
use picklock_verdicts::timeline::{Hold, LeaseState, OperationKind, Timeline, overlap};

const WIDTH: f64 = 760.0;
/// Left end of the lanes. Their names are to the left.
const LEFT: f64 = 92.0;
const ROW: f64 = 26.0;
const BAR: f64 = 16.0;
/// Height above the first lane, for the numbers of the deciding times.
const TOP: f64 = 28.0;
/// Maximum number of lanes for keys. Further lanes would show the same key on other nodes.
const MAX_KEY_LANES: usize = 3;
/// Maximum number of lanes for kinds of faults.
const MAX_FAULT_LANES: usize = 3;

const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#24292f}.p{fill:#fff}.s{fill:#59636e}\
.h{fill:#2f7d4f}.o{fill:#d97706}.z{fill:#5b8def;opacity:.55}.w{fill:#d0d7de}.k{fill:#8250df;opacity:.75}\
.f{fill:#cf222e;opacity:.8}.b{fill:#cf222e;opacity:.13}.t{fill:#fff}.l{stroke:#d0d7de}.m{stroke:#24292f;stroke-dasharray:2 3}\
.n{fill:#24292f}.r{fill:#fff;font-weight:600}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.p{fill:#0d1117}.s{fill:#9198a1}.h{fill:#3fb950}.o{fill:#e3a008}\
.w{fill:#3d444d}.k{fill:#a371f7}.f{fill:#f85149}.b{fill:#f85149;opacity:.2}.t{fill:#0d1117}.l{stroke:#3d444d}\
.m{stroke:#e6edf3}.n{fill:#e6edf3}.r{fill:#0d1117}}";

/// A row of the picture: its name, its bars, and the texts in them.
struct Lane {
    name: String,
    bars: Vec<Bar>,
}

struct Bar {
    from_ns: u64,
    to_ns: u64,
    class: &'static str,
    label: String,
}

/// The part of the run that is drawn.
#[derive(Clone, Copy)]
struct Window {
    from_ns: u64,
    to_ns: u64,
}

impl Window {
    /// Returns the period with all deciding times and the holds that touch them, with a margin.
    fn around(moments: &[u64], timeline: &Timeline<'_>) -> Window {
        let first = moments.iter().min().copied().unwrap_or(0);
        let last = moments
            .iter()
            .max()
            .copied()
            .unwrap_or_else(|| timeline.end_ns());
        // A violation can occur at a single time. Then the hold that began last before it is included.
        let begun = timeline.holds().iter().map(|hold| hold.begin_ns);
        let latest = begun.filter(|begin_ns| *begin_ns <= first).max();
        let (mut from_ns, mut to_ns) = (latest.unwrap_or(first), last);
        for hold in timeline.holds() {
            if overlap(hold.span(), (first, last)) || hold.begin_ns == last {
                from_ns = from_ns.min(
                    hold.acquire_ns
                        .max(hold.begin_ns.saturating_sub(300_000_000)),
                );
                to_ns = to_ns.max(hold.end_ns.min(last + (last - first) / 4));
            }
        }
        let margin = ((to_ns - from_ns) / 20).max(1_000_000);
        Window {
            from_ns: from_ns.saturating_sub(margin),
            to_ns: (to_ns + margin).min(timeline.end_ns().max(to_ns)),
        }
    }

    fn contains(self, from_ns: u64, to_ns: u64) -> bool {
        from_ns < self.to_ns && to_ns > self.from_ns
    }

    fn x(self, at_ns: u64) -> f64 {
        let at_ns = at_ns.clamp(self.from_ns, self.to_ns);
        let part = (at_ns - self.from_ns) as f64 / (self.to_ns - self.from_ns).max(1) as f64;
        LEFT + part * (WIDTH - LEFT - 8.0)
    }
}

/// Returns the timeline around these deciding times as SVG.
pub fn svg(history: &History, moments: &[u64], title: &str) -> String {
    let timeline = Timeline::new(history);
    let window = Window::around(moments, &timeline);
    let mut lanes = fault_lanes(&timeline, window);
    lanes.extend(worker_lanes(&timeline, window));
    lanes.extend(key_lanes(history, window));
    draw(&lanes, window, moments, &overlaps(&timeline, window), title)
}

/// Returns a lane for each kind of fault in the window. The first fault of a lane has a label.
fn fault_lanes(timeline: &Timeline<'_>, window: Window) -> Vec<Lane> {
    let mut lanes: Vec<(&str, Lane)> = Vec::new();
    for fault in timeline.faults() {
        let ended_ns = fault.ended_ns.unwrap_or_else(|| timeline.end_ns());
        let to_ns = ended_ns.max(fault.began_ns + (window.to_ns - window.from_ns) / 100);
        if fault.missed || !window.contains(fault.began_ns, to_ns) {
            continue;
        }
        let mut bar = plain_bar(fault.began_ns, to_ns, "f");
        if let Some((_, lane)) = lanes.iter_mut().find(|(kind, _)| *kind == fault.fault) {
            lane.bars.push(bar);
        } else if lanes.len() < MAX_FAULT_LANES {
            bar.label = fault.fault.to_owned();
            let name = if lanes.is_empty() { "fault" } else { "" };
            let (name, bars) = (name.to_owned(), vec![bar]);
            lanes.push((fault.fault, Lane { name, bars }));
        }
    }
    lanes.into_iter().map(|(_, lane)| lane).collect()
}

/// Returns a lane for each worker that holds the lock, releases it or is frozen in the window, and for the first of the
/// other workers that waits.
fn worker_lanes(timeline: &Timeline<'_>, window: Window) -> Vec<Lane> {
    let mut bars: BTreeMap<usize, Vec<Bar>> = BTreeMap::new();
    for one in timeline.operations() {
        if one.kind == OperationKind::Acquire {
            let bar = plain_bar(one.requested_at_ns, one.ended_at_ns, "w");
            bars.entry(one.worker).or_default().push(bar);
        }
    }
    for hold in timeline.holds() {
        let entry = bars.entry(hold.worker).or_default();
        entry.extend(hold.lease_phases().map(|phase| {
            let is_over = phase.state == LeaseState::Over;
            plain_bar(
                phase.from_ns,
                phase.until_ns,
                if is_over { "o" } else { "h" },
            )
        }));
    }
    for (worker, spans) in timeline.frozen() {
        let entry = bars.entry(*worker).or_default();
        entry.extend(
            spans
                .iter()
                .map(|(from_ns, to_ns)| plain_bar(*from_ns, *to_ns, "z")),
        );
    }
    let mut lanes = Vec::new();
    let mut has_waiting = false;
    for (worker, mut bars) in bars {
        bars.retain(|bar| window.contains(bar.from_ns, bar.to_ns));
        let only_waits = bars.iter().all(|bar| bar.class == "w");
        if bars.is_empty() || only_waits && has_waiting {
            continue;
        }
        has_waiting |= only_waits;
        let name = format!("client {worker}");
        lanes.push(Lane {
            name,
            bars: joined(bars),
        });
    }
    lanes
}

fn plain_bar(from_ns: u64, to_ns: u64, class: &'static str) -> Bar {
    let label = String::new();
    Bar {
        from_ns,
        to_ns,
        class,
        label,
    }
}

/// Joins waits that follow each other, because a lock that polls has one request after the other.
fn joined(bars: Vec<Bar>) -> Vec<Bar> {
    let mut joined: Vec<Bar> = Vec::new();
    for bar in bars {
        match joined.last_mut() {
            Some(last)
                if last.class == "w"
                    && bar.class == "w"
                    && bar.from_ns < last.to_ns + 120_000_000 =>
            {
                last.to_ns = bar.to_ns;
            }
            _ => joined.push(bar),
        }
    }
    joined
}

/// Returns a lane for each key and node with different values. Nodes whose keys had the same values share a lane.
fn key_lanes(history: &History, window: Window) -> Vec<Lane> {
    if !history.header.key_history {
        return Vec::new();
    }
    let spans = KeyHistory::from_history(history).spans;
    let shown = spans
        .iter()
        .filter(|it| window.contains(it.from_ns, it.until_ns));
    let mut places: BTreeMap<(KeyName, usize), Vec<&ValueSpan>> = BTreeMap::new();
    for span in shown.filter(|it| it.may_be_lock_value()) {
        places
            .entry((span.key.clone(), span.node))
            .or_default()
            .push(span);
    }
    let mut lanes: Vec<(Vec<String>, Lane)> = Vec::new();
    for ((_, node), spans) in places {
        let bars: Vec<Bar> = spans.iter().map(|span| key_bar(span)).collect();
        let labels: Vec<String> = bars.iter().map(|bar| bar.label.clone()).collect();
        if lanes.iter().all(|(known, _)| *known != labels) && lanes.len() < MAX_KEY_LANES {
            let name = format!("key, node {node}");
            lanes.push((labels, Lane { name, bars }));
        }
    }
    if let [(_, only)] = lanes.as_mut_slice() {
        only.name = "key".to_owned();
    }
    lanes.into_iter().map(|(_, lane)| lane).collect()
}

fn key_bar(span: &ValueSpan) -> Bar {
    let owner = span
        .author
        .as_ref()
        .map_or("?".to_owned(), |by| format!("c{}", by.worker));
    let by = |by: &Option<usize>| by.map_or(String::new(), |worker| format!(" by c{worker}"));
    let ended_by = span.end.by().map(|command| command.worker);
    let end = match span.end {
        SpanEnd::Stays => String::new(),
        SpanEnd::RanOut => ", expires".to_owned(),
        SpanEnd::Removed(_) => format!(", deleted{}", by(&ended_by)),
        SpanEnd::Overwritten(_) => format!(", replaced{}", by(&ended_by)),
        _ => ", lost".to_owned(),
    };
    let expiry = if span.expiry.is_none() {
        ", no expiry"
    } else {
        ""
    };
    Bar {
        from_ns: span.from_ns,
        to_ns: span.until_ns,
        class: "k",
        label: format!("{owner}{expiry}{end}"),
    }
}

/// Returns the periods of the window in which two workers hold the same lock.
fn overlaps(timeline: &Timeline<'_>, window: Window) -> Vec<(u64, u64)> {
    let is_shown = |hold: &&Hold| window.contains(hold.begin_ns, hold.end_ns);
    let holds: Vec<&Hold> = timeline.holds().iter().filter(is_shown).collect();
    let mut found = Vec::new();
    for (index, one) in holds.iter().enumerate() {
        for other in holds[..index]
            .iter()
            .filter(|it| it.lock == one.lock && it.worker != one.worker)
        {
            let (from_ns, to_ns) = (
                one.begin_ns.max(other.begin_ns),
                one.end_ns.min(other.end_ns),
            );
            if from_ns < to_ns {
                found.push((from_ns, to_ns));
            }
        }
    }
    found
}

fn draw(
    lanes: &[Lane],
    window: Window,
    moments: &[u64],
    overlaps: &[(u64, u64)],
    title: &str,
) -> String {
    let bottom = TOP + ROW * lanes.len() as f64;
    let height = bottom + 26.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\"><title>{}</title><style>{STYLE}</style><rect class=\"p\" width=\"{WIDTH}\" height=\"{height}\"/>\n",
        escaped(title)
    );
    let mut put = |line: String| writeln!(text, "{line}").unwrap_or_default();
    for (from_ns, to_ns) in overlaps {
        put(rectangle(
            "b",
            window,
            (*from_ns, *to_ns),
            TOP - 4.0,
            bottom - TOP + 4.0,
        ));
    }
    let mut y = TOP;
    for lane in lanes {
        put(format!(
            "<text x=\"8\" y=\"{}\">{}</text>",
            y + 13.0,
            escaped(&lane.name)
        ));
        for bar in &lane.bars {
            let inset = if bar.class == "w" { 6.0 } else { 0.0 };
            put(rectangle(
                bar.class,
                window,
                (bar.from_ns, bar.to_ns),
                y + inset,
                BAR - 2.0 * inset,
            ));
            put(label(bar, window, y + 12.5));
        }
        y += ROW;
    }
    for line in axis(window, bottom) {
        put(line);
    }
    for line in numbers(moments, window, bottom) {
        put(line);
    }
    text.push_str("</svg>\n");
    text.replace("\n\n", "\n")
}

fn rectangle(
    class: &str,
    window: Window,
    (from_ns, to_ns): (u64, u64),
    y: f64,
    height: f64,
) -> String {
    let (x, end) = (window.x(from_ns), window.x(to_ns));
    let width = (end - x).max(1.5);
    format!(
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height}\" rx=\"2\"/>"
    )
}

/// Returns the text of a bar if the bar is wide enough. The label of a fault may continue to its right.
fn label(bar: &Bar, window: Window, y: f64) -> String {
    let (x, end) = (window.x(bar.from_ns), window.x(bar.to_ns));
    let needed = bar.label.chars().count() as f64 * 6.2 + 8.0;
    if needed <= end - x {
        format!(
            "<text class=\"t\" x=\"{:.1}\" y=\"{y}\">{}</text>",
            x + 4.0,
            escaped(&bar.label)
        )
    } else if bar.class == "f" && end + needed < WIDTH {
        format!(
            "<text x=\"{:.1}\" y=\"{y}\">{}</text>",
            end + 4.0,
            escaped(&bar.label)
        )
    } else if bar.class == "f" {
        format!(
            "<text text-anchor=\"end\" x=\"{:.1}\" y=\"{y}\">{}</text>",
            x - 4.0,
            escaped(&bar.label)
        )
    } else {
        String::new()
    }
}

/// Returns the line of the time, with a mark at each of four to eight round times.
fn axis(window: Window, y: f64) -> Vec<String> {
    let length_ns = (window.to_ns - window.from_ns).max(1);
    let steps = (0..12).flat_map(|power| [1, 2, 5].map(|it| it * 10_u64.pow(power)));
    let step_ns = steps
        .into_iter()
        .find(|it| length_ns / it <= 8)
        .unwrap_or(length_ns);
    let mut lines = vec![format!(
        "<path class=\"l\" d=\"M{LEFT} {y}H{}\"/>",
        WIDTH - 8.0
    )];
    let mut at_ns = window.from_ns.next_multiple_of(step_ns);
    while at_ns < window.to_ns {
        let x = window.x(at_ns);
        if x > WIDTH - 30.0 {
            break;
        }
        let words = if at_ns == 0 {
            "0".to_owned()
        } else {
            span_ns(at_ns)
        };
        lines.push(format!(
            "<path class=\"l\" d=\"M{x:.1} {y}v4\"/><text class=\"s\" text-anchor=\"middle\" x=\"{x:.1}\" y=\"{}\">{words}</text>",
            y + 17.0
        ));
        at_ns += step_ns;
    }
    lines
}

/// Returns the numbers of the deciding times, each with a line through the lanes. A number that is too close to the
/// previous one is moved to the right of it.
fn numbers(moments: &[u64], window: Window, bottom: f64) -> Vec<String> {
    let mut right_edge = 0.0_f64;
    let mut lines = Vec::new();
    for (index, at_ns) in moments.iter().enumerate() {
        let x = window.x(*at_ns);
        let circle = x.max(right_edge + 17.0).min(WIDTH - 9.0);
        right_edge = circle;
        lines.push(format!(
            "<path class=\"m\" d=\"M{x:.1} 22V{bottom}\"/><circle class=\"n\" cx=\"{circle:.1}\" cy=\"12\" r=\"8\"/>\
             <text class=\"r\" text-anchor=\"middle\" x=\"{circle:.1}\" y=\"16\">{}</text>",
            index + 1
        ));
    }
    lines
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
