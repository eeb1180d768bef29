//! Chrome trace events: a timeline of each kept run that `ui.perfetto.dev` opens.
//!
//! Process 1 is the workers, process 2 the faults, process 3 counts the stock, process 4 shows when
//! which worker was frozen (apart from the first, because a freeze may begin in a wait and end in a
//! hold, and events of one track must nest).
//! A complete event (`X`) is a wait, a hold, the part of a hold after its lease had run out, or a
//! fault; an instant (`i`) a refusal, an error, or a lost worker; a counter (`C`) the stock. Times
//! are microseconds since the run began. The format:
//! <https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU>.

use std::borrow::Cow;
use std::collections::BTreeMap;

use picklock_verdicts::check::{Hold, HoldEnd, fault_spans, holds};
use picklock_verdicts::history::{History, What};
use serde::Serialize;
use serde_json::{Value, json};

use crate::escape::visible;
use crate::file_name::Names;
use crate::formats::{File, FormatError};
use crate::material::{Evidence, Material};

const WORKERS: u32 = 1;
const FAULTS: u32 = 2;
const STOCK: u32 = 3;
const FROZEN: u32 = 4;

/// One event of the trace; fields as the format names them.
#[derive(Debug, Serialize)]
struct TraceEvent<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    cat: &'static str,
    ph: char,
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    pid: u32,
    tid: usize,
    /// The scope of an instant: its thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<char>,
    #[serde(skip_serializing_if = "Value::is_null")]
    args: Value,
}

/// A trace under `traces/` for each run whose history was kept.
///
/// # Errors
/// No run has kept its history.
pub fn files(material: &Material) -> Result<Vec<File>, FormatError> {
    let mut names = Names::default();
    let mut files = Vec::new();
    for evidence in &material.evidence {
        let Some(history) = &evidence.history else {
            continue;
        };
        let record = &evidence.record;
        let name = names.take(&[
            &record.subject.name,
            &record.scenario,
            record.backend.word(),
        ]);
        files.push(File {
            name: format!("traces/{name}.trace.json"),
            bytes: trace(evidence, history)?,
        });
    }
    match files.is_empty() {
        true => Err(FormatError::Nothing {
            format: "trace",
            reason: "no run here has kept its history; keep it with --out when you run",
        }),
        false => Ok(files),
    }
}

