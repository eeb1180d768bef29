//! Effects and determinism: the effects that a model records reproduce its state in another model, and equal calls
//! give equal replies.

use proptest::prelude::*;

use crate::transcript::{CLIENTS, Step};
use picklock_redis_model::{Effect, Keyspace, Now, Reply, Server, ServerVersion};

/// Start of the clock; it advances by one second per command.
const START_MS: i64 = 1_700_000_000_000;

/// Executes a transcript. Returns the replies, the effects and the final keyspace.
fn carry_out(steps: &[Step]) -> (Vec<Reply>, Vec<Effect>, Keyspace) {
    let mut server = Server::new(ServerVersion::Redis70);
    server.record_effects(true);
    let clients: Vec<_> = (0..CLIENTS).map(|_| server.connect()).collect();
    let mut replies = Vec::new();
    let mut waits = [false; CLIENTS];
    for (step, second) in steps.iter().zip(0..) {
        if waits[step.client] {
            continue;
        }
        let words: Vec<&[u8]> = step.words.iter().map(Vec::as_slice).collect();
        let now = Now::from_ms(START_MS + second * 1000);
        let reply = server.execute(clients[step.client], &words, now);
        waits[step.client] = reply == Reply::Blocked;
        replies.push(reply);
        for (client, reply) in server.take_messages() {
            let place = clients.iter().position(|other| *other == client);
            waits[place.expect("a client")] = false;
            replies.push(reply);
        }
    }
    (replies, server.take_effects(), server.snapshot())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn effects_make_a_replica_the_same(steps in crate::grammar::transcripts()) {
        let (_, effects, left) = carry_out(&steps);
        let mut replica = Server::new(ServerVersion::Redis70);
        for effect in &effects {
            // The replica's clock is far ahead, because only the master expires keys.
            let reply = replica.apply(effect, Now::from_ms(START_MS * 2));
            prop_assert!(!reply.is_error(), "{effect:?}: {reply:?}");
        }
        prop_assert_eq!(replica.snapshot(), left, "{:?}", effects);
    }

    #[test]
    fn the_same_calls_give_the_same_replies(steps in crate::grammar::transcripts()) {
        prop_assert_eq!(carry_out(&steps), carry_out(&steps));
    }
}
