//! Attempts of buyers: requests, answers, the times of the holds, and the lock's reports about the leases.

use std::collections::BTreeMap;

use super::line::{File, Line, MS};

/// The answer to the request to acquire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// No answer: the worker died, or the run ended.
    None,
    /// Another client has the lock.
    Refused,
    /// An error; `true` if certainly nothing was taken.
    Failed(bool),
    /// The lock was granted.
    Granted,
}

/// A report about the client's lease.
#[derive(Debug, Clone, Copy)]
pub struct Report {
    /// When the report arrived.
    pub at: u64,
    /// The client may rely on its lease at least until this time.
    pub min: u64,
    /// The client may rely on its lease no longer than until this time.
    pub max: u64,
    /// Whether the lock reported a validity. Otherwise the deadline follows from the requested lease.
    pub claims: bool,
    /// Whether this is the grant itself.
    pub is_grant: bool,
}

/// An attempt to buy.
#[derive(Debug, Clone)]
pub struct Attempt {
    pub op: u64,
    pub worker: u64,
    pub key: u64,
    pub requested_at: u64,
    /// The part of the lock's capacity that a grant takes.
    pub weight: u64,
    /// The requested lease in nanoseconds.
    pub ttl: u64,
    pub answer: Answer,
    /// When the answer arrived, or when the attempt ended without one.
    pub answered: u64,
    pub token: String,
    pub fence: Option<u64>,
    /// The reports of the grant and of the extensions, in order.
    pub reports: Vec<Report>,
    /// When the release was sent, the worker died, or the run ended.
    pub until: u64,
    /// When the release was sent.
    pub release: Option<u64>,
    /// When the release was answered, and the answer: `Some(true)` is success, and `None` is an error or no
    /// statement.
    pub released: Option<(u64, Option<bool>)>,
    /// Whether the release ended in an error.
    pub release_failed: bool,
    /// Whether the worker died before it released.
    pub killed: bool,
    /// Leases requested by extensions, in nanoseconds.
    pub extensions: Vec<u64>,
    /// Times of the requests and the answers of refused extensions.
    pub refused_extensions: Vec<(u64, u64)>,
    extend_requested_at: u64,
    /// When the last command of its latest extension changed a key.
    extended_at: u64,
    /// When its first command changed a key, before it was answered.
    wrote_at: Option<u64>,
    /// When it last wrote before it was answered; the nodes are in `nodes`.
    taken: Option<u64>,
    nodes: Vec<u64>,
    /// The nodes and keys to which it wrote.
    places: Vec<(u64, String)>,
    /// When the first value that it wrote since its latest report expires.
    runs_out: u64,
    /// Minimum and maximum time between the sending and the reading of its request.
    late: (u64, u64),
    last_answer: u64,
    open: bool,
}

impl Attempt {
    pub fn granted(&self) -> bool {
        self.answer == Answer::Granted
    }

    /// Returns when the grant arrived.
    pub fn from(&self) -> u64 {
        self.answered
    }

    /// Returns the hold: from the arrival of the grant to the sending of the release.
    pub fn hold(&self) -> (u64, u64) {
        (self.answered, self.until)
    }

    /// Returns the parts of the hold in which the lease certainly ran or, with `max`, may have run.
    pub fn leased(&self, max: bool) -> Vec<(u64, u64)> {
        let mut parts = Vec::new();
        for (index, report) in self.reports.iter().enumerate() {
            let next = self
                .reports
                .get(index + 1)
                .map_or(self.until, |next| next.at);
            let deadline = if max { report.max } else { report.min };
            let end = deadline.min(next).min(self.until);
            // A lease that was over on arrival never ran.
            if deadline > report.at && end >= report.at {
                parts.push((report.at, end));
            }
        }
        parts
    }

    /// Returns the deadline of the latest report at this time.
    pub fn deadline_at(&self, at: u64) -> u64 {
        let mut before = self.reports.iter().filter(|report| report.at <= at);
        before.next_back().map_or(0, |report| report.min)
    }

