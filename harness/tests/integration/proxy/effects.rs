//! What each fault does, in each direction.

use std::time::Duration;

use picklock_harness::proxy::{
    Effect, FrameOutcome, ImposedId, LinkFault, LinkId, LogEntry, Proxy,
};
use picklock_scenarios::Direction;

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

fn told(pairs: &[(&str, FrameOutcome)]) -> Vec<(String, FrameOutcome)> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, outcome)| ((*name).to_owned(), *outcome))
        .collect()
}

/// Gives the proxy time to do what it must not do: everything that is ready to run runs, and a
/// round trip of a neighbour shows that the proxy is not merely slow.
async fn neighbour_passes(neighbour: &mut Client) {
    for _ in 0..3 {
        assert_eq!(neighbour.ask("PING").await, "+PONG\\r\\n");
    }
}

async fn has_fired(proxy: &Proxy, fault: ImposedId) {
    within("the strike", async {
        while proxy.affected_frames(fault) == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_dropped_request_never_arrives_and_neither_does_what_follows_it() {
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
    let requests = told(&[("SET", Dropped), ("GET", Cut), ("GET", Forwarded)]);
    assert_eq!(outcomes(&proxy, Direction::Request), requests);
    let replies = told(&[("GET", Forwarded)]);
    assert_eq!(outcomes(&proxy, Direction::Reply), replies);
    let (log, idle) = (proxy.log(), picklock_scenarios::Phase::Idle);
    let get = log
        .entries()
        .into_iter()
        .rfind(|it| it.command == "GET" && it.sent_ns.is_some());
    let last = log
        .entries()
        .into_iter()
        .rfind(|it| it.direction == Direction::Request);
    assert!(get.is_some());
    let reported_at_ns = log.last_request_naming(0, 0, idle, 0);
    assert_eq!(
        reported_at_ns,
        last.unwrap().sent_ns,
        "a swallowed command went out"
    );
}

#[tokio::test]
async fn a_dropped_reply_is_never_replaced_by_the_next_one() {
    let redis = Redis::start().await;
    let proxy = proxy();
    let address = proxy.open(LINK, redis.address).await.unwrap();
    let mut client = Client::connect(address).await;
    let fault = proxy.impose(LinkFault {
        frames: Some(1),
        ..on(Direction::Reply, Effect::Drop)
    });
    client.send("SET lock:1 mine").await;
    client.send("GET lock:1").await;
    client.is_reset().await;
    proxy.lift(fault);
    assert_eq!(proxy.affected_frames(fault), 1, "counted after the end, too");
    let mut next = Client::connect(address).await;
    assert_eq!(next.ask("GET lock:1").await, "$4\\r\\nmine\\r\\n");
    proxy.close().await;
    use FrameOutcome::{Cut, Dropped, Forwarded};
    let expected = told(&[("SET", Dropped), ("GET", Cut), ("GET", Forwarded)]);
    assert_eq!(outcomes(&proxy, Direction::Reply), expected);
}

#[tokio::test]
async fn the_end_of_a_drop_resets_the_connections_in_which_something_is_missing() {
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
async fn an_answered_command_never_reaches_its_server_and_replies_stay_in_order() {
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
async fn a_replaced_reply_belongs_to_a_command_that_was_executed() {
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

async fn holds_and_lets_go_in_order(direction: Direction) {
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
    // The fault was met by now, or will be: either way no answer comes before it is lifted.
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
    let held = proxy.log().entries().into_iter();
    let held = held
        .filter(|entry| entry.outcome == FrameOutcome::Held)
        .count();
    assert_eq!(held, 20);
}

#[tokio::test]
async fn held_requests_are_let_go_in_order() {
    holds_and_lets_go_in_order(Direction::Request).await;
}

#[tokio::test]
async fn held_replies_are_let_go_in_order() {
    holds_and_lets_go_in_order(Direction::Reply).await;
}

async fn delays_each_frame_by_itself(direction: Direction) {
    let redis = Redis::start().await;
    let proxy = proxy();
    let mut client = Client::connect(proxy.open(LINK, redis.address).await.unwrap()).await;
    let by = Duration::from_millis(700);
    let jitter = Duration::from_millis(50);
    proxy.impose(on(direction, Effect::Delay { by, jitter }));
    for number in 0..10 {
        client.send(&format!("RPUSH list {number}")).await;
        // Each goes out in a chunk of its own, somewhat later than the one before.
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
    // All were read before the first had gone, and the last did not wait for nine delays before
    // its own, as it would were they served one after the other.
    assert!(
        entries[9].at_ns < sent(&entries[0]),
        "the frames were read one by one"
    );
    let last = Duration::from_nanos(sent(&entries[9]) - entries[9].at_ns);
    assert!(last < 9 * by, "the delays add up: {last:?}");
}

#[tokio::test]
async fn requests_are_delayed_side_by_side() {
    delays_each_frame_by_itself(Direction::Request).await;
}

#[tokio::test]
async fn replies_are_delayed_side_by_side() {
    delays_each_frame_by_itself(Direction::Reply).await;
}

async fn partitions(direction: Option<Direction>) {
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
    // The old connection and the new one have both run into it.
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
async fn a_partition_stops_everything_until_it_is_lifted() {
    partitions(None).await;
}

#[tokio::test]
async fn a_one_way_partition_stops_requests() {
    partitions(Some(Direction::Request)).await;
}

#[tokio::test]
async fn a_one_way_partition_stops_replies() {
    partitions(Some(Direction::Reply)).await;
}

#[tokio::test]
async fn not_even_the_end_of_a_connection_passes_a_partition() {
    let stage = Stage::start().await;
    let proxy = proxy();
    let mut client = Client::connect(proxy.open(LINK, stage.address()).await.unwrap()).await;
    let mut node = stage.accept().await;
    // The proxy must know the node before it dies, else the worker is told that nobody is there.
    node.write(b"+hello\r\n").await;
    assert_eq!(client.reply().await, "+hello\\r\\n");
    let fault = proxy.impose(on(Direction::Reply, Effect::Partition));
    node.write(b"+late\r\n").await;
    node.stream.set_zero_linger().unwrap();
    drop(node);
    has_fired(&proxy, fault).await;
    assert!(client.is_silent());
    // Writing into the void does not tell the client either.
    client.send("PING").await;
    tokio::task::yield_now().await;
    assert!(client.is_silent());
    proxy.lift(fault);
    let end = within("an end", client.rest()).await;
    assert!(end.is_err() || end.is_ok_and(|bytes| bytes == b"+late\r\n" || bytes.is_empty()));
    proxy.close().await;
}

#[tokio::test]
async fn bytes_that_are_not_resp_are_held_too_but_never_dropped() {
    let stage = Stage::start().await;
    let proxy = proxy();
    let mut client = Client::connect(proxy.open(LINK, stage.address()).await.unwrap()).await;
    let mut node = stage.accept().await;
    proxy.impose(LinkFault::everywhere(Effect::Drop));
    let hold = proxy.impose(on(Direction::Request, Effect::Hold));
    client.write(b"\x16\x03\x01 no RESP").await;
    has_fired(&proxy, hold).await;
    assert!(node.is_silent());
    proxy.lift(hold);
    assert_eq!(node.exactly(11).await, b"\x16\x03\x01 no RESP");
    node.write(b"neither").await;
    assert_eq!(client.exactly(7).await, b"neither");
    proxy.close().await;
}

#[tokio::test]
async fn a_sender_is_slowed_down_instead_of_memory_being_filled() {
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
    // The proxy shares this thread: when it has had a thousand turns and there is still no room,
    // it does not read.
    let (mut sent, mut turns) = (0, 0);
    while turns < 1000 {
        let rest = &block[sent % block.len()..];
        match node.stream.try_write(rest) {
            Ok(count) => (sent, turns) = (sent + count, 0),
            Err(_) => turns += 1,
        }
        assert!(sent < 1000 * frames, "the proxy takes whatever comes");
        tokio::task::yield_now().await;
    }
    let kept = proxy.affected_frames(hold);
    assert!(
        (1024..2048).contains(&kept),
        "{kept} frames of 1 KiB are kept"
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
