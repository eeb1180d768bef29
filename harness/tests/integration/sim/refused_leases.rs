//! Locks that reject the lease of the scenario.

use std::time::Duration;

use picklock_harness::Trial;
use picklock_harness::check::{Cause, Property, Status};
use picklock_harness::trial::{Outcome, TrialRun};
use picklock_impls::{Context, DynLock, Grant, Lock, LockError, Node, find};

/// `set-nx-px` that rejects some leases with a definite error.
struct RejectsLease {
    lock: Box<dyn DynLock>,
    rejects: fn(Duration) -> bool,
}

impl Lock for RejectsLease {
    async fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, LockError> {
        if (self.rejects)(ttl) {
            return Err(LockError::BadCall("only what suits me".into()));
        }
        self.lock.acquire(key, ttl, wait).await
    }

    async fn extend(
        &mut self,
        key: &str,
        grant: &Grant,
        ttl: Duration,
    ) -> Result<Option<Grant>, LockError> {
        self.lock.extend(key, grant, ttl).await
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        self.lock.release(key, grant).await
    }
}

/// A lock that checks the lease only after it has taken the key.
struct LeavesKeys(Node);

impl Lock for LeavesKeys {
    async fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        _: Duration,
    ) -> Result<Option<Grant>, LockError> {
        let taken: bool = redis::Cmd::set_nx(key, "me")
            .query_async(&mut self.0)
            .await?;
        match ttl.subsec_millis() {
            0 if !taken => Ok(None),
            _ => Err(LockError::BadCall("only what suits me".into())),
        }
    }

    async fn extend(
        &mut self,
        _: &str,
        _: &Grant,
        _: Duration,
    ) -> Result<Option<Grant>, LockError> {
        Ok(None)
    }

    async fn release(&mut self, _: &str, _: &Grant) -> Result<bool, LockError> {
        Ok(false)
    }
}

fn run_rejecting(scenario: &str, rejects: fn(Duration) -> bool) -> Outcome {
    let build = move |nodes: Vec<Node>, context: Context| RejectsLease {
        lock: (find("set-nx-px").unwrap().build)(nodes, context),
        rejects,
    };
    let trial = Trial::scenario(scenario).unwrap().seeds(1..4);
    trial.run("choosy", 1, build).unwrap()
}

fn statuses(run: &TrialRun) -> Vec<Status> {
    run.verdicts
        .values()
        .map(|verdict| verdict.status)
        .collect()
}

fn is_not_applicable_because(run: &TrialRun, expected: &str) {
    let judged = Property::ALL
        .iter()
        .filter(|it| run.history.header.judges(**it));
    let all: Vec<Status> = judged.map(|_| Status::NotApplicable).collect();
    assert_eq!(statuses(run), all);
    let story = run.verdicts[&Property::Progress].story.join("\n");
    assert_eq!(story, expected);
}

#[test]
fn rejected_odd_lease_is_not_applicable() {
    for run in run_rejecting("fractional-lease", |ttl| ttl.subsec_millis() > 0).runs() {
        let expected = "the lock refuses a lease of 1500 ms, but grants one of 2000 ms: invalid call: only what suits me";
        is_not_applicable_because(run, expected);
        // The run ends before its limit.
        assert!(run.history.events.last().unwrap().at_ns < 2_000_000_000);
    }
}

/// This also applies if faults wait for a holder that does not exist.
#[test]
fn rejected_short_lease_is_not_applicable() {
    for run in run_rejecting("holder-crash", |ttl| ttl < Duration::from_secs(10)).runs() {
        let expected = "the lock refuses a lease of 1000 ms, but grants one of 30000 ms: invalid call: only what suits me";
        is_not_applicable_because(run, expected);
    }
}

/// A definite error promises that nothing has happened.
#[test]
fn rejection_that_leaves_a_key_is_not_excused() {
    let build = |nodes: Vec<Node>, _: Context| LeavesKeys(nodes.into_iter().next().unwrap());
    let trial = Trial::scenario("fractional-lease").unwrap().seeds(1..4);
    for run in trial.run("littering", 1, build).unwrap().runs() {
        let progress = &run.verdicts[&Property::Progress];
        assert_eq!(progress.status, Status::Violated);
        assert_eq!(progress.cause, Some(Cause::NoTtl));
    }
}

#[test]
fn lock_that_rejects_every_lease_makes_no_progress() {
    for run in run_rejecting("fractional-lease", |_| true).runs() {
        let progress = &run.verdicts[&Property::Progress];
        assert_eq!(progress.status, Status::Violated);
    }
}
