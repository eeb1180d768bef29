//! What the model sends out of band, and whether the real server sends the same.

use picklock_redis_model::{ClientId, Reply, ServerVersion};

/// The messages of each client, in its order. The order between clients cannot be seen.
pub(super) fn by_client(messages: Vec<(ClientId, Reply)>) -> Vec<(ClientId, Vec<Reply>)> {
    let mut clients: Vec<(ClientId, Vec<Reply>)> = Vec::new();
    for (client, message) in messages {
        match clients.iter_mut().find(|(other, _)| *other == client) {
            Some((_, list)) => list.push(message),
            None => clients.push((client, vec![message])),
        }
    }
    clients
}

/// Before Redis 7.2 a client that publishes to itself gets the message before the reply.
pub(super) fn own_messages_come_first(version: ServerVersion) -> bool {
    matches!(version, ServerVersion::Redis62 | ServerVersion::Redis70)
}

/// A client whose patterns match more than once gets these messages in the order of a hash table:
/// sorts each run of them.
pub(super) fn without_order_of_patterns(mut messages: Vec<Reply>) -> Vec<Reply> {
    let by_pattern = |message: &Reply| -> bool {
        let (Reply::Array(items) | Reply::Push(items)) = message else {
            return false;
        };
        items.first() == Some(&Reply::bulk("pmessage"))
    };
    for run in messages.chunk_by_mut(|one, other| by_pattern(one) && by_pattern(other)) {
        run.sort_by_cached_key(|message| format!("{message:?}"));
    }
    messages
}
