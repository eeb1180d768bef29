//! Locks that have one unusual behaviour, as locks of users may have it, and the verdicts that they must get.

use std::time::Duration;

use picklock_harness::Trial;
use picklock_harness::check::{Cause, Property, Status};
use picklock_harness::history::{EventKind, KeyName};
use picklock_harness::latency;
use picklock_harness::sim::LockFactory;
use picklock_harness::trial::{Outcome, TrialRun};
use picklock_impls::{Context, DynLock, Grant, Lock, LockError, Node, find};

/// The unusual behaviour of a lock.
#[derive(Clone, Copy, PartialEq)]
enum Peculiarity {
    /// Its key is a hash of the lock's name.
    HashedKey,
    /// Its waiters reset the expiry of the holder's value at each attempt.
    WaiterProlongs,
    /// It leaves its key in place when it reports a successful release.
    KeepsItsKey,
    /// Its script changes a key that it does not declare.
    UndeclaredKey,
}

/// `set-nx-px` with one unusual behaviour.
struct UnusualLock {
    lock: Box<dyn DynLock>,
    node: Node,
    what: Peculiarity,
}

impl UnusualLock {
    fn factory(what: Peculiarity) -> LockFactory {
        LockFactory::new("peculiar", 1, move |nodes: Vec<Node>, context: Context| {
            let node = nodes.first().unwrap().separate();
            let lock = (find("set-nx-px").unwrap().build)(nodes, context);
            UnusualLock { lock, node, what }
        })
    }

    fn key(&self, key: &str) -> String {
        let sum = |sum: u64, byte: u8| sum.wrapping_mul(31).wrapping_add(u64::from(byte));
        match self.what {
            Peculiarity::HashedKey => format!("{:016x}", key.bytes().fold(7, sum)),
            _ => key.to_owned(),
        }
    }

    async fn prolong(&mut self, key: &str, ttl: Duration) -> Result<bool, LockError> {
        let mut command = redis::cmd("GETEX");
        command.arg(key).arg("PX").arg(ttl.as_millis() as u64);
        let held: Option<String> = command.query_async(&mut self.node).await?;
        Ok(held.is_some())
    }
}

