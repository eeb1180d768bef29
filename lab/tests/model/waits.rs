//! WAIT on a real master with a real replica. `harness/tests/integration/sim/replicas.rs` sends the same commands in
//! the simulation, and expects the same replies.

use std::path::Path;

use picklock_redis_model::Reply;

use crate::real_redis::{RealClient, RealServer};

/// Commands while the replica is linked. Waiting for more replicas than exist takes the whole timeout.
const LINKED: [&str; 4] = ["SET k 1", "WAIT 1 20000", "WAIT 0 0", "WAIT 2 100"];

/// Commands after the link was cut.
const CUT: [&str; 3] = ["SET k 2", "WAIT 1 100", "WAIT 0 100"];

/// A command on a connection that has written nothing.
const FRESH: &str = "WAIT 1 100";

fn tell(client: &mut RealClient, words: &str) -> String {
    let words: Vec<&str> = words.split(' ').collect();
    match client.ask(&words) {
        Reply::Int(number) => number.to_string(),
        Reply::Simple(text) => text.to_string(),
        other => format!("{other:?}"),
    }
}

#[test]
fn wait_answers_as_in_the_simulation() {
    let redis = Path::new("redis-server");
    let (master, replica) = (RealServer::start(redis), RealServer::start(redis));
    let (mut client, mut behind) = (master.connect(), replica.connect());
    tell(&mut client, "CONFIG SET repl-diskless-sync-delay 0");
    tell(&mut behind, "CONFIG SET repl-diskless-load on-empty-db");
    let Reply::Array(port) = client.ask(&["CONFIG", "GET", "port"]) else {
        panic!("the port is told");
    };
    let Reply::Bulk(port) = &port[1] else {
        panic!("the port is text");
    };
    let port = String::from_utf8_lossy(port);
    tell(&mut behind, &format!("REPLICAOF 127.0.0.1 {port}"));
    // A replica counts as linked before it acknowledges writes, so wait until it has acknowledged one.
    tell(&mut client, "PUBLISH ready 1");
    assert_eq!(tell(&mut client, "WAIT 1 30000"), "1");

    let mut said: Vec<String> = LINKED.map(|words| tell(&mut client, words)).into();
    tell(&mut behind, "REPLICAOF 127.0.0.1 1");
    said.extend(CUT.map(|words| tell(&mut client, words)));
    said.push(tell(&mut master.connect(), FRESH));
    assert_eq!(said, ["OK", "1", "1", "1", "OK", "0", "0", "0"]);
}
