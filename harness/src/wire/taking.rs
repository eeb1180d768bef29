//! Which command took a lock: what the wire asks of the servers' account.
//!
//! A reply does not say it: `OK`, `1` and nil mean something else for each lock. So the wire holds the
//! reply back, and asks who knows what the command did to the keys.

use std::sync::OnceLock;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// An account that has said nothing after this time says nothing.
const ANSWER: Duration = Duration::from_millis(200);

/// Commands that change no key, or none before another command (`MULTI`). All others are asked about,
/// those too that the wire does not know.
const TAKE_NOTHING: &[&str] = &[
    "AUTH",
    "CLIENT",
    "COMMAND",
    "CONFIG",
    "DISCARD",
    "ECHO",
    "EVALSHA_RO",
    "EVAL_RO",
    "EXISTS",
    "EXPIRETIME",
    "FCALL_RO",
    "GET",
    "HELLO",
    "HEXISTS",
    "HGET",
    "HGETALL",
    "HMGET",
    "INFO",
    "LRANGE",
    "MGET",
    "MULTI",
    "PEXPIRETIME",
    "PING",
    "PSUBSCRIBE",
    "PTTL",
    "PUBLISH",
    "ROLE",
    "SCRIPT",
    "SELECT",
    "SISMEMBER",
    "SMEMBERS",
    "STRLEN",
    "SUBSCRIBE",
    "TIME",
    "TTL",
    "TYPE",
    "UNWATCH",
    "WAIT",
    "WATCH",
    "ZRANGE",
    "ZSCORE",
];

/// What is known of the command that a reply answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Taking {
    /// It took a lock.
    Took,
    /// It did not, or nobody wanted to know.
    #[default]
    TookNothing,
    /// It may have: nobody could say.
    Unknown,
}

/// Asks whether a command took a lock. Dropped without an answer, it means that nobody can say.
#[derive(Debug)]
pub struct TakingQuestion {
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
pub(super) struct TakingQuestions(OnceLock<mpsc::UnboundedSender<TakingQuestion>>);

impl TakingQuestions {
    /// From now on the questions come here. Called once.
    pub(super) fn listen(&self) -> mpsc::UnboundedReceiver<TakingQuestion> {
        let (sender, questions) = mpsc::unbounded_channel();
        self.0.get_or_init(|| sender);
        questions
    }

    /// Whether a command took a lock.
    pub(super) async fn ask(&self, node: usize, conn: u64, number: u64) -> Taking {
        let (answer, answered) = oneshot::channel();
        let question = TakingQuestion {
            node,
            conn,
            number,
            answer,
        };
        if self.0.get().is_none_or(|to| to.send(question).is_err()) {
            return Taking::Unknown;
        }
        match timeout(ANSWER, answered).await {
            Ok(Ok(true)) => Taking::Took,
            Ok(Ok(false)) => Taking::TookNothing,
            _ => Taking::Unknown,
        }
    }
}

/// False for a command that never takes a lock, given in upper case.
pub(crate) fn may_take(command: &str) -> bool {
    !command.is_empty() && TAKE_NOTHING.binary_search(&command).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(TAKE_NOTHING.is_sorted());
        assert!(may_take("SET") && may_take("EXEC") && may_take("CAS.SET"));
        assert!(!may_take("GET") && !may_take(""));
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_answer_does_not_know() {
        let questions = TakingQuestions::default();
        assert_eq!(questions.ask(0, 7, 1).await, Taking::Unknown);
        let mut asked = questions.listen();
        assert_eq!(questions.ask(0, 7, 2).await, Taking::Unknown);
        drop(asked.recv().await);
        let (taking, ()) = tokio::join!(questions.ask(1, 7, 3), async {
            let question = asked.recv().await.unwrap();
            assert_eq!((question.node, question.conn, question.number), (1, 7, 3));
            question.answer.send(true).unwrap();
        });
        assert_eq!(taking, Taking::Took);
        drop(asked);
        assert_eq!(questions.ask(0, 7, 4).await, Taking::Unknown);
    }
}
