//! Locks that cannot be simulated, or that fail: named, with their worker, and never a hang.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use picklock_harness::check::{Property, Status, judge};
use picklock_harness::history::{EndReason, EventKind, History, Misbehaviour};
use picklock_harness::sim::{LockFactory, SimError, Simulation, run, run_with_patience};
use picklock_impls::{Context, Grant, Lock, LockError, Node, find};
use picklock_scenarios::{Scenario, catalog};

use super::{simulate, simulation};

/// What the client of a troublesome lock does when it shall acquire.
type Action = fn(&mut Node) -> futures_util::future::LocalBoxFuture<'_, ()>;

/// A lock whose first client does something once, and whose others never get the lock.
struct FailingLock {
    redis: Node,
    deed: Option<Action>,
}

impl Lock for FailingLock {
    async fn acquire(
        &mut self,
        _: &str,
        _: Duration,
        _: Duration,
    ) -> Result<Option<Grant>, LockError> {
        if let Some(deed) = self.deed.take() {
            deed(&mut self.redis).await;
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

/// Only worker 0 does it.
fn troublesome(deed: Action) -> Simulation {
    let made = AtomicUsize::new(0);
    let lock = LockFactory::new("troublesome", 1, move |nodes: Vec<Node>, _: Context| {
        let first = made.fetch_add(1, Ordering::Relaxed) == 0;
        FailingLock {
            redis: nodes.into_iter().next().unwrap(),
            deed: first.then_some(deed),
        }
    });
    let mut scenario = catalog::named("calm").unwrap();
    scenario.workload.limit = picklock_scenarios::LeaseDuration::Ttl(20.0);
    simulation(scenario, &lock, 1)
}

/// Why worker 0 went down by itself.
fn worker_stderr(history: &History) -> String {
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
    // The others went on until the end.
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

/// A lock that never sends a command, and lets everybody in.
struct Silent(u64);

impl Lock for Silent {
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

/// It may use other servers, so not even what it did wrong says anything about it.
#[test]
fn who_sends_no_command_is_not_judged() {
    let lock = LockFactory::new("silent", 1, |_: Vec<Node>, _: Context| Silent(0));
    let history = simulate("calm", &lock, 1);
    let told = history.events.iter().filter(|event| {
        matches!(&event.what, EventKind::GrantWithoutCommand { nodes, .. } if nodes == &["sim://node-0"])
    });
    assert_eq!(told.count(), history.header.workers, "each worker once");
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
fn who_spins_without_letting_time_pass_is_stuck() {
    let spin: Action = |_| {
        Box::pin(async {
            loop {
                tokio::task::yield_now().await;
            }
        })
    };
    let words = worker_stderr(&run(troublesome(spin)).unwrap().history);
    assert!(words.starts_with("stuck: took 100000 turns"), "{words}");
}

#[test]
fn who_waits_for_ever_is_hung() {
    let wait: Action = |_| Box::pin(std::future::pending());
    let history = run(troublesome(wait)).unwrap().history;
    assert_eq!(
        worker_stderr(&history),
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
fn who_panics_is_quoted() {
    let panic: Action = |_| Box::pin(async { panic!("the vault is open") });
    let words = worker_stderr(&run(troublesome(panic)).unwrap().history);
    assert_eq!(words, "panicked: the vault is open");
}

/// Blocks the thread in so many turns.
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
fn who_really_sleeps_is_refused() {
    let sleep: Action = |_| Box::pin(sleep_in_turns(3));
    let words = worker_stderr(&run(troublesome(sleep)).unwrap().history);
    // Measured with the kernel's ticks, which are some milliseconds apart.
    assert!(words.starts_with("refused: it slept for 2"), "{words}");
}

/// A busy machine holds a thread up now and then: it waits for the disk, or for another thread.
#[test]
fn who_is_held_up_twice_is_not_accused() {
    let sleep: Action = |_| Box::pin(sleep_in_turns(2));
    let history = run(troublesome(sleep)).unwrap().history;
    assert_eq!(accused(&history), [] as [&EventKind; 0]);
}

/// What is held against a worker.
fn accused(history: &History) -> Vec<&EventKind> {
    let events = history.events.iter().map(|event| &event.what);
    let accused = |what: &&EventKind| {
        matches!(
            what,
            EventKind::WorkerDown { .. } | EventKind::Misbehaved { .. }
        )
    };
    events.filter(accused).collect()
}

/// Keeps every processor busy until it is dropped.
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

/// Works hard for a while, without sleeping.
fn work_hard(_: &mut Node) -> futures_util::future::LocalBoxFuture<'_, ()> {
    Box::pin(async {
        let mut sum = 0u64;
        for number in 0..20_000_000u64 {
            sum = std::hint::black_box(sum.wrapping_add(number));
        }
    })
}

#[test]
fn who_works_hard_on_a_busy_machine_is_not_accused() {
    let _load = Load::begin();
    let history = run(troublesome(work_hard)).unwrap().history;
    assert_eq!(accused(&history), [] as [&EventKind; 0]);
}

#[test]
fn who_loops_without_giving_way_is_an_error_and_no_hang() {
    // A thread that does not give way cannot be ended from outside.
    static OVER: AtomicBool = AtomicBool::new(false);
    let endless: Action = |_| {
        Box::pin(async {
            while !OVER.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        })
    };
    let patience = Duration::from_millis(300);
    let ran = run_with_patience(troublesome(endless), patience);
    OVER.store(true, Ordering::Relaxed);
    let error = ran.unwrap_err();
    assert!(
        matches!(error, SimError::Stuck { worker: 0, .. }),
        "{error:?}"
    );
    insta::assert_snapshot!(error, @"stuck: worker 0 has not given way for 0.3 s of real time; a lock that loops or blocks without ever reaching an `.await` cannot be simulated");
}

#[test]
fn the_limit_ends_a_run_that_makes_no_progress() {
    let nothing: Action = |_| Box::pin(async {});
    let history = run(troublesome(nothing)).unwrap().history;
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
fn a_command_that_the_model_does_not_know_makes_the_run_unknown() {
    let ask: Action = |redis| {
        Box::pin(async {
            let answer: Result<(), _> = redis::cmd("MAKECOFFEE").query_async(redis).await;
            answer.unwrap_err();
        })
    };
    let history = run(troublesome(ask)).unwrap().history;
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

/// A dead lock's client that probes is dead as well: nothing is known about progress.
#[test]
fn a_lock_that_always_panics_is_no_success() {
    let lock = LockFactory::new("panics", 1, |nodes: Vec<Node>, _: Context| FailingLock {
        redis: nodes.into_iter().next().unwrap(),
        deed: Some(|_| Box::pin(async { panic!("always") })),
    });
    let history = simulate("calm", &lock, 1);
    for (property, verdict) in judge(&history) {
        assert_ne!(verdict.status, Status::Held, "{property}");
    }
}

/// A backend in which a fault never strikes says so.
#[test]
fn a_fault_that_never_struck_is_no_success() {
    let text = "name = \"never\"\nsummary = \"Its moment does not come.\"\n\
                [[fault]]\nkind = \"cut\"\nwhen = { on = \"request\", command = \"FLUSHALL\" }";
    let scenario = Scenario::parse(text, "the test").unwrap();
    let lock = LockFactory::built_in(find("set-nx-px").unwrap());
    let history = run(simulation(scenario, &lock, 1)).unwrap().history;
    assert_eq!(judge(&history)[&Property::Lease].status, Status::Unknown);
}
