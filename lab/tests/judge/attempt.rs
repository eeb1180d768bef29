//! Attempts of buyers: what was asked, what was answered, when the hold began and ended, and what the
//! client was told about its lease.

use std::collections::BTreeMap;

use super::line::{File, Line, MS};

/// How the request to acquire ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Not at all: the worker died, or the run ended.
    None,
    /// Another client has it.
    Refused,
    /// An error. `true`: certainly nothing was taken.
    Failed(bool),
    /// Granted.
    Granted,
}

/// Something that the client was told about its lease.
#[derive(Debug, Clone, Copy)]
pub struct Told {
    /// When it arrived.
    pub at: u64,
    /// The client may rely on its lease at least until then.
    pub least: u64,
    /// And certainly not longer than until then.
    pub most: u64,
    /// True if a validity was told; false if the deadline only follows from the lease asked for.
    pub claims: bool,
    /// True for the grant itself.
    pub is_grant: bool,
}

/// One attempt.
#[derive(Debug, Clone)]
pub struct Attempt {
    pub op: u64,
    pub worker: u64,
    pub key: u64,
    pub asked: u64,
    /// The lease asked for, nanoseconds.
    pub ttl: u64,
    pub answer: Answer,
    /// When the answer arrived, or the attempt ended without one.
    pub answered: u64,
    pub token: String,
    pub fence: Option<u64>,
    /// The grant and the extensions, in order.
    pub told: Vec<Told>,
    /// When the release was sent, the worker was gone, or the run ended.
    pub until: u64,
    /// When the release was sent.
    pub release: Option<u64>,
    /// When the release was answered, and what: `Some(true)` is success, `None` nothing or an error.
    pub released: Option<(u64, Option<bool>)>,
    /// It was an error.
    pub release_failed: bool,
    /// True if the worker was gone before it released.
    pub killed: bool,
    /// Leases that were asked for in extensions, nanoseconds.
    pub extensions: Vec<u64>,
    /// When those were asked for that were refused, and when that was said.
    pub refused_extensions: Vec<(u64, u64)>,
    extend_asked: u64,
    /// When its last command of an extension changed a key.
    extended_at: u64,
    /// When its first command changed a key, before it was answered.
    wrote_at: Option<u64>,
    /// When it wrote last before it was answered, and on how many nodes.
    taken: Option<u64>,
    nodes: Vec<u64>,
    /// In which keys of which nodes.
    places: Vec<(u64, String)>,
    /// When what it wrote first since it last told of its lease has run out.
    runs_out: u64,
    /// How much later than it was sent its request was read at least, and at most.
    late: (u64, u64),
    last_answer: u64,
    open: bool,
}

impl Attempt {
    pub fn granted(&self) -> bool {
        self.answer == Answer::Granted
    }

    /// When the grant arrived.
    pub fn from(&self) -> u64 {
        self.answered
    }

    /// The hold: grant arrived, release sent.
    pub fn hold(&self) -> (u64, u64) {
        (self.answered, self.until)
    }

    /// The parts of the hold in which the lease ran. `most`: as far as it may have run.
    pub fn leased(&self, most: bool) -> Vec<(u64, u64)> {
        let mut parts = Vec::new();
        for (index, told) in self.told.iter().enumerate() {
            let next = self.told.get(index + 1).map_or(self.until, |next| next.at);
            let deadline = if most { told.most } else { told.least };
            let end = deadline.min(next).min(self.until);
            // A lease that was over on arrival never ran, not even for a moment.
            if deadline > told.at && end >= told.at {
                parts.push((told.at, end));
            }
        }
        parts
    }

    /// What the client had been told last at this time, and the deadline of it.
    pub fn deadline_at(&self, at: u64) -> u64 {
        let mut before = self.told.iter().filter(|told| told.at <= at);
        before.next_back().map_or(0, |told| told.least)
    }

    fn hear(&mut self, line: &Line, from: u64, lease: u64, is_grant: bool) {
        let valid = line.num("valid_ms").map(|ms| ms.saturating_mul(MS));
        let elapsed = line.num("elapsed_ms").map(|ms| ms.saturating_mul(MS));
        // A figure that is far longer than anybody has waited is none.
        let elapsed = elapsed.filter(|it| *it <= line.at - from + 10 * MS + self.ttl / 100);
        if let (true, Some(elapsed), Some(wrote)) = (is_grant, elapsed, self.wrote_at) {
            let shown = wrote.saturating_sub(from + elapsed + MS);
            if shown > 0 {
                self.late = (shown, wrote - from);
            }
        }
        let span = valid.unwrap_or(lease);
        // One server shows since when a lease runs of which nothing is told.
        if let (true, None, Some(taken), 1) = (is_grant, valid, self.taken, self.nodes.len()) {
            self.told.push(Told {
                at: line.at,
                least: taken.saturating_add(span).saturating_sub(2 * MS),
                most: taken.saturating_add(span),
                claims: false,
                is_grant,
            });
            self.last_answer = line.at;
            return;
        }
        let late = if from == self.asked {
            self.late
        } else {
            (0, 0)
        };
        let least = match (valid, elapsed) {
            // Nothing was told: the lease counts from the request.
            (None, _) => from.saturating_add(lease),
            // A worker that stood still has read the request later than it was sent, and its command shows
            // when.
            (Some(_), Some(elapsed)) => {
                let wrote = self.wrote_at.filter(|_| is_grant).unwrap_or(0);
                let said = from.saturating_add(elapsed).saturating_add(late.0);
                let said = said.max(self.extended_at).max(wrote).min(line.at);
                said.saturating_add(span)
            }
            (Some(_), None) => from.max(self.last_answer).saturating_add(span),
        };
        let most = match (valid, elapsed) {
            (Some(_), Some(elapsed)) if late.1 > 0 => {
                let said = from.saturating_add(elapsed).saturating_add(late.1 + MS);
                said.min(line.at).saturating_add(span).min(self.runs_out)
            }
            (Some(_), Some(_)) => least,
            _ => line.at.saturating_add(span),
        };
        self.told.push(Told {
            at: line.at,
            least,
            most: most.max(least),
            claims: valid.is_some(),
            is_grant,
        });
        self.last_answer = line.at;
        if from == self.asked {
            self.runs_out = u64::MAX;
        }
    }

