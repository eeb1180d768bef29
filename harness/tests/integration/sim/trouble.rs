//! Locks that cannot be simulated or that fail. The error names the lock's worker, and no lock causes a hang.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use picklock_harness::assemble::{About, assemble};
use picklock_harness::check::{Property, Status, judge};
use picklock_harness::history::{EndReason, EventKind, History, Misbehaviour};
use picklock_harness::sim::{LockFactory, SimError, Simulation, run, run_with_patience};
use picklock_impls::{Context, Grant, Lock, LockError, Node, find};
use picklock_scenarios::{Scenario, catalog};

use super::{simulate, simulation};

/// The action of a failing lock's client during `acquire`.
type Action = fn(&mut Node) -> futures_util::future::LocalBoxFuture<'_, ()>;

/// A lock whose first client performs an action once, and whose other clients never acquire.
struct FailingLock {
    redis: Node,
    action: Option<Action>,
}

impl Lock for FailingLock {
    async fn acquire(
        &mut self,
        _: &str,
        _: Duration,
        _: Duration,
    ) -> Result<Option<Grant>, LockError> {
        if let Some(action) = self.action.take() {
            action(&mut self.redis).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        Ok(None)
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

/// Creates a simulation in which only client 0 performs the action.
fn failing(action: Action) -> Simulation {
    let made = AtomicUsize::new(0);
    let lock = LockFactory::new("troublesome", 1, move |nodes: Vec<Node>, _: Context| {
        let first = made.fetch_add(1, Ordering::Relaxed) == 0;
        FailingLock {
            redis: nodes.into_iter().next().unwrap(),
            action: first.then_some(action),
        }
    });
    let mut scenario = catalog::named("calm").unwrap();
    scenario.workload.limit = picklock_scenarios::LeaseDuration::Ttl(20.0);
    simulation(scenario, &lock, 1)
}

/// Returns why client 0 exited on its own.
fn exit_reason(history: &History) -> String {
    let downs = history.events.iter().filter_map(|event| match &event.what {
        EventKind::WorkerDown {
            worker: 0,
            by_fault: false,
            reason,
            ..
        } => Some(reason.clone()),
        _ => None,
    });
    let downs: Vec<String> = downs.collect();
    assert_eq!(downs.len(), 1, "{downs:?}");
    // The other workers continued until the end.
    let end = history.events.last().unwrap();
    assert!(matches!(
        end.what,
        EventKind::End {
            reason: EndReason::Limit,
            ..
        }
    ));
    downs.into_iter().next().unwrap()
}

/// A lock that never sends a command, and grants every request.
struct SendsNothing(u64);

impl Lock for SendsNothing {
    async fn acquire(
        &mut self,
        _: &str,
        _: Duration,
        _: Duration,
    ) -> Result<Option<Grant>, LockError> {
        self.0 += 1;
        Ok(Some(Grant {
            token: self.0.to_string(),
            fence: Some(self.0),
            valid_until: None,
        }))
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
        Ok(true)
    }
}

/// The lock may use other servers, so even its violations prove nothing.
#[test]
fn lock_without_commands_is_inconclusive() {
    let lock = LockFactory::new("silent", 1, |_: Vec<Node>, _: Context| SendsNothing(0));
    let history = simulate("calm", &lock, 1);
    let grants = history.events.iter().filter(|event| {
        matches!(&event.what, EventKind::GrantWithoutCommand { nodes, .. } if nodes == &["sim://node-0"])
    });
    assert_eq!(grants.count(), history.header.workers, "each worker once");
    for (property, verdict) in judge(&history) {
        assert_eq!(verdict.status, Status::Unknown, "{property:?}");
        let story = verdict.story.join(" ");
        assert!(
            story.contains("it should use sim://node-0"),
            "{property:?}: {story}"
        );
    }
}

#[test]
fn lock_that_never_lets_time_pass_is_stuck() {
    let spin: Action = |_| {
        Box::pin(async {
            loop {
                tokio::task::yield_now().await;
            }
        })
    };
    let reason = exit_reason(&run(failing(spin)).unwrap().history);
    assert!(reason.starts_with("stuck: took 100000 turns"), "{reason}");
}

#[test]
fn lock_that_never_answers_is_hung() {
    let wait: Action = |_| Box::pin(std::future::pending());
    let history = run(failing(wait)).unwrap().history;
    assert_eq!(
        exit_reason(&history),
        "no answer to `acquire` within 14.0 s"
    );
    let hung = |what: &EventKind| {
        matches!(
            what,
            EventKind::Misbehaved {
                worker: 0,
                kind: Misbehaviour::Hung,
                ..
            }
        )
    };
    assert!(history.events.iter().any(|event| hung(&event.what)));
}

#[test]
fn panic_message_is_recorded() {
    let panic: Action = |_| Box::pin(async { panic!("the vault is open") });
    let reason = exit_reason(&run(failing(panic)).unwrap().history);
    assert_eq!(reason, "panicked: the vault is open");
}

/// Blocks the thread during `turns` turns.
async fn sleep_in_turns(turns: u32) {
    for _ in 0..turns {
        #[expect(
            clippy::disallowed_methods,
            reason = "a lock that does it is what is looked for"
        )]
        std::thread::sleep(Duration::from_millis(250));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[test]
fn blocking_sleep_is_rejected() {
    let sleep: Action = |_| Box::pin(sleep_in_turns(3));
    let reason = exit_reason(&run(failing(sleep)).unwrap().history);
    assert!(reason.starts_with("refused: slept for "), "{reason}");
}

/// On a busy machine a thread sometimes waits for the disk or for another thread.
#[test]
fn two_blocking_turns_are_accepted() {
    let sleep: Action = |_| Box::pin(sleep_in_turns(2));
    let history = run(failing(sleep)).unwrap().history;
    assert_eq!(accusations(&history), [] as [&EventKind; 0]);
}

/// Returns the events that accuse a worker.
fn accusations(history: &History) -> Vec<&EventKind> {
    let events = history.events.iter().map(|event| &event.what);
    let accusations = |what: &&EventKind| {
        matches!(
            what,
            EventKind::WorkerDown { .. } | EventKind::Misbehaved { .. }
        )
    };
    events.filter(accusations).collect()
}

/// Keeps every CPU busy until it is dropped.
struct Load(Arc<AtomicBool>);

impl Load {
    fn begin() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let threads = std::thread::available_parallelism().map_or(4, usize::from) * 2;
        for _ in 0..threads {
            let over = Arc::clone(&over);
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Load(over)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Computes for a while without sleeping.
fn work_hard(_: &mut Node) -> futures_util::future::LocalBoxFuture<'_, ()> {
    Box::pin(async {
        let mut sum = 0u64;
        for number in 0..20_000_000u64 {
            sum = std::hint::black_box(sum.wrapping_add(number));
        }
    })
}

#[test]
fn long_computation_on_a_busy_machine_is_accepted() {
    let _load = Load::begin();
    let history = run(failing(work_hard)).unwrap().history;
    assert_eq!(accusations(&history), [] as [&EventKind; 0]);
}

#[test]
fn endless_loop_is_an_error() {
    // A thread that does not yield cannot be stopped from outside.
    static OVER: AtomicBool = AtomicBool::new(false);
    let endless: Action = |_| {
        Box::pin(async {
            while !OVER.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        })
    };
    let patience = Duration::from_millis(300);
    let result = run_with_patience(failing(endless), patience);
    OVER.store(true, Ordering::Relaxed);
    let error = result.unwrap_err();
    assert!(
        matches!(error, SimError::Stuck { worker: 0, .. }),
        "{error:?}"
    );
    insta::assert_snapshot!(error, @"stuck: client 0 has not yielded for 0.3 s of real time; a lock that loops or blocks without ever reaching an `.await` cannot be simulated");
}

#[test]
fn limit_ends_a_run_without_progress() {
    let nothing: Action = |_| Box::pin(async {});
    let history = run(failing(nothing)).unwrap().history;
    let end = history.events.last().unwrap();
    assert!(matches!(
        end.what,
        EventKind::End {
            reason: EndReason::Limit,
            ..
        }
    ));
    assert_eq!(
        judge(&history)[&Property::Progress].status,
        Status::Violated
    );
}

#[test]
fn unknown_command_makes_the_run_inconclusive() {
    let send_unknown: Action = |redis| {
        Box::pin(async {
            let answer: Result<(), _> = redis::cmd("MAKECOFFEE").query_async(redis).await;
            answer.unwrap_err();
        })
    };
    let history = run(failing(send_unknown)).unwrap().history;
    for (property, verdict) in judge(&history) {
        if property == Property::Progress {
            continue;
        }
        assert_ne!(verdict.status, Status::Held, "{property}");
        if verdict.status == Status::Unknown {
            assert!(
                verdict
                    .story
                    .iter()
                    .any(|line| line.contains("`MAKECOFFEE`")),
                "{verdict:#?}"
            );
        }
    }
}

/// The client of the probe panics as well, so progress is unknown.
#[test]
fn lock_that_always_panics_holds_nothing() {
    let lock = LockFactory::new("panics", 1, |nodes: Vec<Node>, _: Context| FailingLock {
        redis: nodes.into_iter().next().unwrap(),
        action: Some(|_| Box::pin(async { panic!("always") })),
    });
    let history = simulate("calm", &lock, 1);
    for (property, verdict) in judge(&history) {
        assert_ne!(verdict.status, Status::Held, "{property}");
    }
}

/// A run in which a fault never fires is inconclusive.
#[test]
fn fault_that_never_fires_is_inconclusive() {
    let text = "name = \"never\"\nsummary = \"Its trigger never fires.\"\n\
                [[fault]]\nkind = \"cut\"\nwhen = { on = \"request\", command = \"FLUSHALL\" }";
    let scenario = Scenario::parse(text, "the test").unwrap();
    let lock = LockFactory::built_in(find("set-nx-px").unwrap());
    let history = run(simulation(scenario, &lock, 1)).unwrap().history;
    assert_eq!(judge(&history)[&Property::Lease].status, Status::Unknown);
}

/// A lock that answers each acquisition with an error.
struct OnlyFails;

impl Lock for OnlyFails {
    async fn acquire(
        &mut self,
        _: &str,
        _: Duration,
        _: Duration,
    ) -> Result<Option<Grant>, LockError> {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Err(LockError::Ambiguous("no such pool".into()))
    }

    async fn release(&mut self, _: &str, _: &Grant) -> Result<bool, LockError> {
        Ok(false)
    }
}

/// Without an early end, such a run lasts until the limit of its scenario. A fault may be the reason of the errors.
#[test]
fn run_with_only_errors_ends_early_unless_there_was_a_fault() {
    let ended = |scenario: &str| {
        let lock = LockFactory::new("only-fails", 1, |_: Vec<Node>, _: Context| OnlyFails);
        let history = simulate(scenario, &lock, 1);
        let end = history.events.last().unwrap().clone();
        let EventKind::End { reason, .. } = end.what else {
            panic!("{end:?}");
        };
        (history, reason, end.at_ns)
    };
    let (history, reason, at_ns) = ended("calm");
    assert_eq!(reason, EndReason::OnlyErrors);
    assert!(at_ns < 10_000_000_000, "{at_ns}");
    let record = assemble(&history, judge(&history), About::default());
    let warnings: Vec<&str> = record
        .warnings
        .iter()
        .map(|one| one.text.as_str())
        .collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].ends_with("no such pool"), "{warnings:?}");
    let (_, reason, _) = ended("clock-skew");
    assert_eq!(reason, EndReason::Limit);
}