    fn record_report(&mut self, line: &Line, from: u64, lease: u64, is_grant: bool) {
        let valid = line.num("valid_ms").map(|ms| ms.saturating_mul(MS));
        let reported_elapsed = line.num("elapsed_ms").map(|ms| ms.saturating_mul(MS));
        // A value far longer than the wait is ignored.
        let elapsed =
            reported_elapsed.filter(|it| *it <= line.at - from + 10 * MS + self.ttl / 100);
        if let (true, Some(elapsed), Some(wrote)) = (is_grant, elapsed, self.wrote_at) {
            let shown = wrote.saturating_sub(from + elapsed + MS);
            if shown > 0 {
                self.late = (shown, wrote - from);
            }
        }
        let span = valid.unwrap_or(lease);
        // If nothing is reported, a single server shows when the lease began.
        if let (true, None, Some(taken), 1) = (is_grant, valid, self.taken, self.nodes.len()) {
            self.reports.push(Report {
                at: line.at,
                min: taken.saturating_add(span).saturating_sub(2 * MS),
                max: taken.saturating_add(span),
                claims: false,
                is_grant,
            });
            self.last_answer = line.at;
            return;
        }
        let late = if from == self.requested_at {
            self.late
        } else {
            (0, 0)
        };
        let min = match (valid, elapsed) {
            // Nothing was reported, so the lease counts from the request.
            (None, _) => from.saturating_add(lease),
            // A worker that was stalled has read the request later than it was sent; its command shows when.
            (Some(_), Some(elapsed)) => {
                let wrote = self.wrote_at.filter(|_| is_grant).unwrap_or(0);
                let after_reading = from.saturating_add(elapsed).saturating_add(late.0);
                let reported_at = after_reading.max(self.extended_at).max(wrote).min(line.at);
                reported_at.saturating_add(span)
            }
            (Some(_), None) => from.max(self.last_answer).saturating_add(span),
        };
        let max = match (valid, elapsed) {
            (Some(_), Some(elapsed)) if late.1 > 0 => {
                let reported_at = from.saturating_add(elapsed).saturating_add(late.1 + MS);
                reported_at
                    .min(line.at)
                    .saturating_add(span)
                    .min(self.runs_out)
            }
            (Some(_), Some(_)) => min,
            _ => line.at.saturating_add(span),
        };
        self.reports.push(Report {
            at: line.at,
            min,
            max: max.max(min),
            claims: valid.is_some(),
            is_grant,
        });
        self.last_answer = line.at;
        if from == self.requested_at {
            self.runs_out = u64::MAX;
        }
    }

    /// Records a new expiry for a client without reported validity: its lease may run longer.
    fn record_possible_renewal(&mut self, at: u64) {
        let until = at.saturating_add(self.ttl);
        let is_observed = self.taken.is_some() && self.nodes.len() == 1 && self.open;
        let Some(last) = self.reports.last().copied() else {
            return;
        };
        if is_observed && !self.reports[0].claims && until > last.max {
            self.reports.push(Report {
                at,
                max: until,
                ..last
            });
        }
    }

    /// Records that the client was notified of its loss.
    fn record_loss(&mut self, at: u64) {
        self.reports.push(Report {
            at,
            min: 0,
            max: 0,
            claims: false,
            is_grant: false,
        });
    }

    fn answer(&mut self, line: &Line, answer: Answer) {
        self.answer = answer;
        self.answered = line.at;
        self.last_answer = line.at;
        self.open = answer == Answer::Granted;
    }

    fn process(&mut self, line: &Line) {
        match line.event.as_str() {
            "granted" => {
                self.answer(line, Answer::Granted);
                self.token = line.text("token").to_owned();
                self.fence = line.num("fence");
                self.last_answer = self.requested_at;
                self.record_report(line, self.requested_at, self.ttl, true);
            }
            "refused" => self.answer(line, Answer::Refused),
            "acquire-failed" => self.answer(line, Answer::Failed(line.flag("definite"))),
            // Whoever was asked to release has given the lock up, even if the report comes at the same time.
            "extended" if self.release.is_some() => {}
            "extended" => self.record_report(line, self.requested_at, self.ttl, false),
            "extend" => {
                self.extend_requested_at = line.at;
                let lease = line.num("ttl_ms").unwrap_or_default() * MS;
                self.extensions.push(lease);
            }
            "extend-granted" => {
                let lease = self.extensions.last().copied().unwrap_or(self.ttl);
                self.last_answer = self.extend_requested_at;
                self.record_report(line, self.extend_requested_at, lease, false);
                self.extended_at = 0;
            }
            "extend-refused" => {
                self.refused_extensions
                    .push((self.extend_requested_at, line.at));
                self.record_loss(line.at);
            }
            "lost" => self.record_loss(line.at),
            "release" => {
                self.release = Some(line.at);
                self.until = line.at;
                self.open = false;
            }
            "released" => {
                self.released = Some((line.at, line.raw("released").as_bool()));
            }
            "release-failed" => {
                self.released = Some((line.at, None));
                self.release_failed = true;
            }
            _ => {}
        }
    }

