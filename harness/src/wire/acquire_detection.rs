//! Acquire detection: which command took a lock, by what it did to the servers' keys.
//!
//! A reply does not say it: `OK`, `1` and nil mean something else for each lock. So the wire holds the
//! reply back, and asks who knows what the command did to the keys.

use std::sync::OnceLock;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::model::CommandKind;

/// Who has said nothing after this time does not know.
const ANSWER: Duration = Duration::from_millis(200);

/// What is known of the command that a reply answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Acquired {
    /// It took a lock.
    Lock,
    /// It did not, or nobody wanted to know.
    #[default]
    Nothing,
    /// It may have: nobody could say.
    Unknown,
}

/// Asks whether a command took a lock. Dropped without an answer, it means that nobody can say.
#[derive(Debug)]
pub struct AcquireQuestion {
    /// The node that has answered the command.
    pub node: usize,
    /// The connection that it came on.
    pub conn: u64,
    /// Number of the command among those of its connection, from 0.
    pub number: u64,
    /// Where the answer goes.
    pub answer: oneshot::Sender<bool>,
}

/// Where questions go.
#[derive(Debug, Default)]
pub(super) struct AcquireQuestions(OnceLock<mpsc::UnboundedSender<AcquireQuestion>>);

impl AcquireQuestions {
    /// From now on the questions come here. Called once.
    pub(super) fn listen(&self) -> mpsc::UnboundedReceiver<AcquireQuestion> {
        let (sender, questions) = mpsc::unbounded_channel();
        self.0.get_or_init(|| sender);
        questions
    }

    /// Whether a command took a lock.
    pub(super) async fn ask(&self, node: usize, conn: u64, number: u64) -> Acquired {
        let (answer, answered) = oneshot::channel();
        let question = AcquireQuestion {
            node,
            conn,
            number,
            answer,
        };
        if self.0.get().is_none_or(|to| to.send(question).is_err()) {
            return Acquired::Unknown;
        }
        match timeout(ANSWER, answered).await {
            Ok(Ok(true)) => Acquired::Lock,
            Ok(Ok(false)) => Acquired::Nothing,
            _ => Acquired::Unknown,
        }
    }
}

/// False for a command that never takes a lock, given in upper case.
pub(crate) fn may_take(command: &str) -> bool {
    !command.is_empty() && CommandKind::of(command, "").is_none_or(CommandKind::takes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_that_can_write_a_value_or_is_not_known_may_take() {
        assert!(may_take("SET") && may_take("EXEC") && may_take("CAS.SET"));
        assert!(!may_take("GET") && !may_take("EXPIRE") && !may_take("MULTI") && !may_take(""));
    }

    #[tokio::test(start_paused = true)]
    async fn unanswered_question_is_unknown() {
        let questions = AcquireQuestions::default();
        assert_eq!(questions.ask(0, 7, 1).await, Acquired::Unknown);
        let mut asked = questions.listen();
        assert_eq!(questions.ask(0, 7, 2).await, Acquired::Unknown);
        drop(asked.recv().await);
        let (acquired, ()) = tokio::join!(questions.ask(1, 7, 3), async {
            let question = asked.recv().await.unwrap();
            assert_eq!((question.node, question.conn, question.number), (1, 7, 3));
            question.answer.send(true).unwrap();
        });
        assert_eq!(acquired, Acquired::Lock);
        drop(asked);
        assert_eq!(questions.ask(0, 7, 4).await, Acquired::Unknown);
    }
}
