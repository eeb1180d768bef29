//! The effect of each fault, in each direction.

use std::time::Duration;

use picklock_harness::proxy::{
    Effect, FrameOutcome, ImposedId, LinkFault, LinkId, LogEntry, Proxy,
};
use picklock_scenarios::{Direction, Phase};

use super::client::Client;
use super::node::{Redis, Stage};
use super::{LINK, proxy, within};

fn on(direction: Direction, effect: Effect) -> LinkFault {
    LinkFault {
        direction: Some(direction),
        ..LinkFault::everywhere(effect)
    }
}

fn outcomes(proxy: &Proxy, direction: Direction) -> Vec<(String, FrameOutcome)> {
    let entries = proxy.log().entries().into_iter();
    entries
        .filter(|entry| entry.direction == direction)
        .map(|entry| (entry.command, entry.outcome))
        .collect()
}

fn expected_outcomes(pairs: &[(&str, FrameOutcome)]) -> Vec<(String, FrameOutcome)> {
    pairs
        .iter()
        .map(|(name, outcome)| ((*name).to_owned(), *outcome))
        .collect()
}

/// Gives the proxy time for an action that it must not take. All ready tasks run, and round trips on a neighbouring
/// link show that the proxy is not merely slow.
async fn neighbour_passes(neighbour: &mut Client) {
    for _ in 0..3 {
        assert_eq!(neighbour.ask("PING").await, "+PONG\\r\\n");
    }
}

