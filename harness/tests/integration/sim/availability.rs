//! Locks that are unavailable although a majority of their nodes answers, and some that are available.

use std::time::Duration;

use futures_util::future::join_all;
use picklock_harness::check::{Property, Status};
use picklock_harness::sim::LockFactory;
use picklock_harness::{Outcome, Trial};
use picklock_impls::{Context, Deadline, Grant, Lock, LockError, Node, find};
use rand::RngExt;
use redis::Cmd;

const COMPARE_AND_DELETE: &str =
    "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0";

/// The behaviour of a lock on several nodes if some of them do not answer.
#[derive(Debug, Clone, Copy)]
enum Behaviour {
    /// Fails with an error although a majority has answered.
    Fails,
    /// Retries on a node that does not answer, forever.
    Hangs,
    /// Uses one node after the other, and waits for each node until its connection times out. By then the lease has
    /// expired.
    Sequential,
}

struct Quorum {
    nodes: Vec<Node>,
    context: Context,
    behaviour: Behaviour,
}

fn lock(behaviour: Behaviour) -> LockFactory {
    LockFactory::new("quorum", 5, move |nodes: Vec<Node>, context: Context| {
        Quorum {
            nodes,
            context,
            behaviour,
        }
    })
}

impl Quorum {
    /// Takes the key on the nodes. Returns `None` if a node does not answer and the lock gives up.
    async fn take(&self, set: &Cmd, patience: Duration) -> Option<usize> {
        let mut yes = 0;
        match self.behaviour {
            Behaviour::Fails => {
                let replies = self.nodes.iter().map(|node| {
                    let mut node = node.clone();
                    async move {
                        let answer = set.query_async::<bool>(&mut node);
                        tokio::time::timeout(patience, answer).await
                    }
                });
                for answer in join_all(replies).await {
                    yes += usize::from(answer.ok()?.ok()?);
                }
            }
            Behaviour::Hangs => {
                for node in &self.nodes {
                    let mut node = node.clone();
                    let answer = loop {
                        if let Ok(answer) = set.query_async::<bool>(&mut node).await {
                            break answer;
                        }
                    };
                    yes += usize::from(answer);
                }
            }
            Behaviour::Sequential => {
                for node in &self.nodes {
                    let answer = set.query_async::<bool>(&mut node.clone()).await;
                    yes += usize::from(answer.unwrap_or(false));
                }
            }
        }
        Some(yes)
    }

    /// Deletes the key on every node where it has this token.
    async fn delete(&self, key: &str, token: &str, patience: Duration) {
        let mut delete = redis::cmd("EVAL");
        delete.arg(COMPARE_AND_DELETE).arg(1).arg(key).arg(token);
        let delete = &delete;
        let replies = self.nodes.iter().map(|node| {
            let mut node = node.clone();
            async move {
                let deleted = delete.query_async::<i64>(&mut node).await;
                deleted.is_ok()
            }
        });
        // Keys on an unreachable node expire there.
        tokio::time::timeout(patience, join_all(replies)).await.ok();
    }
}

impl Lock for Quorum {
    async fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        _wait: Duration,
    ) -> Result<Option<Grant>, LockError> {
        let token = format!("{:032x}", self.context.rng.random::<u128>());
        let mut set = redis::cmd("SET");
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap();
        set.arg(key).arg(&token).arg("NX").arg("PX").arg(ttl_ms);
        let patience = ttl / 10;
        let attempt = self.take(&set, patience);
        let (yes, in_time) = match self.behaviour {
            Behaviour::Sequential => {
                let mut attempt = std::pin::pin!(attempt);
                match tokio::time::timeout(ttl, &mut attempt).await {
                    Ok(yes) => (yes, true),
                    Err(_) => (attempt.await, false),
                }
            }
            Behaviour::Fails | Behaviour::Hangs => (attempt.await, true),
        };
        match yes {
            None => Err(LockError::Ambiguous("a node did not answer".into())),
            Some(yes) if yes > self.nodes.len() / 2 && in_time => Ok(Some(Grant {
                token,
                fence: None,
                valid_until: Some(Deadline::after(ttl / 2)),
            })),
            Some(_) => {
                self.delete(key, &token, patience).await;
                Ok(None)
            }
        }
    }

    async fn extend(
        &mut self,
        _: &str,
        _: &Grant,
        _: Duration,
    ) -> Result<Option<Grant>, LockError> {
        Err(LockError::BadCall("this lock cannot be extended".into()))
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let patience = Duration::from_millis(100);
        self.delete(key, &grant.token, patience).await;
        Ok(true)
    }
}

/// Runs a lock in a scenario in which these nodes are permanently unreachable for all workers.
fn run_with_unreachable(nodes: &str, lock: &LockFactory) -> Outcome {
    let text = format!(
        r#"
        name = "silent"
        summary = "Some of five nodes never answer."
        [topology]
        nodes = 5
        [workload]
        workers = 3
        stock = 5
        section = "0.1ttl"
        [[fault]]
        kind = "drop"
        at = "0ms"
        workers = "all"
        nodes = {nodes}
        "#
    );
    let trial = Trial::from_toml(&text).unwrap().seeds(0..5);
    trial.run_lock(lock).unwrap()
}

fn progress(outcome: &Outcome) -> Vec<Status> {
    let runs = outcome.runs().iter();
    runs.map(|run| run.verdicts[&Property::Progress].status)
        .collect()
}

const BEHAVIOURS: [Behaviour; 3] = [Behaviour::Fails, Behaviour::Hangs, Behaviour::Sequential];

#[test]
fn lock_that_needs_every_node_is_unavailable() {
    for behaviour in BEHAVIOURS {
        let outcome = run_with_unreachable("[3, 4]", &lock(behaviour));
        assert_eq!(progress(&outcome), [Status::Violated; 5], "{behaviour:?}");
    }
}

/// The control: the same locks work if every node answers.
#[test]
fn the_same_locks_are_available_if_every_node_answers() {
    for behaviour in BEHAVIOURS {
        let text = "name = \"calm\"\nsummary = \"Nothing goes wrong.\"\n[topology]\nnodes = 5";
        let trial = Trial::from_toml(text).unwrap().seeds(0..5);
        let outcome = trial.run_lock(&lock(behaviour)).unwrap();
        outcome.assert_held(Property::Progress);
        outcome.assert_held(Property::Exclusion);
    }
}

#[test]
fn lock_that_needs_a_majority_is_available() {
    let redlock = LockFactory::built_in(find("redlock").unwrap());
    run_with_unreachable("[3, 4]", &redlock).assert_held(Property::Progress);
}

/// The lock permanently lacks the nodes that it needs, so its progress is not judged.
#[test]
fn progress_is_unknown_without_a_majority() {
    let redlock = LockFactory::built_in(find("redlock").unwrap());
    let locks = BEHAVIOURS.into_iter().map(lock).chain([redlock]);
    for lock in locks {
        let outcome = run_with_unreachable("[2, 3, 4]", &lock);
        assert_eq!(progress(&outcome), [Status::Unknown; 5], "{lock:?}");
    }
}
