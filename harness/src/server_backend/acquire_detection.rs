//! Answers the wire's questions which command took a lock, from the custody of the servers' keys.

use std::rc::Rc;

use tokio::sync::mpsc;

use super::ServerBackend;
use super::key_observer::ObservedNode;
use crate::wire::AcquireQuestion;

impl ServerBackend {
    /// From now on the wire learns from these observers, one for each node, which command took a lock.
    pub(super) fn tell_what_takes(&self, observed: &[Rc<ObservedNode>]) {
        let questions = self.parts.wire.acquire_questions();
        tokio::task::spawn_local(answer(questions, observed.to_vec()));
    }
}

/// Answers until the wire is gone. Questions of several connections do not wait for each other.
async fn answer(
    mut questions: mpsc::UnboundedReceiver<AcquireQuestion>,
    observed: Vec<Rc<ObservedNode>>,
) {
    while let Some(asked) = questions.recv().await {
        let Some(node) = observed.get(asked.node).cloned() else {
            continue;
        };
        tokio::task::spawn_local(async move {
            // Who has asked may have stopped waiting.
            if let Some(took) = node.took(asked.conn, asked.number).await {
                asked.answer.send(took).unwrap_or_default();
            }
        });
    }
}
