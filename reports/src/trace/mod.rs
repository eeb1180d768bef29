//! Chrome trace events: a timeline of each saved run for `ui.perfetto.dev`.
//!
//! Process 1 has the workers, process 2 the faults, process 3 the stock. Process 4 shows when each worker was
//! frozen. It is separate because a freeze may begin in a wait and end in a hold, and events of one track
//! must nest. Process 5 has the keys of the nodes with the authors and ends of their values, if the run has a
//! key history. Process 6 has the commands and replies, if the run has a command log.
//!
//! A complete event (`X`) is a wait, a hold, the part of a hold after its lease had (perhaps) expired, a
//! fault, or the lifetime of a value. An instant (`i`) is a refusal, an error, or a lost worker. A counter
//! (`C`) is the stock.
//!
//! Times are in microseconds since the start of the run. Specification of the format:
//! <https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU>.

mod command_tracks;
mod event;
mod key_tracks;

use std::borrow::Cow;

use picklock_verdicts::history::{EventKind, History};
use picklock_verdicts::timeline::{
    FaultSpan, Hold, HoldEnd, LeaseState, OperationKind, OperationOutcome, Timeline,
};
use serde_json::{Value, json};

use self::event::{TraceEvent, TraceWriter, complete, track, us};
use crate::escape::visible;
use crate::file_name::Names;
use crate::format::{File, Format, FormatError};
use crate::report_input::{Evidence, ReportInput};

const WORKERS: u32 = 1;
const FAULTS: u32 = 2;
const STOCK: u32 = 3;
const FROZEN: u32 = 4;
const KEYS: u32 = 5;
const COMMANDS: u32 = 6;

/// `--format trace`.
pub const FORMAT: Format = Format {
    name: "trace",
    ending: ".trace.json",
    about: "a timeline of each saved run for ui.perfetto.dev",
    write: files,
};

/// Returns a trace under `traces/` for each run with a saved history.
///
/// # Errors
/// Returns an error if no run has a saved history.
pub fn files(input: &ReportInput) -> Result<Vec<File>, FormatError> {
    let mut names = Names::default();
    let mut files = Vec::new();
    for evidence in &input.evidence {
        let Some(history) = &evidence.history else {
            continue;
        };
        let record = &evidence.record;
        let name = names.take(&[&record.lock.name, &record.scenario, record.backend.as_str()]);
        let document = trace(evidence, history)?;
        let document = String::from_utf8_lossy(&document).into_owned();
        files.push(File::json(format!("traces/{name}.trace.json"), document));
    }
    if files.is_empty() {
        return Err(FormatError::Nothing {
            format: "trace",
            reason: "no run here has a saved history; run with --out to save it",
        });
    }
    Ok(files)
}

fn trace(evidence: &Evidence, history: &History) -> Result<Vec<u8>, FormatError> {
    let timeline = Timeline::new(history);
    let mut events = TraceWriter::default();
    events.extend(tracks(&timeline));
    holding(&timeline, &mut events);
    faults(&timeline, &mut events);
    frozen(&timeline, &mut events);
    key_tracks::keys(history, KEYS, &mut events);
    if let Some(proxy) = &evidence.command_log {
        command_tracks::commands(proxy, COMMANDS, &mut events);
    }
    instants(history, &mut events);
    let record = &evidence.record;
    let other = json!({
        "impl": visible(&record.lock.name),
        "scenario": visible(&record.scenario),
        "backend": record.backend,
        "seed": record.seed.to_string(),
        "reproduce": visible(&record.reproduce),
    });
    events.close(&other).map_err(|error| FormatError::Refused {
        format: "trace",
        reason: error.to_string(),
    })
}

/// Returns the names of processes and of their tracks.
fn tracks(timeline: &Timeline<'_>) -> Vec<TraceEvent<'static>> {
    let mut events = vec![
        track("process_name", WORKERS, 0, "workers".into()),
        track("process_name", FAULTS, 0, "faults".into()),
        track("process_name", STOCK, 0, "stock".into()),
    ];
    for worker in 0..timeline.history().header.workers {
        let name = format!("client {worker}");
        events.push(track("thread_name", WORKERS, worker, name));
    }
    for (tid, span) in fault_tracks(timeline) {
        let name = visible(span.fault).into_owned();
        events.push(track("thread_name", FAULTS, tid, name));
    }
    events
}

/// Writes waits, and holds with the parts after the end of their leases.
fn holding(timeline: &Timeline<'_>, events: &mut TraceWriter) {
    let operations = timeline.operations().iter();
    for wait in operations.filter(|operation| operation.kind == OperationKind::Acquire) {
        let args = match wait.outcome {
            OperationOutcome::Done => json!({ "op": wait.op }),
            _ => json!({ "op": wait.op, "granted": false }),
        };
        let track = (WORKERS, wait.worker);
        let span = (wait.requested_at_ns, wait.ended_at_ns);
        events.push(complete("waits", "wait", track, span, args));
    }
    for hold in timeline.holds() {
        let track = (WORKERS, hold.worker);
        let span = (hold.begin_ns, hold.end_ns);
        let about = about(timeline.history(), hold);
        events.push(complete("holds", "hold", track, span, about));
        for phase in hold.lease_phases() {
            let name = match phase.state {
                LeaseState::Running => continue,
                LeaseState::PerhapsOver => "lease perhaps over",
                LeaseState::Over => "lease over",
            };
            let args = json!({ "op": hold.op });
            let span = (phase.from_ns, phase.until_ns);
            events.push(complete(name, "outlived", track, span, args));
        }
    }
}

fn about(history: &History, hold: &Hold) -> Value {
    let key = history.header.keys.get(hold.lock as usize);
    json!({
        "op": hold.op,
        "key": key.map(|key| visible(key)),
        "token": visible(&hold.token),
        "fence": hold.fence,
        "lease_until_us": us(hold.deadline_ns),
        "lease_is_the_locks_word": hold.lease_reported,
        "ended": match hold.ended {
            HoldEnd::Open => "with the run",
            HoldEnd::Released => "by release",
            HoldEnd::Killed => "with its worker",
        },
    })
}

/// Returns the faults that fired, each with its track. Faults that overlap without nesting need separate
/// tracks.
fn fault_tracks<'t>(
    timeline: &'t Timeline<'_>,
) -> impl Iterator<Item = (usize, &'t FaultSpan<'t>)> {
    let mut free_at_ns: Vec<u64> = Vec::new();
    let fired = timeline.faults().iter().filter(|span| !span.missed);
    fired.map(move |span| {
        let until_ns = span.ended_ns.unwrap_or(timeline.end_ns());
        let mut tracks = free_at_ns.iter();
        let free = tracks.position(|free_ns| *free_ns <= span.began_ns);
        let track = free.unwrap_or_else(|| {
            free_at_ns.push(0);
            free_at_ns.len() - 1
        });
        free_at_ns[track] = until_ns.max(span.began_ns);
        (track, span)
    })
}

