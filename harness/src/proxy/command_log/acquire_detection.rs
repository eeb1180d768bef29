//! Acquire detection: which command took a lock, and which lock's key it was about, by what it did to the
//! servers' keys.
//!
//! A reply does not say it: `OK`, `1` and nil mean something else for each lock. A command does not always
//! say whose key it names, because a lock may derive its key from its name. So the proxy holds the frame
//! back, and asks who knows the keys.

use std::sync::OnceLock;
use std::time::Duration;

use picklock_scenarios::Phase;
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
    /// It changed a lock's key in order to release it.
    Released,
    /// It did neither, or nobody wanted to know.
    #[default]
    Nothing,
    /// It may have: nobody could say.
    Unknown,
}

/// What a command did to the locks' keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CommandEffect {
    /// It gave a lock a new owner.
    pub took: bool,
    /// The lock whose key it has changed.
    pub lock: Option<u32>,
}

/// Asks what a command did. Dropped without an answer, it means that nobody can say.
#[derive(Debug)]
pub struct AcquireQuestion {
    /// The node that has answered the command, or is about to get it.
    pub node: usize,
    /// The connection that it came on.
    pub conn: u64,
    /// Number of the command among those of its connection, from 0. `None`: it has not been executed, and
    /// is to wait until the proxy knows the names of all keys that were written before.
    pub number: Option<u64>,
    /// Where the answer goes.
    pub answer: oneshot::Sender<CommandEffect>,
}

/// Where questions go.
#[derive(Debug, Default)]
pub(in crate::proxy) struct AcquireQuestions(OnceLock<mpsc::UnboundedSender<AcquireQuestion>>);

impl AcquireQuestions {
    /// From now on the questions come here. Called once.
    pub(in crate::proxy) fn listen(&self) -> mpsc::UnboundedReceiver<AcquireQuestion> {
        let (sender, questions) = mpsc::unbounded_channel();
        self.0.get_or_init(|| sender);
        questions
    }

    /// What a command did. `None`: nobody can say.
    pub(in crate::proxy) async fn ask(
        &self,
        node: usize,
        conn: u64,
        number: Option<u64>,
    ) -> Option<CommandEffect> {
        let (answer, answered) = oneshot::channel();
        let question = AcquireQuestion {
            node,
            conn,
            number,
            answer,
        };
        self.0.get()?.send(question).ok()?;
        timeout(ANSWER, answered).await.ok()?.ok()
    }
}

impl Acquired {
    /// What a command did in this phase. `None`: nobody can say.
    pub(crate) fn from_effect(effect: Option<CommandEffect>, phase: Phase) -> Self {
        match (effect, phase) {
            (None, _) => Acquired::Unknown,
            (Some(effect), Phase::Acquire) if effect.took => Acquired::Lock,
            (Some(effect), Phase::Release) if effect.lock.is_some() => Acquired::Released,
            (Some(_), _) => Acquired::Nothing,
        }
    }
}

/// False for a command that never changes a key, given in upper case.
pub(crate) fn may_write(command: &str) -> bool {
    let writes = |kind: CommandKind| kind.writes() || kind.takes();
    !command.is_empty() && CommandKind::of(command, "").is_none_or(writes)
}

/// False for a command that never takes a lock, given in upper case.
pub(crate) fn may_take(command: &str) -> bool {
    !command.is_empty() && CommandKind::of(command, "").is_none_or(CommandKind::takes)
}

/// False for a command that never takes a lock whose key is free, given in upper case.
pub(crate) fn may_take_free_key(command: &str) -> bool {
    !command.is_empty() && CommandKind::of(command, "").is_none_or(CommandKind::takes_free_key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_that_can_write_a_value_or_is_not_known_may_take() {
        assert!(may_take("SET") && may_take("EXEC") && may_take("CAS.SET"));
        assert!(may_take("BLPOP") && !may_take_free_key("BLPOP") && may_take_free_key("SETNX"));
        assert!(!may_take("GET") && !may_take("EXPIRE") && !may_take("MULTI") && !may_take(""));
    }

    #[tokio::test(start_paused = true)]
    async fn unanswered_question_is_unknown() {
        let questions = AcquireQuestions::default();
        assert_eq!(questions.ask(0, 7, Some(1)).await, None);
        let mut asked = questions.listen();
        assert_eq!(questions.ask(0, 7, Some(2)).await, None);
        assert_eq!(
            Acquired::from_effect(None, Phase::Acquire),
            Acquired::Unknown
        );
        drop(asked.recv().await);
        let took = CommandEffect {
            took: true,
            lock: Some(0),
        };
        let (effect, ()) = tokio::join!(questions.ask(1, 7, Some(3)), async {
            let question = asked.recv().await.unwrap();
            assert_eq!(
                (question.node, question.conn, question.number),
                (1, 7, Some(3))
            );
            question.answer.send(took).unwrap();
        });
        assert_eq!(effect, Some(took));
        assert_eq!(
            Acquired::from_effect(effect, Phase::Acquire),
            Acquired::Lock
        );
        drop(asked);
        assert_eq!(questions.ask(0, 7, None).await, None);
    }
}
