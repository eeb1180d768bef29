//! What an application does in and around a section: sections that fail, locks that are taken twice, clients that end or give
//! up.

use std::time::Duration;

use picklock_harness::Trial;
use picklock_harness::check::{Property, Status};
use picklock_harness::history::{EventKind, Misbehaviour};
use picklock_harness::sim::LockFactory;
use picklock_harness::trial::{Outcome, TrialRun};
use picklock_impls::{Context, DynLock, Grant, Lock, LockError, Node, find};
use picklock_scenarios::catalog;

fn built_in(lock: &str, scenario: &str) -> Outcome {
    let lock = LockFactory::built_in(find(lock).unwrap());
    let trial = Trial::scenario(scenario).unwrap().seeds(0..5);
    trial.run_lock(&lock).unwrap()
}

fn count(run: &TrialRun, is_it: impl Fn(&EventKind) -> bool) -> usize {
    let events = run.history.events.iter();
    events.filter(|event| is_it(&event.what)).count()
}

#[test]
fn failing_section_sells_nothing_and_is_released() {
    for run in built_in("set-nx-px", "failing-section").runs() {
        let mut failed = 0;
        for event in &run.history.events {
            let EventKind::SectionFailed { worker, op } = event.what else {
                continue;
            };
            failed += 1;
            let sells = |what: &EventKind| matches!(what, EventKind::StockChanged { op: of, .. } if *of == op);
            assert_eq!(count(run, sells), 0);
            let released = |what: &EventKind| matches!(what, EventKind::Released { worker: who, op: of, released: Some(true), .. } if (*who, *of) == (worker, op));
            assert_eq!(count(run, released), 1);
        }
        assert!((1..=3).contains(&failed), "{failed} sections failed");
    }
}

#[test]
fn holder_takes_its_lock_twice_and_has_it_until_the_outermost_release() {
    let ran = built_in("reentrant", "reentrant");
    for property in [Property::Exclusion, Property::Lease, Property::Claims] {
        ran.assert_held(property);
    }
    for run in ran.runs() {
        let twice = |what: &EventKind| matches!(what, EventKind::Reentered { granted: true, .. });
        let back = |what: &EventKind| matches!(what, EventKind::InnerReleased { .. });
        assert!(count(run, twice) >= 4);
        assert_eq!(count(run, twice), count(run, back));
    }
}

/// `set-nx-px` that says that it can, and cannot.
struct OverstatesFeatures(Box<dyn DynLock>);

impl Lock for OverstatesFeatures {
    async fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, LockError> {
        self.0.acquire(key, ttl, wait).await
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        self.0.release(key, grant).await
    }

    fn is_reentrant(&self) -> bool {
        true
    }
}

#[test]
fn lock_that_calls_itself_reentrant_and_refuses_its_holder_is_not_applicable() {
    let trial = Trial::scenario("reentrant").unwrap().seeds([1]);
    let build = |nodes: Vec<Node>, context: Context| {
        OverstatesFeatures((find("set-nx-px").unwrap().build)(nodes, context))
    };
    let ran = trial.run("boastful", 1, build).unwrap();
    let progress = &ran.runs()[0].verdicts[&Property::Progress];
    assert_eq!(progress.status, Status::NotApplicable);
    let said = progress.story.join("\n");
    assert_eq!(
        said,
        "the lock does not offer to be taken again by its holder"
    );
}

#[test]
fn client_that_ends_is_dead_once_and_asks_for_nothing_more() {
    for run in built_in("watchdog", "ended-client").runs() {
        let died = |what: &EventKind| matches!(what, EventKind::WorkerDown { worker: 0, .. });
        assert_eq!(count(run, died), 1);
        let events = run.history.events.iter();
        let after = events.skip_while(|event| !died(&event.what)).skip(1);
        let asks = |what: &EventKind| {
            matches!(
                what,
                EventKind::Acquire { worker: 0, .. } | EventKind::Extended { worker: 0, .. }
            )
        };
        assert_eq!(after.filter(|event| asks(&event.what)).count(), 0);
    }
}

/// It never answers, whether or not it is told to give up.
struct NeverAnswers;

impl Lock for NeverAnswers {
    async fn acquire(
        &mut self,
        _: &str,
        _: Duration,
        _: Duration,
    ) -> Result<Option<Grant>, LockError> {
        std::future::pending().await
    }

    async fn release(&mut self, _: &str, _: &Grant) -> Result<bool, LockError> {
        Ok(false)
    }
}

#[test]
fn cancel_that_is_never_answered_ends_its_client_and_nothing_is_held() {
    let trial = Trial::scenario("cancel-waiting").unwrap().seeds([1]);
    let ran = trial.run("deaf", 1, |_, _| NeverAnswers).unwrap();
    let run = &ran.runs()[0];
    for worker in 0..4 {
        let of = |what: &EventKind| what.worker() == Some(worker);
        let cancelled = |what: &EventKind| of(what) && matches!(what, EventKind::Cancel { .. });
        assert_eq!(count(run, cancelled), 1);
        let hung = |what: &EventKind| {
            of(what)
                && matches!(what, EventKind::Misbehaved { kind: Misbehaviour::Hung, detail, .. } if detail.contains("`acquire`"))
        };
        assert_eq!(count(run, hung), 1);
        let died = |what: &EventKind| of(what) && matches!(what, EventKind::WorkerDown { .. });
        assert_eq!(count(run, died), 1);
    }
    let is_held = |property: &Property| run.verdicts[property].status == Status::Held;
    assert!(!Property::ALL.iter().any(is_held));
}

/// Neither is the machine's fault, nor the scenario's.
#[test]
fn thread_of_a_simulated_client_cannot_be_blocked_and_that_is_said() {
    let mut scenario = catalog::named("blocked-loop").unwrap();
    scenario.faults[0] = serde_json::from_value(serde_json::json!({
        "kind": "pause-task", "scope": "thread", "when": { "on": "stock-read" }, "for": "1.5ttl"
    }))
    .unwrap();
    let lock = LockFactory::built_in(find("set-nx-px").unwrap());
    let ran = Trial::from_scenario(scenario).seeds([1]).run_lock(&lock);
    let ran = ran.unwrap();
    let exclusion = &ran.runs()[0].verdicts[&Property::Exclusion];
    assert_eq!(exclusion.status, Status::NotApplicable);
    let said = exclusion.story.join("\n");
    assert_eq!(said, "the lock does not offer a blocked thread");
}
