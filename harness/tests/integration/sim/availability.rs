//! Locks that are not available although a majority of their nodes answers, and some that are.

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

/// What a lock on several nodes does when some of them are silent.
#[derive(Debug, Clone, Copy)]
enum Habit {
    /// It gives up with an error, although a majority has answered.
    Raises,
    /// It asks a silent node again and again, and never answers.
    Hangs,
    /// It asks one node after the other and waits for each of them until the connection gives up. Then
    /// the lease is over.
    AsksInTurn,
}

struct Quorum {
    nodes: Vec<Node>,
    context: Context,
    habit: Habit,
}

fn lock(habit: Habit) -> LockFactory {
    LockFactory::new("quorum", 5, move |nodes: Vec<Node>, context: Context| {
        Quorum {
            nodes,
            context,
            habit,
        }
    })
}

impl Quorum {
    /// Takes the key on the nodes. `None`: one of them is silent, and the lock gives up.
    async fn take(&self, set: &Cmd, patience: Duration) -> Option<usize> {
        let mut yes = 0;
        match self.habit {
            Habit::Raises => {
                let asked = self.nodes.iter().map(|node| {
                    let mut node = node.clone();
                    async move {
                        let answer = set.query_async::<bool>(&mut node);
                        tokio::time::timeout(patience, answer).await
                    }
                });
                for answer in join_all(asked).await {
                    yes += usize::from(answer.ok()?.ok()?);
                }
            }
            Habit::Hangs => {
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
            Habit::AsksInTurn => {
                for node in &self.nodes {
                    let answer = set.query_async::<bool>(&mut node.clone()).await;
                    yes += usize::from(answer.unwrap_or(false));
                }
            }
        }
        Some(yes)
    }

    /// Deletes the key wherever it has this token.
    async fn delete(&self, key: &str, token: &str, patience: Duration) {
        let mut delete = redis::cmd("EVAL");
        delete.arg(COMPARE_AND_DELETE).arg(1).arg(key).arg(token);
        let delete = &delete;
        let asked = self.nodes.iter().map(|node| {
            let mut node = node.clone();
            async move {
                let deleted = delete.query_async::<i64>(&mut node).await;
                deleted.is_ok()
            }
        });
        // What a silent node keeps expires by itself.
        tokio::time::timeout(patience, join_all(asked)).await.ok();
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
        let (yes, stall_correction) = match self.habit {
            Habit::AsksInTurn => {
                let mut attempt = std::pin::pin!(attempt);
                match tokio::time::timeout(ttl, &mut attempt).await {
                    Ok(yes) => (yes, true),
                    Err(_) => (attempt.await, false),
                }
            }
            Habit::Raises | Habit::Hangs => (attempt.await, true),
        };
        match yes {
            None => Err(LockError::Ambiguous("a node did not answer".into())),
            Some(yes) if yes > self.nodes.len() / 2 && stall_correction => Ok(Some(Grant {
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

/// No packet reaches these nodes from any worker, for good.
fn silent(nodes: &str, lock: &LockFactory) -> Outcome {
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

fn progress(ran: &Outcome) -> Vec<Status> {
    let runs = ran.runs().iter();
    runs.map(|run| run.verdicts[&Property::Progress].status)
        .collect()
}

const HABITS: [Habit; 3] = [Habit::Raises, Habit::Hangs, Habit::AsksInTurn];

#[test]
fn a_lock_that_needs_every_node_is_not_available() {
    for habit in HABITS {
        let ran = silent("[3, 4]", &lock(habit));
        assert_eq!(progress(&ran), [Status::Violated; 5], "{habit:?}");
    }
}

/// The control: the same locks work where every node answers.
#[test]
fn they_are_available_while_every_node_answers() {
    for habit in HABITS {
        let text = "name = \"calm\"\nsummary = \"Nothing goes wrong.\"\n[topology]\nnodes = 5";
        let trial = Trial::from_toml(text).unwrap().seeds(0..5);
        let ran = trial.run_lock(&lock(habit)).unwrap();
        ran.assert_held(Property::Progress);
        ran.assert_held(Property::Exclusion);
    }
}

#[test]
fn a_lock_that_needs_a_majority_is_available() {
    let redlock = LockFactory::built_in(find("redlock").unwrap());
    silent("[3, 4]", &redlock).assert_held(Property::Progress);
}

/// What the lock needs is out of reach for good, so it is not judged.
#[test]
fn nothing_is_demanded_without_a_majority() {
    let redlock = LockFactory::built_in(find("redlock").unwrap());
    let locks = HABITS.into_iter().map(lock).chain([redlock]);
    for lock in locks {
        let ran = silent("[2, 3, 4]", &lock);
        assert_eq!(progress(&ran), [Status::Unknown; 5], "{lock:?}");
    }
}