fn trace(evidence: &Evidence, history: &History) -> Result<Vec<u8>, FormatError> {
    let mut events = Pen::default();
    events.extend(tracks(history));
    holding(history, &mut events);
    events.extend(faults(history));
    events.extend(frozen(history));
    moments(history, &mut events);
    let record = &evidence.record;
    let other = json!({
        "impl": visible(&record.subject.name),
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

/// The trace as it grows. Each event is written at once: a million of them would take several times
/// the room of their text.
#[derive(Default)]
struct Pen {
    text: Vec<u8>,
    /// The first event that could not be written.
    error: Option<serde_json::Error>,
}

impl Pen {
    fn push(&mut self, event: TraceEvent<'_>) {
        let before: &[u8] = match self.text.is_empty() {
            true => br#"{"traceEvents":["#,
            false => b",\n",
        };
        self.text.extend_from_slice(before);
        if let Err(error) = serde_json::to_writer(&mut self.text, &event) {
            self.error.get_or_insert(error);
        }
    }

    fn extend<'a>(&mut self, events: impl IntoIterator<Item = TraceEvent<'a>>) {
        for event in events {
            self.push(event);
        }
    }

    /// The whole document. There is always an event: the names of the tracks.
    fn close(mut self, other: &Value) -> Result<Vec<u8>, serde_json::Error> {
        self.text
            .extend_from_slice(br#"],"displayTimeUnit":"ms","otherData":"#);
        let written = serde_json::to_writer(&mut self.text, other);
        self.text.push(b'}');
        match self.error {
            Some(error) => Err(error),
            None => written.map(|()| self.text),
        }
    }
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1_000.0
}

fn track(kind: &'static str, pid: u32, tid: usize, name: String) -> TraceEvent<'static> {
    TraceEvent {
        name: kind.into(),
        cat: "",
        ph: 'M',
        ts: 0.0,
        dur: None,
        pid,
        tid,
        s: None,
        args: json!({ "name": name }),
    }
}

/// The names of processes and of their tracks.
fn tracks(history: &History) -> Vec<TraceEvent<'static>> {
    let mut events = vec![
        track("process_name", WORKERS, 0, "workers".into()),
        track("process_name", FAULTS, 0, "faults".into()),
        track("process_name", STOCK, 0, "stock".into()),
    ];
    for worker in 0..history.header.workers {
        events.push(track(
            "thread_name",
            WORKERS,
            worker,
            format!("worker {worker}"),
        ));
    }
    for (lane, span) in lanes(history).into_iter().zip(fault_spans(history)) {
        let name = visible(span.fault).into_owned();
        events.push(track("thread_name", FAULTS, lane, name));
    }
    events
}

fn complete<'a>(
    name: impl Into<Cow<'a, str>>,
    cat: &'static str,
    (pid, tid): (u32, usize),
    (from_ns, until_ns): (u64, u64),
    args: Value,
) -> TraceEvent<'a> {
    TraceEvent {
        name: name.into(),
        cat,
        ph: 'X',
        ts: us(from_ns),
        dur: Some(us(until_ns.saturating_sub(from_ns))),
        pid,
        tid,
        s: None,
        args,
    }
}

/// Waits, holds, and what of a hold lay after the end of its lease.
fn holding(history: &History, events: &mut Pen) {
    for hold in holds(history) {
        let place = (WORKERS, hold.worker);
        let args = json!({ "op": hold.op });
        events.push(complete(
            "waits",
            "wait",
            place,
            (hold.acquire_ns, hold.begin_ns),
            args,
        ));
        let span = (hold.begin_ns, hold.end_ns);
        events.push(complete(
            "holds",
            "hold",
            place,
            span,
            about(history, &hold),
        ));
        // The last lease may have been over before the grant arrived.
        let over_ns = hold.deadline_ns.max(hold.begin_ns);
        if over_ns < hold.end_ns {
            let args = json!({ "op": hold.op });
            let span = (over_ns, hold.end_ns);
            events.push(complete("lease over", "outlived", place, span, args));
        }
    }
}

fn about(history: &History, hold: &Hold) -> Value {
    let key = history.header.keys.get(hold.key as usize);
    json!({
        "op": hold.op,
        "key": key.map(|key| visible(key)),
        "token": visible(&hold.token),
        "fence": hold.fence,
        "lease_until_us": us(hold.deadline_ns),
        "lease_is_the_subjects_word": hold.told,
        "ended": ended(hold.ended),
    })
}

fn ended(end: HoldEnd) -> &'static str {
    match end {
        HoldEnd::Open => "with the run",
        HoldEnd::Released => "by release",
        HoldEnd::Killed => "with its worker",
    }
}

/// On which track each fault is drawn: faults that overlap without nesting need one each.
fn lanes(history: &History) -> Vec<usize> {
    let last_ns = last_ns(history);
    let mut free_at_ns: Vec<u64> = Vec::new();
    let spans = fault_spans(history);
    let lanes = spans.iter().map(|span| {
        let until_ns = span.ended_ns.unwrap_or(last_ns).max(span.began_ns);
        match free_at_ns
            .iter()
            .position(|free_ns| *free_ns <= span.began_ns)
        {
            Some(lane) => {
                free_at_ns[lane] = until_ns;
                lane
            }
            None => {
                free_at_ns.push(until_ns);
                free_at_ns.len() - 1
            }
        }
    });
    lanes.collect()
}

fn last_ns(history: &History) -> u64 {
    history.events.last().map_or(0, |event| event.at_ns)
}

fn faults(history: &History) -> Vec<TraceEvent<'_>> {
    let last_ns = last_ns(history);
    let mut events = Vec::new();
    for (lane, span) in lanes(history).into_iter().zip(fault_spans(history)) {
        let until_ns = span.ended_ns.unwrap_or(last_ns);
        let args = json!({
            "detail": visible(span.detail),
            "workers": span.workers,
            "over": span.ended_ns.is_some(),
        });
        let times = (span.began_ns, until_ns);
        events.push(complete(
            visible(span.fault),
            "fault",
            (FAULTS, lane),
            times,
            args,
        ));
    }
    events
}

