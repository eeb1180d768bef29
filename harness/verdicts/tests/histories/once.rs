//! The property `once`, judged in short histories of two workers and two ticks.

use picklock_verdicts::check::{
    Cause, InconclusiveReason, Property, Status, TickExcuse, Verdict, judge,
};
use picklock_verdicts::history::read_history;

/// Events of two workers at two ticks, at 2 s and at 4 s. A lease lasts 1 s.
struct Ticks {
    lines: Vec<String>,
}

impl Ticks {
    fn new() -> Self {
        Ticks { lines: Vec::new() }
    }

    fn event(mut self, at_ms: u64, event: &str, more: &str) -> Self {
        let at_ns = at_ms * 1_000_000;
        let line = format!(r#"{{"at_ns":{at_ns},"event":"{event}"{more}}}"#);
        self.lines.push(line);
        self
    }

    fn of(self, at_ms: u64, worker: usize, op: u64, event: &str, more: &str) -> Self {
        let more = format!(r#","worker":{worker},"op":{op}{more}"#);
        self.event(at_ms, event, &more)
    }

    /// The worker gets the tick and requests the lock.
    fn comes(self, at_ms: u64, worker: usize, op: u64, tick: u64) -> Self {
        let due = format!(r#","worker":{worker},"tick":{tick}"#);
        let acquire = r#","key":0,"ttl_ms":1000,"wait_ms":0"#;
        self.event(at_ms, "tick-due", &due)
            .of(at_ms, worker, op, "acquire", acquire)
    }

    /// The worker gets the tick, and is refused.
    fn refused(self, at_ms: u64, worker: usize, op: u64, tick: u64) -> Self {
        self.comes(at_ms, worker, op, tick)
            .of(at_ms + 1, worker, op, "refused", "")
    }

    /// The worker gets the tick and the lock, and begins its job.
    fn begins(self, at_ms: u64, worker: usize, op: u64, tick: u64) -> Self {
        let job = format!(r#","key":0,"tick":{tick}"#);
        self.comes(at_ms, worker, op, tick)
            .of(
                at_ms + 1,
                worker,
                op,
                "granted",
                &format!(r#","token":"t{op}""#),
            )
            .of(at_ms + 1, worker, op, "job-began", &job)
    }

    fn releases(self, at_ms: u64, worker: usize, op: u64) -> Self {
        self.of(at_ms, worker, op, "release", "").of(
            at_ms + 1,
            worker,
            op,
            "released",
            r#","released":true"#,
        )
    }

    /// The worker runs the job of the tick for some time.
    fn runs(self, at_ms: u64, worker: usize, op: u64, tick: u64, job_ms: u64) -> Self {
        self.begins(at_ms, worker, op, tick)
            .releases(at_ms + job_ms, worker, op)
    }

    fn once(self, schedule: &str) -> Verdict {
        let header = format!(
            r#"{{"format":"picklock-history/1","scenario":"q","lock":"s","backend":"sim","seed":1,"workers":2,"nodes":1,"keys":["k"],"ttl_ms":1000,"stock_start":1,"update":"decrement","min_grants":1,"progress_within_ms":3000,"schedule":{{"interval_ms":2000,"ticks":2{schedule}}}}}"#
        );
        let end = r#","reason":"served","stock_left":[1],"sold":[0]"#;
        let lines = self.event(9000, "end", end).lines.join("\n");
        let history = read_history(format!("{header}\n{lines}").as_bytes()).unwrap();
        judge(&history).remove(&Property::Once).unwrap()
    }
}

fn first_tick() -> Ticks {
    Ticks::new()
        .begins(2000, 0, 1, 1)
        .refused(2100, 1, 2, 1)
        .releases(2500, 0, 1)
}

fn cause(verdict: &Verdict) -> (Status, Option<Cause>) {
    (verdict.status, verdict.cause)
}

const HELD: (Status, Option<Cause>) = (Status::Held, None);

#[test]
fn tick_that_each_instance_wants_runs_once() {
    let verdict = first_tick()
        .begins(4000, 1, 3, 2)
        .refused(4100, 0, 4, 2)
        .releases(4500, 1, 3)
        .once("");
    assert_eq!(cause(&verdict), HELD);
}

#[test]
fn second_run_after_the_release_is_a_violation() {
    let verdict = Ticks::new()
        .runs(2000, 0, 1, 1, 20)
        .runs(2200, 1, 2, 1, 20)
        .runs(4000, 0, 3, 2, 500)
        .once("");
    let ran_twice = (Status::Violated, Some(Cause::RanTwice));
    assert_eq!(cause(&verdict), ran_twice);
    assert!(verdict.summary.contains("tick 1 ran twice"), "{verdict:?}");
}

#[test]
fn tick_without_a_holder_is_skipped() {
    let verdict = first_tick()
        .refused(4000, 0, 3, 2)
        .refused(4100, 1, 4, 2)
        .once("");
    let skipped = (Status::Violated, Some(Cause::SkippedTick));
    assert_eq!(cause(&verdict), skipped);
    assert!(
        verdict.summary.contains("tick 2 did not run"),
        "{verdict:?}"
    );
}

#[test]
fn tick_during_a_job_is_not_skipped() {
    let verdict = Ticks::new()
        .begins(2000, 0, 1, 1)
        .refused(2100, 1, 2, 1)
        .refused(4000, 1, 3, 2)
        .releases(4500, 0, 1)
        .once("");
    assert_eq!(cause(&verdict), HELD);
}

#[test]
fn lease_of_a_dead_client_and_a_declared_hold_excuse() {
    let died = |at_ms| {
        let down = r#","worker":0,"by_fault":true,"reason":"killed""#;
        Ticks::new()
            .begins(2000, 0, 1, 1)
            .refused(2100, 1, 2, 1)
            .event(at_ms, "worker-down", down)
            .refused(4000, 1, 3, 2)
            .once("")
    };
    assert_eq!(cause(&died(3500)), HELD);
    assert_eq!(died(2200).cause, Some(Cause::SkippedTick));
    let kept = |declared: &str| {
        let refused = first_tick().refused(4000, 0, 3, 2);
        refused.refused(4100, 1, 4, 2).once(declared)
    };
    assert_eq!(kept(r#"},"min_hold_ms":1700,"x":{"#).status, Status::Held);
    assert_eq!(kept("").status, Status::Violated);
}

#[test]
fn machine_that_stalls_skips_no_tick_and_runs_none_twice() {
    let stall = r#","node":0,"since_ns":3900000000,"stalled_ms":200"#;
    let verdict = first_tick()
        .comes(4000, 0, 3, 2)
        .event(4100, "node-stalled", stall)
        .of(4101, 0, 3, "refused", "")
        .once("");
    let reason = InconclusiveReason::TickMissed {
        tick: 2,
        by: TickExcuse::Stall(100),
    };
    assert_eq!(
        (verdict.status, verdict.reasons),
        (Status::Unknown, vec![reason])
    );
    let stall = r#","late_ms":150"#;
    let verdict = Ticks::new()
        .runs(2000, 0, 1, 1, 20)
        .event(2200, "harness-stalled", stall)
        .runs(2300, 1, 2, 1, 20)
        .runs(4000, 0, 3, 2, 500)
        .once("");
    let reason = InconclusiveReason::LateTick {
        tick: 1,
        stalled_ms: 150,
    };
    assert_eq!(
        (verdict.status, verdict.reasons),
        (Status::Unknown, vec![reason])
    );
}

#[test]
fn fault_that_keeps_redis_away_skips_no_tick() {
    let partition = |nodes: &str| {
        let began = format!(
            r#","id":0,"fault":"pause-node","detail":"pause-node of node 0","nodes":{nodes}"#
        );
        first_tick()
            .event(3900, "fault-began", &began)
            .refused(4000, 0, 3, 2)
            .refused(4100, 1, 4, 2)
            .event(4200, "fault-ended", r#","id":0"#)
            .once("")
    };
    let reason = InconclusiveReason::TickMissed {
        tick: 2,
        by: TickExcuse::Fault,
    };
    let verdict = partition("[0]");
    assert_eq!(
        (verdict.status, verdict.reasons),
        (Status::Unknown, vec![reason])
    );
    assert_eq!(partition("[]").status, Status::Violated);
}

/// A fault that keeps a client away makes no difference while a job keeps the lock.
#[test]
fn fault_during_an_earlier_job_changes_nothing() {
    let frozen = |at_ms: u64, job_ms: u64, workers: &str| {
        let began = format!(
            r#","id":0,"fault":"pause-client","detail":"pause-client","workers":{workers}"#
        );
        Ticks::new()
            .begins(2000, 0, 1, 1)
            .refused(2100, 1, 2, 1)
            .event(at_ms, "fault-began", &began)
            .releases(2000 + job_ms, 0, 1)
            .once("")
    };
    assert_eq!(cause(&frozen(2200, 3000, "[1]")), HELD);
    assert_eq!(frozen(2200, 900, "[1]").status, Status::Unknown);
}

/// An attempt that certainly took nothing does not excuse the refusal of another one.
#[test]
fn definite_failure_leaves_the_lock_free() {
    let failed = |definite: bool| {
        let began = r#","id":0,"fault":"answer","detail":"answer","workers":[0],"nodes":[0]"#;
        let failure = format!(r#","definite":{definite},"message":"BUSY""#);
        first_tick()
            .event(3900, "fault-began", began)
            .comes(4000, 0, 3, 2)
            .of(4001, 0, 3, "acquire-failed", &failure)
            .refused(4100, 1, 4, 2)
            .once("")
    };
    assert_eq!(failed(true).cause, Some(Cause::SkippedTick));
    assert_eq!(cause(&failed(false)), HELD);
}

/// A lock that is granted while the replicas are cut off does not need them.
#[test]
fn cut_replicas_excuse_only_a_lock_that_needs_them() {
    let began = r#","id":0,"fault":"cut-replication","detail":"cut-replication","nodes":[0]"#;
    let refused = |ticks: Ticks| {
        let ticks = ticks.refused(4000, 0, 3, 2);
        ticks.refused(4100, 1, 4, 2).once("")
    };
    let cut_before = Ticks::new()
        .event(1000, "fault-began", began)
        .begins(2000, 0, 1, 1)
        .refused(2100, 1, 2, 1)
        .releases(2500, 0, 1);
    assert_eq!(refused(cut_before).cause, Some(Cause::SkippedTick));
    let cut_after = first_tick().event(3000, "fault-began", began);
    assert_eq!(refused(cut_after).status, Status::Unknown);
}

/// Each of the two requests may have taken the lock from the other one, but no node was reachable.
#[test]
fn requests_that_no_node_answers_do_not_excuse_each_other() {
    let began = r#","id":0,"fault":"pause-node","detail":"pause-node of node 0","nodes":[0]"#;
    let failed = |ticks: Ticks, at_ms, worker, op| {
        ticks.comes(at_ms, worker, op, 2).of(
            at_ms + 50,
            worker,
            op,
            "acquire-failed",
            r#","definite":false,"message":"no answer""#,
        )
    };
    let paused = first_tick().event(3900, "fault-began", began);
    let first = failed(paused, 4000, 0, 3);
    let both = failed(first, 4100, 1, 4).event(4200, "fault-ended", r#","id":0"#);
    assert_eq!(both.once("").status, Status::Unknown);
}

#[test]
fn missed_tick_may_run_later_if_it_is_made_up_for() {
    let job = r#","key":0,"tick":1"#;
    let late = |schedule| {
        Ticks::new()
            .refused(2000, 0, 1, 1)
            .refused(2100, 1, 2, 1)
            .comes(4000, 0, 3, 2)
            .of(4001, 0, 3, "granted", r#","token":"t3""#)
            .of(4001, 0, 3, "job-began", job)
            .releases(4300, 0, 3)
            .begins(4400, 1, 4, 2)
            .releases(4700, 1, 4)
            .once(schedule)
    };
    assert_eq!(cause(&late(r#","catches_up":true"#)), HELD);
}
