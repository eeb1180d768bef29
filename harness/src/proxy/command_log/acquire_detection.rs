//! Acquire detection: determines which command took a lock, and which lock's key it changed, from the command's effect
//! on the servers' keys.
//!
//! A reply alone does not show this: `OK`, `1` and nil have different meanings for different locks. A command need not
//! contain the lock's name either, because a lock may derive its key from the name. So the proxy holds the frame back,
//! and queries the observer of the keys.

use std::sync::OnceLock;
use std::time::Duration;

use picklock_scenarios::Phase;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::model::CommandKind;

/// Time after which an unanswered query means that the command's effect is unknown.
const REPLY_TIMEOUT: Duration = Duration::from_millis(200);

/// What the command that a reply answers did to a lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LockEffect {
    /// The command took a lock.
    Took,
    /// The command changed a lock's key in order to release it.
    Released,
    /// The command did not touch a lock, or its effect was not queried.
    #[default]
    None,
    /// The effect is unknown.
    Unknown,
}

/// The effect of a command on the locks' keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CommandEffect {
    /// Whether the command gave a lock a new owner.
    pub took_lock: bool,
    /// The lock whose key the command changed.
    pub lock: Option<u32>,
}

/// A query for the effect of a command. If it is dropped without a reply, the effect is unknown.
#[derive(Debug)]
pub struct EffectQuery {
    /// The node that has executed the command, or is about to receive it.
    pub node: usize,
    /// The connection on which the command was sent.
    pub conn: u64,
    /// Number of the command among the commands of its connection, from 0, or `None` if it has not been executed. In
    /// that case the query only waits until the proxy has the names of all keys that were written before.
    pub number: Option<u64>,
    /// Channel for the reply.
    pub reply: oneshot::Sender<CommandEffect>,
}

/// The sending end of the queue of queries.
#[derive(Debug, Default)]
pub(in crate::proxy) struct EffectQueries(OnceLock<mpsc::UnboundedSender<EffectQuery>>);

impl EffectQueries {
    /// Creates the queue, and returns its receiving end. Must be called only once.
    pub(in crate::proxy) fn receiver(&self) -> mpsc::UnboundedReceiver<EffectQuery> {
        let (sender, queries) = mpsc::unbounded_channel();
        self.0.get_or_init(|| sender);
        queries
    }

    /// Returns the effect of a command, or `None` if it is unknown.
    pub(in crate::proxy) async fn query(
        &self,
        node: usize,
        conn: u64,
        number: Option<u64>,
    ) -> Option<CommandEffect> {
        let (reply, received) = oneshot::channel();
        let query = EffectQuery {
            node,
            conn,
            number,
            reply,
        };
        self.0.get()?.send(query).ok()?;
        timeout(REPLY_TIMEOUT, received).await.ok()?.ok()
    }
}

impl LockEffect {
    /// Interprets the effect of a command in a phase. Without an effect, returns `Unknown`.
    pub(crate) fn in_phase(effect: Option<CommandEffect>, phase: Phase) -> Self {
        match (effect, phase) {
            (None, _) => LockEffect::Unknown,
            (Some(effect), Phase::Acquire) if effect.took_lock => LockEffect::Took,
            (Some(effect), Phase::Release) if effect.lock.is_some() => LockEffect::Released,
            (Some(_), _) => LockEffect::None,
        }
    }
}

/// Returns `false` for a command that never changes a key. `command` is in upper case.
pub(crate) fn may_write(command: &str) -> bool {
    let writes = |kind: CommandKind| kind.writes() || kind.takes();
    !command.is_empty() && CommandKind::for_command(command, "").is_none_or(writes)
}

/// Returns `false` for a command that never takes a lock. `command` is in upper case.
pub(crate) fn may_take(command: &str) -> bool {
    !command.is_empty() && CommandKind::for_command(command, "").is_none_or(CommandKind::takes)
}

/// Returns `false` for a command that never takes a lock whose key is free. `command` is in upper case.
pub(crate) fn may_take_free_key(command: &str) -> bool {
    !command.is_empty()
        && CommandKind::for_command(command, "").is_none_or(CommandKind::takes_free_key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_or_unknown_command_may_take() {
        assert!(may_take("SET") && may_take("EXEC") && may_take("CAS.SET"));
        assert!(may_take("BLPOP") && !may_take_free_key("BLPOP") && may_take_free_key("SETNX"));
        assert!(!may_take("GET") && !may_take("EXPIRE") && !may_take("MULTI") && !may_take(""));
    }

    #[tokio::test(start_paused = true)]
    async fn unanswered_query_is_unknown() {
        let queries = EffectQueries::default();
        assert_eq!(queries.query(0, 7, Some(1)).await, None);
        let mut receiver = queries.receiver();
        assert_eq!(queries.query(0, 7, Some(2)).await, None);
        assert_eq!(
            LockEffect::in_phase(None, Phase::Acquire),
            LockEffect::Unknown
        );
        drop(receiver.recv().await);
        let took = CommandEffect {
            took_lock: true,
            lock: Some(0),
        };
        let (effect, ()) = tokio::join!(queries.query(1, 7, Some(3)), async {
            let query = receiver.recv().await.unwrap();
            assert_eq!((query.node, query.conn, query.number), (1, 7, Some(3)));
            query.reply.send(took).unwrap();
        });
        assert_eq!(effect, Some(took));
        assert_eq!(
            LockEffect::in_phase(effect, Phase::Acquire),
            LockEffect::Took
        );
        drop(receiver);
        assert_eq!(queries.query(0, 7, None).await, None);
    }
}
