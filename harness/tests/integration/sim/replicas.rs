//! WAIT, in the simulation as on a real master with a real replica. `lab/tests/model/waits.rs` asks those.

use std::sync::{Arc, Mutex};

use super::actor::play_in;

/// While the replica is linked. More replicas than there are: all the time is taken.
const LINKED: [&str; 4] = ["SET k 1", "WAIT 1 20000", "WAIT 0 0", "WAIT 2 100"];

/// After its link was cut.
const CUT: [&str; 3] = ["SET k 2", "WAIT 1 100", "WAIT 0 100"];

/// By a connection that has written nothing.
const FRESH: &str = "WAIT 1 100";

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
fn wait_answers_as_a_real_server_does() {
    let (said, at_ms) = in_the_simulation();
    assert_eq!(said, ["OK", "1", "1", "1", "OK", "0", "0", "0"]);
    // It takes the replica's lag, or all of its time.
    assert!((500..505).contains(&at_ms[1]), "{at_ms:?}");
    assert!((600..606).contains(&at_ms[3]), "{at_ms:?}");
    assert!((1_600..1_606).contains(&at_ms[5]), "{at_ms:?}");
    assert!((2_600..2_606).contains(&at_ms[7]), "{at_ms:?}");
}