    fn begin(line: &Line) -> Attempt {
        Attempt {
            op: line.num("op").expect("op"),
            worker: line.num("worker").expect("worker"),
            key: line.num("key").expect("key"),
            requested_at: line.at,
            weight: line.num("weight").unwrap_or(1),
            ttl: line.num("ttl_ms").expect("ttl_ms") * MS,
            answer: Answer::None,
            answered: u64::MAX,
            token: String::new(),
            fence: None,
            reports: Vec::new(),
            until: u64::MAX,
            release: None,
            released: None,
            release_failed: false,
            killed: false,
            extensions: Vec::new(),
            refused_extensions: Vec::new(),
            extend_requested_at: line.at,
            extended_at: 0,
            wrote_at: None,
            taken: None,
            nodes: Vec::new(),
            places: Vec::new(),
            runs_out: u64::MAX,
            late: (0, 0),
            last_answer: line.at,
            open: true,
        }
    }
}

/// Returns when the run ended its clients, which is before it probes the locks.
fn clients_end(file: &File) -> u64 {
    let mut ends = file.events("commands-sent").map(|line| line.at);
    ends.next().unwrap_or(file.end())
}

/// Returns all attempts of the buyers, in the order of their requests.
pub fn attempts(file: &File) -> Vec<Attempt> {
    let mut by_op: BTreeMap<u64, Attempt> = BTreeMap::new();
    let mut order = Vec::new();
    for line in &file.lines {
        match line.event.as_str() {
            "acquire" => {
                let attempt = Attempt::begin(line);
                order.push(attempt.op);
                by_op.insert(attempt.op, attempt);
            }
            "worker-down" => {
                let worker = line.num("worker");
                for attempt in by_op.values_mut() {
                    if Some(attempt.worker) == worker && attempt.open {
                        attempt.open = false;
                        attempt.killed = true;
                        attempt.until = attempt.until.min(line.at);
                        attempt.answered = attempt.answered.min(line.at);
                    }
                }
            }
            "key-changed" => {
                let attempt = line.op().and_then(|op| by_op.get_mut(&op));
                let Some(attempt) = attempt else { continue };
                let is_of_lock = line.has("ttl_ms") || line.raw("key").is_u64();
                let node = line.num("node").unwrap_or_default();
                let place = (node, line.raw("key").to_string());
                let counts = matches!(line.text("phase"), "acquire" | "idle");
                if counts && is_of_lock && line.has("value") && attempt.runs_out == u64::MAX {
                    let lives = line.num("ttl_ms").map(|ms| ms.saturating_mul(MS));
                    attempt.runs_out = line.at.saturating_add(lives.unwrap_or(u64::MAX));
                }
                match line.text("phase") {
                    "extend" => attempt.extended_at = line.at,
                    "acquire" if line.has("value") && attempt.answer == Answer::None => {
                        attempt.wrote_at.get_or_insert(line.at);
                        if is_of_lock {
                            attempt.taken = Some(line.at);
                            if !attempt.nodes.contains(&node) {
                                attempt.nodes.push(node);
                            }
                            attempt.places.push(place);
                        }
                    }
                    // Keys next to the lock's own renew nothing.
                    "idle" if line.has("value") && attempt.places.contains(&place) => {
                        attempt.record_possible_renewal(line.at);
                    }
                    _ => {}
                }
            }
            _ => {
                if let Some(attempt) = line.op().and_then(|op| by_op.get_mut(&op)) {
                    attempt.process(line);
                }
            }
        }
    }
    let end = file.end();
    let mut all: Vec<Attempt> = order.iter().filter_map(|op| by_op.remove(op)).collect();
    for attempt in &mut all {
        attempt.until = attempt.until.min(end);
        if attempt.answer == Answer::None {
            attempt.answered = attempt.answered.min(clients_end(file));
        }
        attempt.answered = attempt.answered.min(end);
    }
    all
}

/// Returns when two spans begin to overlap. Spans that only touch do not overlap; a span of zero length strictly
/// inside the other one does.
pub fn overlap(one: (u64, u64), other: (u64, u64)) -> Option<u64> {
    let (from, until) = (one.0.max(other.0), one.1.min(other.1));
    let inside = |point: (u64, u64), span: (u64, u64)| {
        point.0 == point.1 && span.0 < point.0 && point.0 < span.1
    };
    (from < until || inside(one, other) || inside(other, one)).then_some(from)
}
