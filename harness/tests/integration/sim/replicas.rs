//! WAIT in the simulation behaves as on a real master with a real replica, which `lab/tests/model/waits.rs` tests.

use std::sync::{Arc, Mutex};

use super::actor::play_in;

/// Commands that are sent while the replica is linked. The last command waits for more replicas than exist, so it waits
/// until its timeout.
const LINKED: [&str; 4] = ["SET k 1", "WAIT 1 20000", "WAIT 0 0", "WAIT 2 100"];

/// Commands that are sent after the replication link was cut.
const CUT: [&str; 3] = ["SET k 2", "WAIT 1 100", "WAIT 0 100"];

/// A command that is sent on a connection that has written nothing.
const FRESH: &str = "WAIT 1 100";

/// Returns the replies, and the time of each in milliseconds.
fn in_the_simulation() -> (Vec<String>, Vec<u64>) {
    let rest = "[topology]\nreplicas = 1\n\
                [workload]\nworkers = 2\nlimit = \"6s\"\ncommand_timeout = \"2s\"\n\
                [[fault]]\nkind = \"cut-replication\"\nat = \"1s\"\nnodes = [0]";
    let replies = Arc::<Mutex<Vec<(String, u64)>>>::default();
    let shared = Arc::clone(&replies);
    play_in(1, rest, move |actor| {
        let replies = Arc::clone(&shared);
        async move {
            let send = async |words| {
                let answer = actor.send(words).await;
                replies.lock().unwrap().push((answer, actor.now_ms()));
            };
            if actor.role == 0 {
                actor.at(500).await;
                for words in LINKED {
                    send(words).await;
                }
                actor.at(1_500).await;
                for words in CUT {
                    send(words).await;
                }
            } else if actor.role == 1 {
                actor.at(2_500).await;
                send(FRESH).await;
            }
        }
    });
    let replies = replies.lock().unwrap().clone();
    replies.into_iter().unzip()
}

#[test]
fn wait_replies_like_a_real_server() {
    let (replies, at_ms) = in_the_simulation();
    assert_eq!(replies, ["OK", "1", "1", "1", "OK", "0", "0", "0"]);
    // A WAIT lasts as long as the replica's lag, or until its timeout.
    assert!((500..505).contains(&at_ms[1]), "{at_ms:?}");
    assert!((600..606).contains(&at_ms[3]), "{at_ms:?}");
    assert!((1_600..1_606).contains(&at_ms[5]), "{at_ms:?}");
    assert!((2_600..2_606).contains(&at_ms[7]), "{at_ms:?}");
}