/// When workers were frozen; freezes that overlap are one.
fn frozen(history: &History) -> Vec<TraceEvent<'static>> {
    let last_ns = last_ns(history);
    let mut of_worker: BTreeMap<usize, Vec<(u64, u64)>> = BTreeMap::new();
    let spans = fault_spans(history);
    for span in spans.iter().filter(|span| span.fault == "pause-client") {
        let (from_ns, until_ns) = (span.began_ns, span.ended_ns.unwrap_or(last_ns));
        for worker in span.workers {
            let frozen = of_worker.entry(*worker).or_default();
            match frozen.last_mut() {
                Some(last) if from_ns <= last.1 => last.1 = last.1.max(until_ns),
                _ => frozen.push((from_ns, until_ns)),
            }
        }
    }
    let mut events = Vec::new();
    if !of_worker.is_empty() {
        events.push(track("process_name", FROZEN, 0, "frozen".into()));
    }
    for (worker, frozen) in of_worker {
        events.push(track(
            "thread_name",
            FROZEN,
            worker,
            format!("worker {worker}"),
        ));
        let place = (FROZEN, worker);
        let frozen = frozen.into_iter();
        events.extend(frozen.map(|times| complete("frozen", "frozen", place, times, Value::Null)));
    }
    events
}

/// Waits that ended without a grant, from the request on.
#[derive(Default)]
struct Waits(BTreeMap<u64, (usize, u64)>);

impl Waits {
    fn over(&mut self, op: u64, at_ns: u64) -> Option<TraceEvent<'static>> {
        let (worker, from_ns) = self.0.remove(&op)?;
        let args = json!({ "op": op, "granted": false });
        let place = (WORKERS, worker);
        Some(complete("waits", "wait", place, (from_ns, at_ns), args))
    }

    /// All that `whose` still waited for; a dead worker waits no longer.
    fn all_over(&mut self, whose: Option<usize>, at_ns: u64) -> Vec<TraceEvent<'static>> {
        let open = self.0.iter();
        let of = |worker: usize| whose.is_none_or(|gone| gone == worker);
        let ops: Vec<u64> = open
            .filter(|(_, wait)| of(wait.0))
            .map(|(op, _)| *op)
            .collect();
        ops.into_iter()
            .filter_map(|op| self.over(op, at_ns))
            .collect()
    }
}

/// Instants, the waits that ended without a grant, and the stock.
fn moments(history: &History, events: &mut Pen) {
    let mut waits = Waits::default();
    for event in &history.events {
        let at_ns = event.at_ns;
        match &event.what {
            What::Acquire { worker, op, .. } => {
                waits.0.insert(*op, (*worker, at_ns));
            }
            What::Granted { op, .. } => {
                waits.0.remove(op);
            }
            What::Refused { op, .. } | What::AcquireFailed { op, .. } => {
                events.extend(waits.over(*op, at_ns));
            }
            What::WorkerDown { worker, .. } => events.extend(waits.all_over(Some(*worker), at_ns)),
            What::StockChanged { key, to, .. } => events.push(stock(history, at_ns, *key, *to)),
            _ => {}
        }
        events.extend(instant(at_ns, &event.what));
    }
    events.extend(waits.all_over(None, last_ns(history)));
}

fn stock(history: &History, at_ns: u64, key: u32, units: i64) -> TraceEvent<'_> {
    let key = history.header.keys.get(key as usize);
    TraceEvent {
        name: key.map_or(Cow::Borrowed("stock"), |key| visible(key)),
        cat: "stock",
        ph: 'C',
        ts: us(at_ns),
        dur: None,
        pid: STOCK,
        tid: 0,
        s: None,
        args: json!({ "units": units }),
    }
}

fn instant(at_ns: u64, what: &What) -> Option<TraceEvent<'_>> {
    let worker = what.worker()?;
    let (name, args) = match what {
        What::Refused { op, .. } => ("refused", json!({ "op": op })),
        What::AcquireFailed { op, message, .. } => (
            "acquire failed",
            json!({ "op": op, "message": visible(message) }),
        ),
        What::ReleaseFailed { op, message, .. } => (
            "release failed",
            json!({ "op": op, "message": visible(message) }),
        ),
        What::Extended { op, valid_ms, .. } => {
            ("extended", json!({ "op": op, "valid_ms": valid_ms }))
        }
        What::Lost { op, .. } => ("lost", json!({ "op": op })),
        What::StockRead { op, stock, .. } => ("read", json!({ "op": op, "stock": stock })),
        What::StockChanged { op, from, to, .. } => {
            ("sold", json!({ "op": op, "from": from, "to": to }))
        }
        What::FencedOff {
            op, fence, highest, ..
        } => (
            "fenced off",
            json!({ "op": op, "fence": fence, "highest": highest }),
        ),
        What::Released { op, released, .. } => {
            ("released", json!({ "op": op, "was_its_own": released }))
        }
        What::WorkerUp { .. } => ("up", Value::Null),
        What::WorkerDown { reason, .. } => ("down", json!({ "reason": visible(reason) })),
        What::Misbehaved { detail, .. } => ("misbehaved", json!({ "detail": visible(detail) })),
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
