//! Requests to several Redis nodes at once, and their answers.

use std::cell::RefCell;
use std::future::Future;
use std::time::Duration;

use futures_util::future::join_all;
use redis::{Cmd, ErrorKind, RedisResult, Script, ServerErrorKind};

use crate::Node;
use crate::contract::LockError;
use crate::lease::Lease;
use crate::locks::set_nx_px::{COMPARE_AND_DELETE, COMPARE_AND_PEXPIRE, set_nx_px};

/// The answers of the nodes.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// Number of nodes that executed the request.
    pub(crate) yes: usize,
    /// Number of nodes that did not execute it, because the key is another client's or does not exist.
    pub(crate) no: usize,
    /// Errors of the nodes that failed.
    pub(crate) failed: Vec<LockError>,
}

impl Answers {
    fn add(&mut self, answer: Result<bool, LockError>) {
        match answer {
            Ok(true) => self.yes += 1,
            Ok(false) => self.no += 1,
            Err(error) => self.failed.push(error),
        }
    }

    fn total(&self) -> usize {
        self.yes + self.no + self.failed.len()
    }

    /// Returns `true` if at least `quorum` nodes executed the request.
    ///
    /// # Errors
    /// Returns an error if the result depends on nodes that failed to answer.
    pub(crate) fn decide(self, quorum: usize) -> Result<bool, LockError> {
        if self.yes >= quorum {
            Ok(true)
        } else if self.yes + self.failed.len() < quorum {
            Ok(false)
        } else {
            Err(self.into_error())
        }
    }

    /// Returns all failures as one error, which is definite only if certainly no node executed the request.
    pub(crate) fn into_error(self) -> LockError {
        let definite = self.yes == 0 && self.failed.iter().all(LockError::is_definite);
        let total = self.total();
        let mut reasons: Vec<String> = self.failed.iter().map(LockError::to_string).collect();
        reasons.sort();
        reasons.dedup();
        let message = format!(
            "{} of {total} nodes failed: {}",
            self.failed.len(),
            reasons.join("; ")
        );
        if definite {
            LockError::Refused(message)
        } else {
            LockError::Ambiguous(message)
        }
    }
}

/// Independent nodes that always get the same requests.
pub(crate) struct Nodes(Vec<Node>);

impl Nodes {
    pub(crate) fn new(nodes: Vec<Node>) -> Self {
        Nodes(nodes)
    }

    /// Returns the same nodes over separate connections, for a background task.
    pub(crate) fn separate(&self) -> Self {
        Nodes::new(self.0.iter().map(Node::separate).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// # Errors
    /// Returns [`LockError::BadCall`] if there are no nodes.
    pub(crate) fn must_not_be_empty(&self) -> Result<(), LockError> {
        if self.0.is_empty() {
            return Err(LockError::BadCall(
                "the lock requires at least one Redis node".into(),
            ));
        }
        Ok(())
    }

    /// Takes the key on every node where it is free.
    pub(crate) async fn take(
        &mut self,
        key: &str,
        token: &str,
        lease: Lease,
        timeout: Option<Duration>,
    ) -> Answers {
        let command = &set_nx_px(key, token, lease);
        let requests = self.0.iter_mut().map(|node| command.query_async(node));
        within(timeout, requests).await
    }

    /// Deletes the key on each of the first `count` nodes where it holds the token.
    pub(crate) async fn delete(
        &mut self,
        count: usize,
        key: &str,
        token: &str,
        timeout: Option<Duration>,
    ) -> Answers {
        let mut delete = Invocation::new(&COMPARE_AND_DELETE, key);
        delete.evaluate.arg(token);
        let requests = self.0.iter_mut().take(count);
        within(timeout, requests.map(|node| delete.ask(node))).await
    }

    /// Gives the key a new time to live on every node where it holds the token.
    pub(crate) async fn prolong(
        &mut self,
        key: &str,
        token: &str,
        lease: Lease,
        timeout: Option<Duration>,
    ) -> Answers {
        let mut prolong = Invocation::new(&COMPARE_AND_PEXPIRE, key);
        prolong.evaluate.arg(token).arg(lease.millis());
        let requests = self.0.iter_mut().map(|node| prolong.ask(node));
        within(timeout, requests).await
    }
}

/// A script and its arguments, serialised once for all nodes.
struct Invocation {
    script: &'static Script,
    evaluate: Cmd,
}

impl Invocation {
    /// Creates the invocation of a script on one key. The arguments are added later.
    fn new(script: &'static Script, key: &str) -> Self {
        // Reserve space for the later arguments: a token and a number.
        let mut evaluate = Cmd::with_capacity(6, 128 + key.len());
        evaluate.arg("EVALSHA").arg(script.get_hash());
        evaluate.arg(1).arg(key);
        Invocation { script, evaluate }
    }

    async fn ask(&self, node: &mut Node) -> RedisResult<bool> {
        const MISSING: ErrorKind = ErrorKind::Server(ServerErrorKind::NoScript);
        match self.evaluate.query_async(node).await {
            Err(error) if error.kind() == MISSING => Box::pin(self.load_and_ask(node)).await,
            answer => answer,
        }
    }

    async fn load_and_ask(&self, node: &mut Node) -> RedisResult<bool> {
        self.script.load_async(node).await?;
        self.evaluate.query_async(node).await
    }
}

/// Collects the answers to concurrent requests, each of which may take up to `timeout`. One timer serves all of them.
async fn within<A>(timeout: Option<Duration>, requests: impl ExactSizeIterator<Item = A>) -> Answers
where
    A: Future<Output = RedisResult<bool>>,
{
    let (nodes, answers) = (requests.len(), RefCell::<Answers>::default());
    let requests = requests.map(async |answer| {
        let answer = answer.await.map_err(LockError::from);
        answers.borrow_mut().add(answer);
    });
    let Some(timeout) = timeout else {
        join_all(requests).await;
        return answers.into_inner();
    };
    // After a timeout the answers that have arrived still count.
    tokio::time::timeout(timeout, join_all(requests)).await.ok();
    let mut answers = answers.into_inner();
    for _ in answers.total()..nodes {
        let late = format!("no answer within {timeout:?}");
        answers.failed.push(LockError::Ambiguous(late));
    }
    answers
}
