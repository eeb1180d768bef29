//! Measures of handwritten histories. Each call adds an event; times are in milliseconds.

use picklock_verdicts::history::{Event, EventKind, History, read_history};

use super::*;

const MS: u64 = 1_000_000;

struct HistoryBuilder(History);

impl HistoryBuilder {
    fn new(workers: usize) -> Self {
        let header = format!(
            concat!(
                r#"{{"format":"picklock-history/1","scenario":"s","lock":"s","backend":"sim","#,
                r#""seed":1,"workers":{},"nodes":1,"keys":["a","b"],"ttl_ms":100,"#,
                r#""stock_start":3,"update":"decrement","min_grants":0,"#,
                r#""progress_within_ms":3000}}"#,
            ),
            workers
        );
        HistoryBuilder(read_history(header.as_bytes()).unwrap())
    }

    fn at(mut self, at_ms: u64, what: EventKind) -> Self {
        let at_ns = at_ms * MS;
        self.0.events.push(Event { at_ns, what });
        self
    }

    fn acquire(self, at_ms: u64, worker: usize, op: u64) -> Self {
        let what = EventKind::Acquire {
            worker,
            op,
            key: 0,
            ttl_ms: 100,
            wait_ms: 0,
            intended_ns: None,
            weight: 1,
        };
        self.at(at_ms, what)
    }

    fn acquire_intended_at(self, at_ms: u64, worker: usize, op: u64, intended_ms: u64) -> Self {
        let mut history = self.acquire(at_ms, worker, op);
        if let Some(EventKind::Acquire { intended_ns, .. }) =
            history.0.events.last_mut().map(|event| &mut event.what)
        {
            *intended_ns = Some(intended_ms * MS);
        }
        history
    }

    fn granted(self, at_ms: u64, worker: usize, op: u64) -> Self {
        let what = EventKind::Granted {
            worker,
            op,
            token: "t".into(),
            fence: None,
            valid_ms: None,
            elapsed_ms: None,
        };
        self.at(at_ms, what)
    }

    fn refused(self, at_ms: u64, worker: usize, op: u64) -> Self {
        self.at(at_ms, EventKind::Refused { worker, op })
    }

    fn release(self, at_ms: u64, worker: usize, op: u64) -> Self {
        let released = EventKind::Released {
            worker,
            op,
            released: Some(true),
            last_command_ns: None,
        };
        self.at(at_ms, EventKind::Release { worker, op })
            .at(at_ms + 1, released)
    }

    fn purchase(self, at_ms: u64, worker: usize, op: u64) -> Self {
        self.acquire(at_ms, worker, op)
            .granted(at_ms + 2, worker, op)
            .release(at_ms + 10, worker, op)
    }

    fn fault(self, at_ms: u64, id: u32, fault: &str) -> Self {
        let what = EventKind::FaultBegan {
            id,
            fault: fault.into(),
            detail: format!("{fault} description"),
            workers: vec![0],
            nodes: vec![],
            clock: None,
            delay_ms: None,
        };
        self.at(at_ms, what)
    }

    fn fault_ended(self, at_ms: u64, id: u32) -> Self {
        self.at(at_ms, EventKind::FaultEnded { id })
    }

    fn killed(self, at_ms: u64, worker: usize) -> Self {
        let what = EventKind::WorkerDown {
            worker,
            by_fault: true,
            reason: "killed".into(),
            ended_by: None,
        };
        self.at(at_ms, what)
    }

    fn measure(self) -> Measures {
        measure(&Timeline::new(&self.0))
    }
}

/// Returns the number of grants, the maximum latency and the duration in milliseconds, by phase.
fn acquisitions(measures: &Measures) -> Vec<(Phase, u64, u64, u64)> {
    let row = |speed: &Speed| {
        let latency = &speed.acquire.latency_us;
        let length_ms = speed.length_ns / MS;
        (speed.phase, latency.len(), latency.max() / 1_000, length_ms)
    };
    measures.speeds.iter().map(row).collect()
}

#[test]
fn empty_history_has_no_measures() {
    let measures = HistoryBuilder::new(2).measure();
    assert!(measures.speeds.is_empty());
    assert_eq!(measures.fairness.jain, None);
    assert_eq!(measures.fairness.longest_wait, None);
    assert!(measures.recoveries.is_empty() && measures.orphans.is_empty());
}

