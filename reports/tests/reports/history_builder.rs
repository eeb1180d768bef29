//! Handwritten histories. Each call adds an event; times are in milliseconds.

use picklock_verdicts::history::{Event, EventKind, History, read_history};

pub struct HistoryBuilder {
    history: History,
}

impl HistoryBuilder {
    pub fn new(workers: usize) -> Self {
        let header = format!(
            concat!(
                r#"{{"format":"picklock-history/1","scenario":"gc-pause","lock":"set-nx-px","#,
                r#""backend":"sim","seed":7,"workers":{},"nodes":1,"keys":["stock"],"ttl_ms":1000,"#,
                r#""stock_start":3,"update":"decrement","min_grants":2,"#,
                r#""progress_within_ms":3000}}"#,
            ),
            workers
        );
        HistoryBuilder {
            history: read_history(header.as_bytes()).expect("a valid header"),
        }
    }

    pub fn done(self) -> History {
        self.history
    }

    pub fn at(mut self, at_ms: u64, what: EventKind) -> Self {
        self.history.events.push(Event {
            at_ns: at_ms * 1_000_000,
            what,
        });
        self
    }

    pub fn acquire(self, at_ms: u64, worker: usize, op: u64) -> Self {
        let what = EventKind::Acquire {
            worker,
            op,
            key: 0,
            ttl_ms: 1_000,
            wait_ms: 3_000,
            intended_ns: None,
            weight: 1,
        };
        self.at(at_ms, what)
    }

    /// Adds a request for a buyer of an open loop who arrived at `intended_ms`.
    pub fn acquire_intended_at(
        mut self,
        at_ms: u64,
        worker: usize,
        op: u64,
        intended_ms: u64,
    ) -> Self {
        self = self.acquire(at_ms, worker, op);
        let last = self.history.events.last_mut().map(|event| &mut event.what);
        if let Some(EventKind::Acquire { intended_ns, .. }) = last {
            *intended_ns = Some(intended_ms * 1_000_000);
        }
        self
    }

    /// Adds a grant of a lock that reports its validity.
    pub fn granted(self, at_ms: u64, worker: usize, op: u64) -> Self {
        let mut events = self.history.events.iter().rev();
        let request = events.find(
            |e| matches!(e.what, EventKind::Acquire { op: requested, .. } if requested == op),
        );
        let elapsed_ms = request.map(|request| at_ms - request.at_ns / 1_000_000);
        let what = EventKind::Granted {
            worker,
            op,
            token: format!("token-{op}"),
            fence: None,
            valid_ms: Some(998),
            elapsed_ms,
        };
        self.at(at_ms, what)
    }

    pub fn sold(self, at_ms: u64, worker: usize, op: u64, to: i64) -> Self {
        let what = EventKind::StockChanged {
            worker,
            op,
            key: 0,
            from: to + 1,
            to,
            belated: None,
        };
        self.at(at_ms, what)
    }

    pub fn released(self, at_ms: u64, worker: usize, op: u64) -> Self {
        let released = EventKind::Released {
            worker,
            op,
            released: Some(true),
            last_command_ns: None,
        };
        self.at(at_ms, EventKind::Release { worker, op })
            .at(at_ms + 1, released)
    }

    /// Adds a whole purchase without disturbances.
    pub fn purchase(self, at_ms: u64, worker: usize, op: u64, left: i64) -> Self {
        self.acquire(at_ms, worker, op)
            .granted(at_ms + 2, worker, op)
            .sold(at_ms + 100, worker, op, left)
            .released(at_ms + 101, worker, op)
    }

    pub fn fault(self, at_ms: u64, id: u32, fault: &str, worker: usize) -> Self {
        let what = EventKind::FaultBegan {
            id,
            fault: fault.into(),
            detail: format!("{fault} of client {worker}"),
            workers: vec![worker],
            nodes: vec![],
            clock: None,
            delay_ms: None,
        };
        self.at(at_ms, what)
    }

    pub fn fault_ended(self, at_ms: u64, id: u32) -> Self {
        self.at(at_ms, EventKind::FaultEnded { id })
    }
}