async fn wait_until_affected(proxy: &Proxy, fault: ImposedId) {
    within("the effect", async {
        while proxy.affected_frames(fault) == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn dropped_request_and_its_successors_never_arrive() {
    let redis = Redis::start().await;
    let proxy = proxy();
    let address = proxy.open(LINK, redis.address).await.unwrap();
    let mut client = Client::connect(address).await;
    let fault = proxy.impose(LinkFault {
        frames: Some(1),
        ..on(Direction::Request, Effect::Drop)
    });
    client.send("SET lock:1 swallowed").await;
    client.send("GET lock:1").await;
    client.is_reset().await;
    assert_eq!(proxy.affected_frames(fault), 1);
    let mut next = Client::connect(address).await;
    assert_eq!(next.ask("GET lock:1").await, "$-1\\r\\n");
    proxy.close().await;
    use FrameOutcome::{Cut, Dropped, Forwarded};
    let requests = expected_outcomes(&[("SET", Dropped), ("GET", Cut), ("GET", Forwarded)]);
    assert_eq!(outcomes(&proxy, Direction::Request), requests);
    let replies = expected_outcomes(&[("GET", Forwarded)]);
    assert_eq!(outcomes(&proxy, Direction::Reply), replies);
    let (log, idle) = (proxy.log(), Phase::Idle);
    let get = log
        .entries()
        .into_iter()
        .rfind(|it| it.command == "GET" && it.sent_ns.is_some());
    let last = log
        .entries()
        .into_iter()
        .rfind(|it| it.direction == Direction::Request);
    assert!(get.is_some());
    let last_sent_ns = log.last_request_naming(0, 0, idle, 0);
    assert_eq!(
        last_sent_ns,
        last.unwrap().sent_ns,
        "a dropped command was forwarded"
    );
}

#[tokio::test]
async fn dropped_reply_is_never_replaced_by_the_next_one() {
    let redis = Redis::start().await;
    let proxy = proxy();
    let address = proxy.open(LINK, redis.address).await.unwrap();
    let mut client = Client::connect(address).await;
    let fault = proxy.impose(LinkFault {
        frames: Some(1),
        ..on(Direction::Reply, Effect::Drop)
    });
    proxy.set_phase(LINK.worker, 7, Phase::Acquire);
    client.send("SET lock:1 mine").await;
    client.send("GET lock:1").await;
    client.is_reset().await;
    proxy.lift(fault);
    within("the wait for the lost reply is the longest", async {
        while !proxy.idle_wait(LINK.worker).unwrap().lost_reply {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(
        proxy.affected_frames(fault),
        1,
        "counted after the end, too"
    );
    let mut next = Client::connect(address).await;
    assert_eq!(next.ask("GET lock:1").await, "$4\\r\\nmine\\r\\n");
    proxy.close().await;
    use FrameOutcome::{Cut, Dropped, Forwarded};
    let expected = expected_outcomes(&[("SET", Dropped), ("GET", Cut), ("GET", Forwarded)]);
    assert_eq!(outcomes(&proxy, Direction::Reply), expected);
}

#[tokio::test]
async fn end_of_a_drop_resets_connections_with_a_gap() {
    let redis = Redis::start().await;
    let proxy = proxy();
    let address = proxy.open(LINK, redis.address).await.unwrap();
    let (mut client, mut second) = (
        Client::connect(address).await,
        Client::connect(address).await,
    );
    assert_eq!(second.ask("PING").await, "+PONG\\r\\n");
    let fault = proxy.impose(on(Direction::Reply, Effect::Drop));
    client.send("SET lock:1 mine").await;
    client.send("GET lock:1").await;
    while proxy.affected_frames(fault) < 2 {
        tokio::task::yield_now().await;
    }
    assert!(client.is_silent());
    proxy.lift(fault);
    client.is_reset().await;
    assert_eq!(second.ask("PING").await, "+PONG\\r\\n");
    proxy.close().await;
}

#[tokio::test]
async fn answered_command_never_reaches_its_server() {
    let redis = Redis::start().await;
    let proxy = proxy();
    let mut client = Client::connect(proxy.open(LINK, redis.address).await.unwrap()).await;
    let error = picklock_scenarios::ServerError::Readonly;
    let refused = "-READONLY You can\\'t write against a read only replica.\\r\\n";
    let fault = proxy.impose(on(Direction::Request, Effect::Answer(error)));
    for command in [
        "GET lock:1",
        "SET lock:1 mine",
        "GET lock:1",
        "MULTI",
        "SET lock:1 mine",
        "EXEC",
    ] {
        client.send(command).await;
    }
    for reply in ["$-1\\r\\n", refused, "$-1\\r\\n", "+OK\\r\\n", refused] {
        assert_eq!(client.reply().await, reply);
    }
    assert!(client.reply().await.starts_with("-EXECABORT"));
    assert_eq!(proxy.affected_frames(fault), 2);
    proxy.lift(fault);
    assert_eq!(client.ask("SET lock:1 mine").await, "+OK\\r\\n");
    proxy.close().await;
    let answered = |pairs: Vec<(String, FrameOutcome)>| {
        pairs
            .into_iter()
            .filter(|(_, outcome)| *outcome == FrameOutcome::Answered)
            .count()
    };
    assert_eq!(answered(outcomes(&proxy, Direction::Request)), 2);
    assert_eq!(answered(outcomes(&proxy, Direction::Reply)), 2);
}

#[tokio::test]
async fn replaced_reply_belongs_to_an_executed_command() {
    let redis = Redis::start().await;
    let proxy = proxy();
    let mut client = Client::connect(proxy.open(LINK, redis.address).await.unwrap()).await;
    let error = picklock_scenarios::ServerError::Noreplicas;
    proxy.impose(LinkFault {
        frames: Some(1),
        ..on(Direction::Reply, Effect::Answer(error))
    });
    assert_eq!(
        client.ask("GET lock:1").await,
        "$-1\\r\\n",
        "it is not refused"
    );
    assert!(
        client
            .ask("SET lock:1 mine")
            .await
            .starts_with("-NOREPLICAS")
    );
    assert_eq!(client.ask("GET lock:1").await, "$4\\r\\nmine\\r\\n");
    proxy.close().await;
}

async fn assert_held_and_released_in_order(direction: Direction) {
    let redis = Redis::start().await;
    let proxy = proxy();
    let mut client = Client::connect(proxy.open(LINK, redis.address).await.unwrap()).await;
    let other = LinkId { worker: 1, node: 0 };
    let mut neighbour = Client::connect(proxy.open(other, redis.address).await.unwrap()).await;
    let fault = proxy.impose(LinkFault {
        workers: Some(vec![0]),
        ..on(direction, Effect::Hold)
    });
    for number in 0..20 {
        client.send(&format!("RPUSH list {number}")).await;
    }
    neighbour_passes(&mut neighbour).await;
    // No reply arrives before the fault is lifted, even if the fault has not affected all frames yet.
    while proxy.affected_frames(fault) < 20 {
        neighbour_passes(&mut neighbour).await;
    }
    assert!(client.is_silent());
    let len = neighbour.ask("LLEN list").await;
    assert_eq!(len == ":20\\r\\n", direction == Direction::Reply, "{len}");
    proxy.lift(fault);
    for number in 1..=20 {
        assert_eq!(client.reply().await, format!(":{number}\\r\\n"));
    }
    let list = client.ask("LRANGE list 0 2").await;
    assert_eq!(
        list,
        "*3\\r\\n$1\\r\\n0\\r\\n$1\\r\\n1\\r\\n$1\\r\\n2\\r\\n"
    );
    proxy.close().await;
    let held = proxy
        .log()
        .entries()
        .into_iter()
        .filter(|entry| entry.outcome == FrameOutcome::Held)
        .count();
    assert_eq!(held, 20);
}

#[tokio::test]
async fn held_requests_are_released_in_order() {
    assert_held_and_released_in_order(Direction::Request).await;
}

#[tokio::test]
async fn held_replies_are_released_in_order() {
    assert_held_and_released_in_order(Direction::Reply).await;
}

async fn assert_delayed_concurrently(direction: Direction) {
    let redis = Redis::start().await;
    let proxy = proxy();
    let mut client = Client::connect(proxy.open(LINK, redis.address).await.unwrap()).await;
    let by = Duration::from_millis(700);
    let jitter = Duration::from_millis(50);
    proxy.impose(on(direction, Effect::Delay { by, jitter }));
    for number in 0..10 {
        client.send(&format!("RPUSH list {number}")).await;
        // Each command is sent in a separate chunk, slightly later than the preceding command.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    for number in 1..=10 {
        assert_eq!(client.reply().await, format!(":{number}\\r\\n"));
    }
    proxy.close().await;
    let entries: Vec<LogEntry> = proxy
        .log()
        .entries()
        .into_iter()
        .filter(|entry| entry.direction == direction)
        .collect();
    assert_eq!(entries.len(), 10);
    let sent = |entry: &LogEntry| entry.sent_ns.unwrap();
    for entry in &entries {
        assert_eq!(entry.outcome, FrameOutcome::Delayed);
        assert!(u128::from(sent(entry) - entry.at_ns) >= by.as_nanos());
    }
    assert!(entries.is_sorted_by_key(sent));
    // All frames were read before the first was forwarded. The last frame waited for one delay and not for ten, so the
    // delays ran at the same time.
    assert!(
        entries[9].at_ns < sent(&entries[0]),
        "the frames were read one by one"
    );
    let last = Duration::from_nanos(sent(&entries[9]) - entries[9].at_ns);
    assert!(last < 9 * by, "the delays add up: {last:?}");
}

#[tokio::test]
async fn requests_are_delayed_concurrently() {
    assert_delayed_concurrently(Direction::Request).await;
}

#[tokio::test]
async fn replies_are_delayed_concurrently() {
    assert_delayed_concurrently(Direction::Reply).await;
}

async fn assert_partition_stops(direction: Option<Direction>) {
    let redis = Redis::start().await;
    let proxy = proxy();
    let address = proxy.open(LINK, redis.address).await.unwrap();
    let mut client = Client::connect(address).await;
    let other = LinkId { worker: 1, node: 0 };
    let mut neighbour = Client::connect(proxy.open(other, redis.address).await.unwrap()).await;
    assert_eq!(client.ask("PING").await, "+PONG\\r\\n");
    let fault = proxy.impose(LinkFault {
        workers: Some(vec![0]),
        direction,
        ..LinkFault::everywhere(Effect::Partition)
    });
    client.send("SET lock:1 mine").await;
    let mut newcomer = Client::connect(address).await;
    newcomer.send("PING").await;
    // The partition has stopped the old connection and the new one.
    while proxy.affected_frames(fault) < 2 {
        neighbour_passes(&mut neighbour).await;
    }
    assert!(client.is_silent() && newcomer.is_silent());
    let got = neighbour.ask("EXISTS lock:1").await;
    assert_eq!(
        got == ":1\\r\\n",
        direction == Some(Direction::Reply),
        "{got}"
    );
    proxy.lift(fault);
    assert_eq!(client.reply().await, "+OK\\r\\n");
    assert_eq!(newcomer.reply().await, "+PONG\\r\\n");
    proxy.close().await;
}

#[tokio::test]
async fn partition_stops_everything_until_it_is_lifted() {
    assert_partition_stops(None).await;
}

#[tokio::test]
async fn one_way_partition_stops_requests() {
    assert_partition_stops(Some(Direction::Request)).await;
}

#[tokio::test]
async fn one_way_partition_stops_replies() {
    assert_partition_stops(Some(Direction::Reply)).await;
}

#[tokio::test]
async fn partition_stops_the_end_of_a_connection() {
    let stage = Stage::start().await;
    let proxy = proxy();
    let mut client = Client::connect(proxy.open(LINK, stage.address()).await.unwrap()).await;
    let mut node = stage.accept().await;
    // The proxy must have reached the node before it dies; otherwise the worker's connection is reset.
    node.write(b"+hello\r\n").await;
    assert_eq!(client.reply().await, "+hello\\r\\n");
    let fault = proxy.impose(on(Direction::Reply, Effect::Partition));
    node.write(b"+late\r\n").await;
    node.stream.set_zero_linger().unwrap();
    drop(node);
    wait_until_affected(&proxy, fault).await;
    assert!(client.is_silent());
    // A write to the dead connection does not reveal its end either.
    client.send("PING").await;
    tokio::task::yield_now().await;
    assert!(client.is_silent());
    proxy.lift(fault);
    let end = within("an end", client.rest()).await;
    assert!(end.is_err() || end.is_ok_and(|bytes| bytes == b"+late\r\n" || bytes.is_empty()));
    proxy.close().await;
}

#[tokio::test]
async fn bytes_that_are_not_resp_are_held_but_never_dropped() {
    let stage = Stage::start().await;
    let proxy = proxy();
    let mut client = Client::connect(proxy.open(LINK, stage.address()).await.unwrap()).await;
    let mut node = stage.accept().await;
    proxy.impose(LinkFault::everywhere(Effect::Drop));
    let hold = proxy.impose(on(Direction::Request, Effect::Hold));
    client.write(b"\x16\x03\x01 no RESP").await;
    wait_until_affected(&proxy, hold).await;
    assert!(node.is_silent());
    proxy.lift(hold);
    assert_eq!(node.exactly(11).await, b"\x16\x03\x01 no RESP");
    node.write(b"neither").await;
    assert_eq!(client.exactly(7).await, b"neither");
    proxy.close().await;
}

#[tokio::test]
async fn sender_is_slowed_down_when_memory_is_full() {
    let stage = Stage::start().await;
    let proxy = proxy();
    let mut client = Client::connect(proxy.open(LINK, stage.address()).await.unwrap()).await;
    let mut node = stage.accept().await;
    node.write(b"+hello\r\n").await;
    assert_eq!(client.reply().await, "+hello\\r\\n");
    let hold = proxy.impose(on(Direction::Reply, Effect::Hold));
    let frame = [b"+", [b'x'; 1021].as_slice(), b"\r\n"].concat();
    let frames = 256 * frame.len();
    let block = frame.repeat(256);
    // The proxy shares this thread: if there is still no space after a thousand of its turns, it does not read.
    let (mut sent, mut turns) = (0, 0);
    while turns < 1000 {
        let rest = &block[sent % block.len()..];
        match node.stream.try_write(rest) {
            Ok(count) => (sent, turns) = (sent + count, 0),
            Err(_) => turns += 1,
        }
        assert!(sent < 1000 * frames, "the proxy reads without a limit");
        tokio::task::yield_now().await;
    }
    let held = proxy.affected_frames(hold);
    assert!(
        (1024..2048).contains(&held),
        "{held} frames of 1 KiB are held"
    );
    proxy.lift(hold);
    let whole = sent / frame.len() * frame.len();
    let all = client.exactly(whole).await;
    assert!(
        all.chunks(frame.len()).all(|one| one == frame),
        "changed on the way"
    );
    proxy.close().await;
}