#[test]
fn operation_belongs_to_the_worst_phase_it_overlaps() {
    let measures = HistoryBuilder::new(1)
        .purchase(0, 0, 1)
        // Requested before the fault, granted during it.
        .acquire(40, 0, 2)
        .fault(50, 0, "delay")
        .granted(60, 0, 2)
        .release(70, 0, 2)
        .fault_ended(80, 0)
        // Within one TTL of 100 ms after its end.
        .purchase(150, 0, 3)
        .purchase(300, 0, 4)
        .purchase(320, 0, 5)
        .measure();
    assert_eq!(
        acquisitions(&measures),
        [
            (Phase::Healthy, 3, 2, 201),
            (Phase::Faulty, 1, 20, 30),
            (Phase::Recovering, 1, 2, 100),
        ]
    );
    let healthy = &measures.speeds[0];
    let rate = healthy.grants_per_s().unwrap();
    assert!((rate - 3.0 / 0.201).abs() < 1e-9, "{rate}");
    assert_eq!(healthy.release.latency_us.len(), 3);
}

#[test]
fn fault_during_recovery_counts_as_faulty() {
    let measures = HistoryBuilder::new(1)
        .fault(0, 0, "delay")
        .fault_ended(10, 0)
        .fault(50, 1, "delay")
        .purchase(55, 0, 1)
        .fault_ended(70, 1)
        .purchase(165, 0, 2)
        .purchase(400, 0, 3)
        .measure();
    assert_eq!(
        acquisitions(&measures),
        [
            (Phase::Healthy, 1, 2, 241),
            (Phase::Faulty, 1, 2, 30),
            (Phase::Recovering, 1, 2, 140),
        ]
    );
}

#[test]
fn instantaneous_fault_has_no_duration_and_endless_one_lasts() {
    let instantaneous = HistoryBuilder::new(2)
        .fault(50, 0, "crash-client")
        .killed(50, 0)
        .purchase(60, 1, 1)
        .purchase(300, 1, 2)
        .fault_ended(311, 0)
        .measure();
    assert_eq!(
        acquisitions(&instantaneous),
        [(Phase::Healthy, 1, 2, 211), (Phase::Recovering, 1, 2, 100),]
    );
    let lasting = HistoryBuilder::new(2)
        .fault(50, 0, "partition")
        .purchase(300, 1, 1)
        .measure();
    assert_eq!(
        acquisitions(&lasting),
        [(Phase::Healthy, 0, 0, 50), (Phase::Faulty, 1, 2, 261)]
    );
}

#[test]
fn unsuccessful_request_is_counted_but_not_timed() {
    let failed = EventKind::AcquireFailed {
        worker: 0,
        op: 2,
        message: "no".into(),
        definite: true,
    };
    let measures = HistoryBuilder::new(2)
        .acquire(0, 0, 1)
        .refused(5, 0, 1)
        .acquire(10, 0, 2)
        .at(11, failed)
        .acquire(12, 0, 3)
        .acquire(13, 1, 4)
        .killed(20, 0)
        .measure();
    let acquire = &measures.speeds[0].acquire;
    assert_eq!(acquire.latency_us.len(), 0);
    assert_eq!(
        (acquire.refused, acquire.failed, acquire.unanswered),
        (1, 1, 2)
    );
}

#[test]
fn jains_index_counts_workers_that_requested() {
    let even = HistoryBuilder::new(3)
        .purchase(0, 0, 1)
        .purchase(20, 1, 2)
        .measure();
    assert_eq!(even.fairness.grants, [1, 1, 0]);
    assert_eq!(
        (even.fairness.requesters, even.fairness.jain),
        (2, Some(1.0))
    );
    let uneven = HistoryBuilder::new(4)
        .acquire(0, 1, 1)
        .acquire(0, 2, 2)
        .acquire(0, 3, 3)
        .purchase(1, 0, 4)
        .measure();
    assert_eq!(uneven.fairness.jain, Some(0.25));
}

#[test]
fn wait_includes_refusals() {
    let measures = HistoryBuilder::new(2)
        .acquire(0, 0, 1)
        .refused(10, 0, 1)
        .acquire(15, 0, 2)
        .refused(25, 0, 2)
        .acquire(30, 0, 3)
        .granted(32, 0, 3)
        .release(40, 0, 3)
        // A new request: the old wait does not count.
        .acquire(50, 0, 4)
        .granted(60, 0, 4)
        .measure();
    let longest = measures.fairness.longest_wait.unwrap();
    assert_eq!(
        (longest.worker, longest.from_ns, longest.waited_ns),
        (0, 0, 32 * MS)
    );
    assert!(longest.granted);
}

