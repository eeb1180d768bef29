//! What a power loss takes from a node that syncs its file every second.

use std::time::Duration;

use picklock_harness::clock::Clock;
use picklock_harness::servers::Servers;

use super::ask::ask;

/// Kills the first node within a second of a write, and once more after it came back.
pub async fn loses_the_last_second_and_no_more(servers: &Servers) {
    let second = Duration::from_secs(1);
    let tell = async |words: &[&str]| ask(servers.address(0), words).await;
    loop {
        tell(&["SET", "old", "kept"]).await;
        // An earlier round may have left it.
        tell(&["DEL", "young"]).await;
        tokio::time::sleep(2 * second).await;
        let clock = Clock::start();
        tell(&["SET", "young", "lost"]).await;
        servers.crash(0).await.unwrap();
        let in_time = clock.elapsed() < second;
        servers.restart(0).await.unwrap();
        assert_eq!(tell(&["GET", "old"]).await, "kept");
        // On a machine so busy that the kill took a second the young one was safe by then.
        if in_time {
            break;
        }
    }
    assert_eq!(tell(&["GET", "young"]).await, "nil");
    // What it came back with is on the disk: the next loss does not take it.
    servers.crash(0).await.unwrap();
    servers.restart(0).await.unwrap();
    assert_eq!(tell(&["GET", "old"]).await, "kept");
}