impl Lock for UnusualLock {
    async fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, LockError> {
        let key = self.key(key);
        if self.what != Peculiarity::WaiterProlongs {
            return self.lock.acquire(&key, ttl, wait).await;
        }
        const PAUSE: Duration = Duration::from_millis(20);
        for _ in 0..=wait.as_millis() / PAUSE.as_millis() {
            if !self.prolong(&key, ttl).await?
                && let Some(grant) = self.lock.acquire(&key, ttl, Duration::ZERO).await?
            {
                return Ok(Some(grant));
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(None)
    }

    async fn extend(
        &mut self,
        key: &str,
        grant: &Grant,
        ttl: Duration,
    ) -> Result<Option<Grant>, LockError> {
        let key = self.key(key);
        self.lock.extend(&key, grant, ttl).await
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let key = self.key(key);
        match self.what {
            Peculiarity::KeepsItsKey => Ok(false),
            Peculiarity::UndeclaredKey => {
                let mut script = redis::cmd("EVAL");
                let text = "redis.call('set', 'last', ARGV[1]) return redis.call('del', KEYS[1])";
                script.arg(text).arg(1).arg(key).arg(&grant.token);
                Ok(script.query_async(&mut self.node).await?)
            }
            _ => self.lock.release(&key, grant).await,
        }
    }
}

fn run(scenario: &str, what: Peculiarity) -> Outcome {
    let trial = Trial::scenario(scenario).unwrap().seeds(0..3);
    trial.run_lock(&UnusualLock::factory(what)).unwrap()
}

fn assert_verdict(run: &TrialRun, property: Property, expected: (Status, Option<Cause>)) {
    let verdict = &run.verdicts[&property];
    let story = verdict.story.join("\n");
    assert_eq!(
        (verdict.status, verdict.cause),
        expected,
        "{property}:\n{story}"
    );
}

const HELD: (Status, Option<Cause>) = (Status::Held, None);

#[test]
fn triggers_that_name_the_key_fire_for_a_derived_key() {
    for scenario in ["stale-delete", "lost-release-reply"] {
        let outcome = run(scenario, Peculiarity::HashedKey);
        for run in outcome.runs() {
            for property in [
                Property::Exclusion,
                Property::Lease,
                Property::Resource,
                Property::Ownership,
                Property::Progress,
            ] {
                assert_verdict(run, property, HELD);
            }
        }
    }
}

/// The lock of each attempt is known, which distinguishes the keys of two locks.
#[test]
fn eviction_finds_the_derived_key_of_one_of_two_locks() {
    let text = r#"
        name = "evict-one"
        summary = "Of two locks, the key of the second one is evicted."
        [workload]
        workers = 4
        keys = 2
        stock = 6
        section = "0.4ttl"
        [[fault]]
        kind = "evict"
        at = "0.9ttl"
        nodes = [0]
        keys = [1]
        [judge]
        min_grants = 2
        "#;
    let trial = Trial::from_toml(text).unwrap().seeds(0..5);
    let factory = UnusualLock::factory(Peculiarity::HashedKey);
    let outcome = trial.run_lock(&factory).unwrap();
    let mut evicted = 0;
    for run in outcome.runs() {
        let mut names = [None, None];
        let mut attempts = std::collections::BTreeMap::new();
        for event in &run.history.events {
            match &event.what {
                EventKind::Acquire { op, key, .. } => {
                    attempts.insert(*op, *key as usize);
                }
                EventKind::KeyChanged { key, why, .. } => match why {
                    picklock_harness::history::KeyChange::Command(by) => {
                        if let Some(lock) = attempts.get(&by.op) {
                            names[*lock].get_or_insert(key.clone());
                        }
                    }
                    picklock_harness::history::KeyChange::Evicted => {
                        assert_eq!(Some(key), names[1].as_ref());
                        evicted += 1;
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        assert!(
            names
                .iter()
                .flatten()
                .all(|name| matches!(name, KeyName::Other(_)))
        );
    }
    assert!(evicted > 0, "nothing was ever evicted");
}

#[test]
fn value_kept_alive_by_waiters_is_starvation() {
    for scenario in ["holder-crash", "lost-reply"] {
        let outcome = run(scenario, Peculiarity::WaiterProlongs);
        for run in outcome.runs() {
            let foreign = (Status::Violated, Some(Cause::ForeignRenewal));
            assert_verdict(run, Property::Progress, foreign);
            let story = run.verdicts[&Property::Progress].story.join("\n");
            assert!(story.contains("GETEX of client"), "{story}");
        }
    }
}

/// A waiter that only reads does not change the holder's expiry.
#[test]
fn value_that_expires_is_not_starvation() {
    for scenario in ["holder-crash", "lost-reply"] {
        let outcome = run(scenario, Peculiarity::UndeclaredKey);
        for run in outcome.runs() {
            assert_verdict(run, Property::Progress, HELD);
        }
    }
}

/// The key keeps the other clients out for the rest of the lease, after every release.
#[test]
fn release_that_leaves_the_key_delays_each_handover() {
    let handover_ms = |what| {
        let outcome = run("calm", what);
        let latency = latency::from_history(&outcome.runs()[0].history);
        latency[latency::HANDOVER].p50_us / 1_000
    };
    let (left, freed) = (
        handover_ms(Peculiarity::KeepsItsKey),
        handover_ms(Peculiarity::HashedKey),
    );
    assert!(left > 500 && freed < 100, "{left} ms and {freed} ms");
}

#[test]
fn undeclared_key_is_recorded_once() {
    let undeclared = |what| {
        let outcome = run("calm", what);
        let events = outcome.runs()[0].history.events.clone();
        let keys = events.into_iter().filter_map(|event| match event.what {
            EventKind::UndeclaredKey { command, key, .. } => Some((command, key)),
            _ => None,
        });
        keys.collect::<Vec<_>>()
    };
    let last = ("EVAL".to_owned(), KeyName::Other("last".into()));
    assert_eq!(undeclared(Peculiarity::UndeclaredKey), [last]);
    assert_eq!(undeclared(Peculiarity::HashedKey), []);
}

/// The run ends while a client is in its section. The client is killed, and wakes no other client.
#[test]
fn sleeping_client_starves_if_the_holder_is_killed() {
    let text = r#"
        name = "cut-off"
        summary = "The run is over while a client holds the lock."
        [workload]
        workers = 2
        stock = 2
        section = "0.8ttl"
        wait = "12ttl"
        limit = "0.5ttl"
        [judge]
        min_grants = 1
        "#;
    let judged = |lock: &str| {
        let trial = Trial::from_toml(text).unwrap().seeds(0..3);
        let outcome = trial.run_lock(&LockFactory::built_in(find(lock).unwrap()));
        outcome.unwrap()
    };
    for run in judged("sleeps-until-notified").runs() {
        let slept = (Status::Violated, Some(Cause::LostWakeUp));
        assert_verdict(run, Property::Progress, slept);
    }
    for lock in ["signal-list", "set-nx-px", "watchdog", "pubsub"] {
        for run in judged(lock).runs() {
            assert_verdict(run, Property::Progress, HELD);
        }
    }
}

/// The verdict mentions the refusals, and names the client that never finishes.
#[test]
fn endless_holder_is_named_although_progress_held() {
    let text = r#"
        name = "never-done"
        summary = "A section of many leases."
        [workload]
        workers = 2
        stock = 1
        section = "30ttl"
        wait = "2ttl"
        limit = "20ttl"
        [judge]
        min_grants = 1
        "#;
    let trial = Trial::from_toml(text).unwrap().seeds([1]);
    let outcome = trial.run_lock(&LockFactory::built_in(find("watchdog").unwrap()));
    let outcome = outcome.unwrap();
    let verdict = &outcome.runs()[0].verdicts[&Property::Progress];
    assert_eq!(verdict.status, Status::Held);
    let story = verdict.story.join("\n");
    for part in [
        "attempts were refused",
        "had not finished when the run ended",
        "was prolonged",
    ] {
        assert!(story.contains(part), "{story}");
    }
}
