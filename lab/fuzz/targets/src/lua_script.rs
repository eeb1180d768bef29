//! A script for the Redis model.
//!
//! The input's first byte chooses the server and how the script is sent; the rest is its text.

use picklock_redis_model::{ClientId, Now, Server, ServerVersion};

/// The time of every command, in milliseconds since the Unix epoch.
const NOW_MS: i64 = 1_700_000_000_000;

/// Runs a script twice on each of two servers, so that its leftover state has an effect.
pub fn run(input: &[u8]) {
    let Some((&choice, script)) = input.split_first() else {
        return;
    };
    let choice = usize::from(choice);
    let version = ServerVersion::ALL[choice % ServerVersion::ALL.len()];
    let form = choice / ServerVersion::ALL.len();
    for _ in 0..2 {
        let mut server = Server::new(version);
        server.record_effects(form % 2 == 1);
        server.report(form % 2 == 1);
        let client = server.connect();
        say(&mut server, client, &[b"SET", b"key", b"value"]);
        if form % 4 >= 2 {
            say(&mut server, client, &[b"HELLO", b"3"]);
        }
        for _ in 0..2 {
            let command: &[u8] = if form % 3 == 1 { b"EVAL_RO" } else { b"EVAL" };
            let words: [&[u8]; 5] = [command, script, b"1", b"key", b"argument"];
            say(&mut server, client, &words);
        }
    }
}

/// Executes a command, and encodes its reply as a server does.
fn say(server: &mut Server, client: ClientId, words: &[&[u8]]) {
    let reply = server.execute(client, words, Now::from_ms(NOW_MS));
    let mut bytes = Vec::new();
    reply.encode(server.speaks_resp3(client), &mut bytes);
    drop(reply.into_value());
    drop((
        server.take_effects(),
        server.take_report(),
        server.take_messages(),
    ));
}
