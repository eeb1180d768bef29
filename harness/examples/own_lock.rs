//! Tests your own lock: a version with a common bug, and a fixed version.
//!
//! ```sh
//! cargo run -p picklock-harness --example own_lock            # simulated
//! cargo run -p picklock-harness --example own_lock -- redis   # on a real redis-server
//! ```

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::time::Duration;

use picklock_harness::check::Property;
use picklock_harness::lock_factory::LockFactory;
use picklock_harness::trial::{WorkerEntry, serve_worker};
use picklock_harness::{Trial, TrialError};
use picklock_impls::{Context, Grant, Lock, LockError, Node};
use rand::RngExt;
use rand::rngs::StdRng;

/// Deletes the key only if it still holds our token.
const COMPARE_AND_DELETE: &str =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

/// A lock on one Redis server.
struct MyLock {
    redis: Node,
    rng: StdRng,
    compares_token: bool,
}

impl MyLock {
    /// Creates the first version, whose release deletes the key even if another client holds it.
    fn first_try(nodes: Vec<Node>, context: Context) -> Self {
        MyLock {
            redis: nodes
                .into_iter()
                .next()
                .expect("the lock requires one node"),
            rng: context.rng,
            compares_token: false,
        }
    }

    /// Creates the fixed version.
    fn fixed(nodes: Vec<Node>, context: Context) -> Self {
        MyLock {
            compares_token: true,
            ..MyLock::first_try(nodes, context)
        }
    }

    async fn try_once(&mut self, key: &str, ttl: Duration) -> Result<Option<Grant>, LockError> {
        let token = format!("{:032x}", self.rng.random::<u128>());
        let taken: bool = redis::cmd("SET")
            .arg(key)
            .arg(&token)
            .arg("NX")
            .arg("PX")
            .arg(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX))
            .query_async(&mut self.redis)
            .await?;
        Ok(taken.then_some(Grant {
            token,
            fence: None,
            valid_until: None,
        }))
    }
}

impl Lock for MyLock {
    async fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, LockError> {
        let tries = async {
            loop {
                if let Some(grant) = self.try_once(key, ttl).await? {
                    return Ok(Some(grant));
                }
                let pause = self.rng.random_range(10..50);
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
        };
        // A lock that is not acquired in time is refused; that is not an error.
        tokio::time::timeout(wait, tries).await.unwrap_or(Ok(None))
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let mut delete = redis::Cmd::new();
        if self.compares_token {
            delete.arg("EVAL").arg(COMPARE_AND_DELETE).arg(1);
            delete.arg(key).arg(&grant.token);
        } else {
            delete.arg("DEL").arg(key);
        }
        Ok(delete.query_async(&mut self.redis).await?)
    }
}

fn first_try() -> LockFactory {
    LockFactory::new("first-try", 1, MyLock::first_try)
}

fn fixed() -> LockFactory {
    LockFactory::new("fixed", 1, MyLock::fixed)
}

fn main() -> Result<(), TrialError> {
    // With real Redis, the workers are processes of this program.
    if serve_worker(&[first_try(), fixed()])? {
        return Ok(());
    }
    let trial = match std::env::args().nth(1).as_deref() {
        Some("redis") => Trial::scenario("gc-pause")?
            .seeds([1])
            .on_redis(WorkerEntry::main()),
        _ => Trial::scenario("gc-pause")?.seeds(0..50),
    };
    let results = trial.run_lock(&first_try())?;
    if let Some(run) = results.violation(Property::Ownership) {
        let story = run.verdicts[&Property::Ownership].story.join("\n  ");
        println!(
            "first try, seed {}: it deletes another client's lock",
            run.seed
        );
        println!("  {story}\n");
    }
    let results = trial.run_lock(&fixed())?;
    results.assert_held(Property::Ownership);
    println!(
        "fixed: it deleted no other client's lock in {} runs",
        results.runs().len()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use picklock_harness::check::Cause;
    use picklock_scenarios::BackendName;

    use super::*;

    /// Also runs in each worker process of the trials below.
    #[test]
    fn picklock_worker() {
        serve_worker(&[first_try(), fixed()]).unwrap();
    }

    fn on_redis(scenario: &str) -> Trial {
        let entry = WorkerEntry::test("tests::picklock_worker");
        Trial::scenario(scenario)
            .unwrap()
            .seeds([1])
            .on_redis(entry)
    }

    #[test]
    fn first_try_deletes_another_clients_lock() {
        let trial = Trial::scenario("gc-pause").unwrap().seeds(0..10);
        let results = trial.run_lock(&first_try()).unwrap();
        results.assert_violated(Property::Ownership, Cause::StolenRelease);
    }

    /// The scenario freezes the whole worker process.
    #[test]
    fn first_try_deletes_another_clients_lock_on_redis() {
        let results = on_redis("gc-pause").run_lock(&first_try()).unwrap();
        results.assert_violated(Property::Ownership, Cause::StolenRelease);
        assert_eq!(
            results.runs()[0].history.header.backend,
            BackendName::Process
        );
    }

    /// A trial works inside a runtime too, because it has its own.
    #[tokio::test]
    async fn fixed_lock_is_as_expected_on_redis() {
        let results = on_redis("gc-pause").run_lock(&fixed()).unwrap();
        results.assert_as_expected();
    }

    #[test]
    fn missing_worker_entry_is_named() {
        let trial = Trial::scenario("calm").unwrap().seeds([1]);
        let trial = trial.on_redis(WorkerEntry::test("tests::no_such_test"));
        let error = trial.run_lock(&fixed()).unwrap_err().to_string();
        assert!(error.contains("tests::no_such_test"), "{error}");
    }

    /// A simulation works inside a runtime too, because it has its own.
    #[tokio::test]
    async fn fixed_lock_is_as_expected_in_the_simulation() {
        for scenario in ["calm", "gc-pause", "holder-crash", "network-delay"] {
            let trial = Trial::scenario(scenario).unwrap().seeds(0..10);
            let results = trial.run_lock(&fixed()).unwrap();
            results.assert_as_expected();
        }
    }
}