    /// A command set an expiry for a client that is told nothing: its lease may run for longer.
    fn perhaps_renewed(&mut self, at: u64) {
        let until = at.saturating_add(self.ttl);
        let seen = self.taken.is_some() && self.nodes.len() == 1 && self.open;
        let Some(last) = self.told.last().copied() else {
            return;
        };
        if seen && !self.told[0].claims && until > last.most {
            self.told.push(Told {
                at,
                most: until,
                ..last
            });
        }
    }

    /// The client knows that it has no lease any more.
    fn lose(&mut self, at: u64) {
        self.told.push(Told {
            at,
            least: 0,
            most: 0,
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

    fn see(&mut self, line: &Line) {
        match line.event.as_str() {
            "granted" => {
                self.answer(line, Answer::Granted);
                self.token = line.text("token").to_owned();
                self.fence = line.num("fence");
                self.last_answer = self.asked;
                self.hear(line, self.asked, self.ttl, true);
            }
            "refused" => self.answer(line, Answer::Refused),
            "acquire-failed" => self.answer(line, Answer::Failed(line.flag("definite"))),
            "extended" => self.hear(line, self.asked, self.ttl, false),
            "extend" => {
                self.extend_asked = line.at;
                let lease = line.num("ttl_ms").unwrap_or_default() * MS;
                self.extensions.push(lease);
            }
            "extend-granted" => {
                let lease = self.extensions.last().copied().unwrap_or(self.ttl);
                self.last_answer = self.extend_asked;
                self.hear(line, self.extend_asked, lease, false);
                self.extended_at = 0;
            }
            "extend-refused" => {
                self.refused_extensions.push((self.extend_asked, line.at));
                self.lose(line.at);
            }
            "lost" => self.lose(line.at),
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
            asked: line.at,
            ttl: line.num("ttl_ms").expect("ttl_ms") * MS,
            answer: Answer::None,
            answered: u64::MAX,
            token: String::new(),
            fence: None,
            told: Vec::new(),
            until: u64::MAX,
            release: None,
            released: None,
            release_failed: false,
            killed: false,
            extensions: Vec::new(),
            refused_extensions: Vec::new(),
            extend_asked: line.at,
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

/// All attempts of the buyers, in the order in which they were asked.
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
                let of_lock = line.has("ttl_ms") || line.raw("key").is_u64();
                let node = line.num("node").unwrap_or_default();
                let place = (node, line.raw("key").to_string());
                let counts = matches!(line.text("phase"), "acquire" | "idle");
                if counts && of_lock && line.has("value") && attempt.runs_out == u64::MAX {
                    let lives = line.num("ttl_ms").map(|ms| ms.saturating_mul(MS));
                    attempt.runs_out = line.at.saturating_add(lives.unwrap_or(u64::MAX));
                }
                match line.text("phase") {
                    "extend" => attempt.extended_at = line.at,
                    "acquire" if line.has("value") && attempt.answer == Answer::None => {
                        attempt.wrote_at.get_or_insert(line.at);
                        if of_lock {
                            attempt.taken = Some(line.at);
                            if !attempt.nodes.contains(&node) {
                                attempt.nodes.push(node);
                            }
                            attempt.places.push(place);
                        }
                    }
                    // What stands beside the lock renews nothing.
                    "idle" if line.has("value") && attempt.places.contains(&place) => {
                        attempt.perhaps_renewed(line.at);
                    }
                    _ => {}
                }
            }
            _ => {
                if let Some(attempt) = line.op().and_then(|op| by_op.get_mut(&op)) {
                    attempt.see(line);
                }
            }
        }
    }
    let end = file.end();
    let mut all: Vec<Attempt> = order.iter().filter_map(|op| by_op.remove(op)).collect();
    for attempt in &mut all {
        attempt.until = attempt.until.min(end);
        attempt.answered = attempt.answered.min(end);
    }
    all
}

/// When two spans begin to overlap. Spans that only touch do not; a span of no length strictly
/// inside the other does.
pub fn overlap(one: (u64, u64), other: (u64, u64)) -> Option<u64> {
    let (from, until) = (one.0.max(other.0), one.1.min(other.1));
    let inside = |point: (u64, u64), span: (u64, u64)| {
        point.0 == point.1 && span.0 < point.0 && point.0 < span.1
    };
    (from < until || inside(one, other) || inside(other, one)).then_some(from)
}
