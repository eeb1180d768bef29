//! WAIT, in the simulation as on a real master with a real replica.

#[expect(dead_code, reason = "these tests do not read a server's log")]
#[path = "../../../redis-model/tests/integration/real_redis/mod.rs"]
mod real_redis;

use std::path::Path;
use std::sync::{Arc, Mutex};

use picklock_harness::model::Reply;

use super::actor::play_in;
use real_redis::{RealClient, RealServer};

/// While the replica is linked. More replicas than there are: all the time is taken.
const LINKED: [&str; 4] = ["SET k 1", "WAIT 1 20000", "WAIT 0 0", "WAIT 2 100"];

/// After its link was cut.
const CUT: [&str; 3] = ["SET k 2", "WAIT 1 100", "WAIT 0 100"];

/// By a connection that has written nothing.
const FRESH: &str = "WAIT 1 100";

fn tell(client: &mut RealClient, words: &str) -> String {
    let words: Vec<&str> = words.split(' ').collect();
    match client.ask(&words) {
        Reply::Int(number) => number.to_string(),
        Reply::Simple(text) => text.to_string(),
        other => format!("{other:?}"),
    }
}

fn on_real_servers() -> Vec<String> {
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
    // A replica counts as linked before it listens, so it must acknowledge something.
    tell(&mut client, "PUBLISH ready 1");
    assert_eq!(tell(&mut client, "WAIT 1 30000"), "1");

    let mut said: Vec<String> = LINKED.map(|words| tell(&mut client, words)).into();
    tell(&mut behind, "REPLICAOF 127.0.0.1 1");
    said.extend(CUT.map(|words| tell(&mut client, words)));
    said.push(tell(&mut master.connect(), FRESH));
    said
}

/// What was said, and when each answer came, in milliseconds.
fn in_the_simulation() -> (Vec<String>, Vec<u64>) {
    let rest = "[topology]\nreplicas = 1\n\
                [workload]\nworkers = 2\nlimit = \"6s\"\ncommand_timeout = \"2s\"\n\
                [[fault]]\nkind = \"cut-replication\"\nat = \"1s\"\nnodes = [0]";
    let said = Arc::<Mutex<Vec<(String, u64)>>>::default();
    let heard = Arc::clone(&said);
    play_in(1, rest, move |actor| {
        let heard = Arc::clone(&heard);
        async move {
            let ask = async |words| {
                let answer = actor.ask(words).await;
                heard.lock().unwrap().push((answer, actor.now_ms()));
            };
            if actor.role == 0 {
                actor.at(500).await;
                for words in LINKED {
                    ask(words).await;
                }
                actor.at(1_500).await;
                for words in CUT {
                    ask(words).await;
                }
            } else if actor.role == 1 {
                actor.at(2_500).await;
                ask(FRESH).await;
            }
        }
    });
    let said = said.lock().unwrap().clone();
    said.into_iter().unzip()
}

#[test]
fn wait_is_the_same_as_on_real_servers() {
    let (said, at_ms) = in_the_simulation();
    assert_eq!(said, ["OK", "1", "1", "1", "OK", "0", "0", "0"]);
    assert_eq!(said, on_real_servers());
    // It takes the replica's lag, or all of its time.
    assert!((500..505).contains(&at_ms[1]), "{at_ms:?}");
    assert!((600..606).contains(&at_ms[3]), "{at_ms:?}");
    assert!((1_600..1_606).contains(&at_ms[5]), "{at_ms:?}");
    assert!((2_600..2_606).contains(&at_ms[7]), "{at_ms:?}");
}