fn faults(timeline: &Timeline<'_>, events: &mut TraceWriter) {
    for (track, span) in fault_tracks(timeline) {
        let until_ns = span.ended_ns.unwrap_or(timeline.end_ns());
        let args = json!({
            "detail": visible(span.detail),
            "workers": span.workers,
            "over": span.ended_ns.is_some(),
        });
        let times = (span.began_ns, until_ns);
        let name = visible(span.fault);
        events.push(complete(name, "fault", (FAULTS, track), times, args));
    }
}

/// Writes the periods in which workers were frozen.
fn frozen(timeline: &Timeline<'_>, events: &mut TraceWriter) {
    if !timeline.frozen().is_empty() {
        events.push(track("process_name", FROZEN, 0, "frozen".into()));
    }
    for (worker, frozen) in timeline.frozen() {
        let name = format!("client {worker}");
        events.push(track("thread_name", FROZEN, *worker, name));
        for times in frozen {
            let track = (FROZEN, *worker);
            events.push(complete("frozen", "frozen", track, *times, Value::Null));
        }
    }
}

/// Writes instants and the stock.
fn instants(history: &History, events: &mut TraceWriter) {
    for event in &history.events {
        if let EventKind::StockChanged { key, to, .. } = event.what {
            events.push(stock(history, event.at_ns, key, to));
        }
        events.extend(instant(event.at_ns, &event.what));
    }
}

fn stock(history: &History, at_ns: u64, key: u32, units: i64) -> TraceEvent<'_> {
    let key = history.header.keys.get(key as usize);
    TraceEvent {
        name: key.map_or(Cow::Borrowed("stock"), |key| visible(key)),
        cat: "stock",
        ph: 'C',
        ts: us(at_ns),
        pid: STOCK,
        args: json!({ "units": units }),
        ..TraceEvent::default()
    }
}

fn instant(at_ns: u64, what: &EventKind) -> Option<TraceEvent<'_>> {
    let worker = what.worker()?;
    let failed = |op: &u64, message: &str| json!({ "op": op, "message": visible(message) });
    let extended = |op: &u64, ms: Option<u64>| json!({ "op": op, "valid_ms": ms });
    let (name, args) = match what {
        EventKind::Cancel { op, .. } => ("gives up", json!({ "op": op })),
        EventKind::Refused { op, .. } => ("refused", json!({ "op": op })),
        EventKind::Reentered { op, granted, .. } => {
            ("takes it again", json!({ "op": op, "granted": granted }))
        }
        EventKind::SectionFailed { op, .. } => ("section failed", json!({ "op": op })),
        EventKind::AcquireFailed { op, message, .. } => ("acquire failed", failed(op, message)),
        EventKind::ReleaseFailed { op, message, .. } => ("release failed", failed(op, message)),
        EventKind::Extended { op, valid_ms, .. } => ("extended", extended(op, Some(*valid_ms))),
        EventKind::ExtendGranted { op, valid_ms, .. } => ("extended", extended(op, *valid_ms)),
        EventKind::ExtendRefused { op, .. } => ("extension refused", json!({ "op": op })),
        EventKind::ExtendFailed { op, message, .. } => ("extension failed", failed(op, message)),
        EventKind::MayAct { op, epoch, .. } => ("may act", json!({ "op": op, "epoch": epoch })),
        EventKind::ActFailed { op, message, .. } => ("act failed", failed(op, message)),
        EventKind::Lost { op, .. } => ("lost", json!({ "op": op })),
        EventKind::StockRead { op, stock, .. } => ("read", json!({ "op": op, "stock": stock })),
        EventKind::StockChanged { op, from, to, .. } => {
            ("sold", json!({ "op": op, "from": from, "to": to }))
        }
        EventKind::FencedOff {
            op, fence, highest, ..
        } => (
            "fenced off",
            json!({ "op": op, "fence": fence, "highest": highest }),
        ),
        EventKind::Released { op, released, .. } => {
            ("released", json!({ "op": op, "was_its_own": released }))
        }
        EventKind::WorkerUp { .. } => ("up", Value::Null),
        EventKind::WorkerDown { reason, .. } => ("down", json!({ "reason": visible(reason) })),
        EventKind::Misbehaved { detail, .. } => {
            ("misbehaved", json!({ "detail": visible(detail) }))
        }
        _ => return None,
    };
    Some(TraceEvent {
        name: name.into(),
        cat: "event",
        ph: 'i',
        ts: us(at_ns),
        dur: None,
        pid: WORKERS,
        tid: worker,
        s: Some('t'),
        args,
    })
}
