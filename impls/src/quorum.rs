//! Asking several Redis nodes at once, and counting what they say.

use std::future::Future;
use std::time::Duration;

use futures_util::future::join_all;
use redis::Script;

use crate::Node;
use crate::contract::LockError;
use crate::lease::Lease;
use crate::strategies::set_nx_px::{COMPARE_AND_DELETE, COMPARE_AND_PEXPIRE, set_nx_px};

/// What the nodes said.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// Did it.
    pub(crate) yes: usize,
    /// Did not: the key is another's, or nobody's.
    pub(crate) no: usize,
    /// Went wrong.
    pub(crate) failed: Vec<LockError>,
}

impl Answers {
    fn count(answers: Vec<Result<bool, LockError>>) -> Self {
        let mut counted = Answers::default();
        for answer in answers {
            match answer {
                Ok(true) => counted.yes += 1,
                Ok(false) => counted.no += 1,
                Err(error) => counted.failed.push(error),
            }
        }
        counted
    }

    /// Whether at least `quorum` nodes did it.
    ///
    /// # Errors
    /// Where that hangs on nodes that failed to answer.
    pub(crate) fn decide(self, quorum: usize) -> Result<bool, LockError> {
        if self.yes >= quorum {
            Ok(true)
        } else if self.yes + self.failed.len() < quorum {
            Ok(false)
        } else {
            Err(self.into_error())
        }
    }

    /// The failures in one: definite only if no node did anything, or may have.
    pub(crate) fn into_error(self) -> LockError {
        let definite = self.yes == 0 && self.failed.iter().all(LockError::is_definite);
        let total = self.yes + self.no + self.failed.len();
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

/// Independent nodes that are always asked all together.
pub(crate) struct Nodes {
    nodes: Vec<Node>,
    delete: Script,
    prolong: Script,
}

impl Nodes {
    pub(crate) fn new(nodes: Vec<Node>) -> Self {
        Nodes {
            nodes,
            delete: Script::new(COMPARE_AND_DELETE),
            prolong: Script::new(COMPARE_AND_PEXPIRE),
        }
    }

    /// The same nodes over connections of their own, for a background task.
    pub(crate) fn apart(&self) -> Self {
        Nodes::new(self.nodes.iter().map(Node::apart).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// # Errors
    /// [`LockError::BadCall`] if there is no node to ask.
    pub(crate) fn must_not_be_empty(&self) -> Result<(), LockError> {
        if self.nodes.is_empty() {
            return Err(LockError::BadCall(
                "the lock was given no Redis node".into(),
            ));
        }
        Ok(())
    }

    /// Takes the key on every node where nobody has it.
    pub(crate) async fn take(
        &mut self,
        key: &str,
        token: &str,
        lease: Lease,
        timeout: Option<Duration>,
    ) -> Answers {
        let command = set_nx_px(key, token, lease);
        let asked = self.nodes.iter_mut().map(|node| {
            let command = &command;
            within(timeout, async move {
                Ok(command.query_async::<bool>(node).await?)
            })
        });
        Answers::count(join_all(asked).await)
    }

    /// Deletes the key on every node where the token is in it.
    pub(crate) async fn delete(
        &mut self,
        key: &str,
        token: &str,
        timeout: Option<Duration>,
    ) -> Answers {
        let mut script = self.delete.key(key);
        script.arg(token);
        let asked = self.nodes.iter_mut().map(|node| {
            let script = &script;
            within(timeout, async move {
                Ok(script.invoke_async::<bool>(node).await?)
            })
        });
        Answers::count(join_all(asked).await)
    }

    /// Gives the key a new time to live on every node where the token is in it.
    pub(crate) async fn prolong(
        &mut self,
        key: &str,
        token: &str,
        lease: Lease,
        timeout: Option<Duration>,
    ) -> Answers {
        let mut script = self.prolong.key(key);
        script.arg(token).arg(lease.millis());
        let asked = self.nodes.iter_mut().map(|node| {
            let script = &script;
            within(timeout, async move {
                Ok(script.invoke_async::<bool>(node).await?)
            })
        });
        Answers::count(join_all(asked).await)
    }
}

/// One node's answer, or the lack of one.
async fn within(
    timeout: Option<Duration>,
    answer: impl Future<Output = Result<bool, LockError>>,
) -> Result<bool, LockError> {
    let Some(timeout) = timeout else {
        return answer.await;
    };
    tokio::time::timeout(timeout, answer)
        .await
        .unwrap_or_else(|_| {
            Err(LockError::Ambiguous(format!(
                "no answer within {timeout:?}"
            )))
        })
}