#[test]
fn recovery_lasts_from_end_of_fault_to_next_grant() {
    let measures = HistoryBuilder::new(1)
        .fault(10, 0, "pause-node")
        .fault_ended(60, 0)
        .purchase(100, 0, 1)
        .fault(120, 1, "evict")
        .purchase(125, 0, 2)
        .fault(140, 2, "delay")
        .fault_ended(150, 2)
        .fault(160, 3, "partition")
        .measure();
    let seen: Vec<_> = measures
        .recoveries
        .iter()
        .map(|recovery| (recovery.fault.as_str(), recovery.next_grant_ns))
        .collect();
    assert_eq!(
        seen,
        [
            ("pause-node", Some(42 * MS)),
            ("evict", Some(7 * MS)),
            ("delay", None),
        ]
    );
}

#[test]
fn orphaned_lock_blocks_while_it_is_requested() {
    let measures = HistoryBuilder::new(3)
        .acquire(0, 0, 1)
        .granted(2, 0, 1)
        .killed(10, 0)
        .acquire(20, 1, 2)
        .acquire(30, 2, 3)
        .refused(50, 1, 2)
        .refused(60, 2, 3)
        .acquire(90, 1, 4)
        .granted(102, 1, 4)
        .release(110, 1, 4)
        .measure();
    let [orphan] = &measures.orphans[..] else {
        panic!("{:?}", measures.orphans);
    };
    assert_eq!((orphan.worker, orphan.from_ns), (0, 10 * MS));
    assert_eq!(orphan.granted_ns, Some(102 * MS));
    // 20 to 60, and 90 to 102.
    assert_eq!(orphan.blocked_ns, 52 * MS);
    assert!(orphan.died);
}

#[test]
fn failed_release_leaves_an_orphan() {
    let failed = EventKind::ReleaseFailed {
        worker: 0,
        op: 1,
        message: "timeout".into(),
        definite: false,
    };
    let measures = HistoryBuilder::new(2)
        .acquire(0, 0, 1)
        .granted(2, 0, 1)
        .at(10, EventKind::Release { worker: 0, op: 1 })
        .at(12, failed)
        .acquire(20, 1, 2)
        .refused(90, 1, 2)
        .measure();
    let [orphan] = &measures.orphans[..] else {
        panic!("{:?}", measures.orphans);
    };
    assert_eq!((orphan.granted_ns, orphan.died), (None, false));
    assert_eq!(orphan.blocked_ns, 70 * MS);
}

#[test]
fn buyer_queued_during_fault_counts_as_faulty() {
    let measures = HistoryBuilder::new(1)
        .acquire_intended_at(0, 0, 1, 0)
        .granted(1, 0, 1)
        .fault(5, 0, "pause-client")
        .fault_ended(300, 0)
        .release(310, 0, 1)
        // This buyer arrived before the fault ended. Its request was sent long after the fault and its
        // aftermath.
        .acquire_intended_at(450, 0, 2, 200)
        .granted(452, 0, 2)
        .release(460, 0, 2)
        .acquire_intended_at(470, 0, 3, 465)
        .granted(472, 0, 3)
        .measure();
    assert_eq!(
        acquisitions(&measures),
        [
            (Phase::Healthy, 2, 7, 77),
            (Phase::Faulty, 1, 252, 295),
            (Phase::Recovering, 0, 0, 100),
        ]
    );
    let from_request = |index: usize| &measures.speeds[index].from_request_us;
    assert_eq!(
        (from_request(0).len(), from_request(0).max() / 1_000),
        (2, 2)
    );
    assert_eq!(
        (from_request(1).len(), from_request(1).max() / 1_000),
        (1, 2)
    );
}

#[test]
fn open_loop_waits_are_counted_per_buyer() {
    let measures = HistoryBuilder::new(1)
        .acquire_intended_at(100, 0, 1, 20)
        .refused(150, 0, 1)
        // The next buyer, with two requests.
        .acquire_intended_at(160, 0, 2, 110)
        .refused(170, 0, 2)
        .acquire_intended_at(180, 0, 3, 110)
        .granted(200, 0, 3)
        .measure();
    let longest = measures.fairness.longest_wait.unwrap();
    assert_eq!((longest.from_ns, longest.waited_ns), (20 * MS, 130 * MS));
    assert!(!longest.granted);
}
