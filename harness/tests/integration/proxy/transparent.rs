//! Without faults the proxy changes nothing, and the log contains all frames.

use picklock_harness::proxy::{FrameOutcome, LogEntry, Proxy};
use picklock_scenarios::{Direction, Phase};
use proptest::prelude::*;

use super::client::{Client, pack};
use super::node::{Redis, Stage};
use super::{KEY, LINK, proxy, within};

async fn connect_through_proxy(redis: &Redis) -> (Proxy, Client) {
    let proxy = proxy();
    let address = proxy.open(LINK, redis.address).await.unwrap();
    (proxy, Client::connect(address).await)
}

/// Returns the commands that were answered, in the order of the replies.
fn answered_commands(proxy: &Proxy) -> Vec<String> {
    let entries = proxy.log().entries().into_iter();
    let replies = entries.filter(|entry| entry.direction == Direction::Reply);
    replies.map(|entry| entry.command).collect()
}

fn requests(proxy: &Proxy) -> Vec<LogEntry> {
    let entries = proxy.log().entries().into_iter();
    entries
        .filter(|entry| entry.direction == Direction::Request)
        .collect()
}

async fn pipeline_ten_thousand() {
    let redis = Redis::start().await;
    let (proxy, mut client) = connect_through_proxy(&redis).await;
    let mut pipeline = Vec::new();
    for number in 0..5_000 {
        let (name, value) = (format!("k{number}"), format!("v{number}"));
        pipeline.extend(pack([&b"SET"[..], name.as_bytes(), value.as_bytes()]));
        pipeline.extend(pack([&b"get"[..], name.as_bytes()]));
    }
    client.write(&pipeline).await;
    for number in 0..5_000 {
        assert_eq!(client.reply_bytes().await, b"+OK\r\n");
        let value = format!("v{number}");
        let expected = format!("${}\r\n{value}\r\n", value.len());
        assert_eq!(client.reply_bytes().await, expected.as_bytes());
    }
    proxy.close().await;
    assert_eq!(answered_commands(&proxy), ["SET", "GET"].repeat(5_000));
    assert_eq!(requests(&proxy).len(), 10_000);
    assert!(
        requests(&proxy)
            .iter()
            .all(|e| e.outcome == FrameOutcome::Forwarded)
    );
}

#[tokio::test]
async fn pipeline_passes_on_one_thread() {
    pipeline_ten_thousand().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pipeline_passes_on_many_threads() {
    pipeline_ten_thousand().await;
}

#[tokio::test]
async fn big_and_binary_values_pass() {
    let redis = Redis::start().await;
    let (proxy, mut client) = connect_through_proxy(&redis).await;
    let big: Vec<u8> = (0..5_000_000_u32).map(|n| ((n * 31) >> 3) as u8).collect();
    let binary: Vec<u8> = (0..=255).chain(*b"\r\n$5\r\n*3\r\n\0").collect();
    for value in [&big, &binary] {
        client
            .write(&pack([&b"SET"[..], b"\0key\r\n", value]))
            .await;
        assert_eq!(client.reply_bytes().await, b"+OK\r\n");
        client.write(&pack([&b"GET"[..], b"\0key\r\n"])).await;
        let mut expected = format!("${}\r\n", value.len()).into_bytes();
        expected.extend_from_slice(value);
        expected.extend_from_slice(b"\r\n");
        assert!(
            client.reply_bytes().await == expected,
            "the value came back changed"
        );
    }
    proxy.close().await;
    assert_eq!(answered_commands(&proxy), ["SET", "GET", "SET", "GET"]);
}

#[tokio::test]
async fn resp3_push_frames_answer_nothing() {
    let redis = Redis::start().await;
    let (proxy, mut client) = connect_through_proxy(&redis).await;
    assert!(client.ask("HELLO 3").await.starts_with('%'));
    assert_eq!(client.ask("CLIENT TRACKING ON").await, "+OK\\r\\n");
    assert_eq!(client.ask("GET tracked").await, "_\\r\\n");
    redis.direct().await.ask("SET tracked 1").await;
    assert!(
        client
            .reply()
            .await
            .starts_with(">2\\r\\n$10\\r\\ninvalidate")
    );
    client.send("SUBSCRIBE news olds").await;
    assert!(client.reply().await.starts_with(">3"));
    assert!(client.reply().await.starts_with(">3"));
    redis.direct().await.ask("PUBLISH news hello").await;
    assert!(client.reply().await.contains("message"));
    // With RESP3 any command may be given while subscribed.
    client.ask("RPUSH l message b c").await;
    assert!(client.ask("LRANGE l 0 -1").await.contains("message"));
    assert_eq!(client.ask("ECHO x").await, "$1\\r\\nx\\r\\n");
    proxy.close().await;
    let expected = "HELLO CLIENT GET  SUBSCRIBE SUBSCRIBE  RPUSH LRANGE ECHO";
    assert_eq!(answered_commands(&proxy).join(" "), expected);
}

#[tokio::test]
async fn replies_match_transactions_and_unanswered_commands() {
    let redis = Redis::start().await;
    let (proxy, mut client) = connect_through_proxy(&redis).await;
    for command in ["WATCH x", "MULTI", "SET x message", "LRANGE y 0 -1"] {
        client.ask(command).await;
    }
    assert_eq!(client.ask("EXEC").await, "*2\\r\\n+OK\\r\\n*0\\r\\n");
    client.send("SUBSCRIBE a b").await;
    client.reply().await;
    client.reply().await;
    redis.direct().await.ask("PUBLISH b hello").await;
    assert!(client.reply().await.contains("message"));
    assert!(client.ask("PING").await.contains("pong"));
    client.send("UNSUBSCRIBE").await;
    client.reply().await;
    client.reply().await;
    // Neither SKIP nor the command after it is answered.
    client.send("CLIENT REPLY SKIP").await;
    client.send("SET x 2").await;
    assert_eq!(client.ask("GET x").await, "$1\\r\\n2\\r\\n");
    client.send("CLIENT REPLY OFF").await;
    client.send("SET x 3").await;
    assert_eq!(client.ask("CLIENT REPLY ON").await, "+OK\\r\\n");
    // An array that only looks like a message answers its command.
    client.ask("RPUSH l message b c").await;
    client.ask("LRANGE l 0 -1").await;
    proxy.close().await;
    let expected = "WATCH MULTI SET LRANGE EXEC SUBSCRIBE SUBSCRIBE - PING UNSUBSCRIBE - GET \
                    CLIENT RPUSH LRANGE";
    let got: Vec<_> = answered_commands(&proxy)
        .into_iter()
        .map(|name| if name.is_empty() { "-".into() } else { name })
        .collect();
    assert_eq!(got.join(" "), expected);
}

#[tokio::test]
async fn log_contains_keys_phases_and_words() {
    let redis = Redis::start().await;
    let (proxy, mut client) = connect_through_proxy(&redis).await;
    proxy.set_phase(0, 4, Phase::Acquire);
    client.ask("SET prefix:{lock:1} token NX PX 1000").await;
    client.write(b"get lock:12\r\n").await;
    client.reply().await;
    proxy.set_phase(0, 4, Phase::Release);
    let script = format!("return redis.call('del', KEYS[1]) -- {}", "x".repeat(200));
    let eval = pack([&b"eval"[..], script.as_bytes(), b"1", KEY.as_bytes()]);
    client.write(&eval).await;
    client.reply().await;
    client.ask("ECHO unlock").await;
    proxy.set_phase(0, 5, Phase::Idle);
    proxy.close().await;

    let seen: Vec<_> = requests(&proxy)
        .into_iter()
        .map(|entry| (entry.command, entry.names_key, entry.op, entry.phase))
        .collect();
    let expected = [
        ("SET", Some(0), 4, Phase::Acquire),
        ("GET", Some(1), 4, Phase::Acquire),
        ("EVAL", Some(0), 4, Phase::Release),
        ("ECHO", None, 4, Phase::Release),
    ];
    assert_eq!(
        seen,
        expected.map(|(name, key, op, phase)| (name.to_owned(), key, op, phase))
    );
    let entries = requests(&proxy);
    assert_eq!(entries[0].preview, "SET prefix:{lock:1} token NX PX 1000");
    assert!(
        entries[2].preview.ends_with(" 1 lock:1"),
        "{}",
        entries[2].preview
    );
    let log = proxy.log();
    assert_eq!(
        log.last_request_naming(0, 4, Phase::Release, 0),
        entries[2].sent_ns
    );
    assert_eq!(
        log.last_request_naming(0, 4, Phase::Acquire, 1),
        entries[1].sent_ns
    );
    assert_eq!(log.last_request_naming(0, 4, Phase::Release, 1), None);
    assert_eq!(log.last_request_naming(1, 4, Phase::Release, 0), None);

    let mut file = Vec::new();
    log.write(&mut file).unwrap();
    let lines: Vec<serde_json::Value> = file
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(lines[0]["format"], "picklock-proxy/1");
    assert_eq!(lines[0]["keys"][0], KEY);
    assert_eq!(lines.len(), 1 + 8);
    assert_eq!(lines[1]["outcome"], "forwarded");
}

#[tokio::test]
async fn queries_are_correct_after_old_entries_are_gone() {
    let redis = Redis::start().await;
    let (proxy, mut client) = connect_through_proxy(&redis).await;
    proxy.set_phase(0, 1, Phase::Release);
    client.ask("DEL lock:1").await;
    let early = proxy.log().last_request_naming(0, 1, Phase::Release, 0);
    assert!(early.is_some());
    proxy.set_phase(0, 2, Phase::Idle);
    // More than a quarter of a million entries, one per command and one per reply.
    let pipeline = pack([&b"PING"[..]]).repeat(10_000);
    for _ in 0..15 {
        client.write(&pipeline).await;
        client.exactly(7 * 10_000).await;
    }
    proxy.close().await;
    let entries = proxy.log().entries();
    assert!(proxy.log().omitted() > 0);
    assert_eq!(
        entries.len() as u64 + proxy.log().omitted(),
        2 * (150_000 + 1)
    );
    assert!(entries.iter().all(|entry| entry.command == "PING"));
    assert_eq!(
        proxy.log().last_request_naming(0, 1, Phase::Release, 0),
        early
    );
}

/// Sends bytes in these pieces both ways through a link whose node is played by the test.
async fn exchange(up: &[Vec<u8>], down: &[Vec<u8>]) -> (Vec<u8>, Vec<u8>, Vec<LogEntry>) {
    let stage = Stage::start().await;
    let proxy = proxy();
    let address = proxy.open(LINK, stage.address()).await.unwrap();
    let mut client = Client::connect(address).await;
    let mut node = stage.accept().await;
    for piece in up {
        client.write(piece).await;
        tokio::task::yield_now().await;
    }
    client.shut().await;
    let sent = node.rest().await.unwrap();
    for piece in down {
        node.write(piece).await;
        tokio::task::yield_now().await;
    }
    node.shut().await;
    let received = client.rest().await.unwrap();
    within("closing", proxy.close()).await;
    (sent, received, proxy.log().entries())
}

fn cut_at(bytes: &[u8], cuts: &[prop::sample::Index]) -> Vec<Vec<u8>> {
    let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    let pieces = places
        .windows(2)
        .map(|pair| bytes[pair[0]..pair[1]].to_vec());
    pieces.filter(|piece| !piece.is_empty()).collect()
}

/// Generates pieces of RESP mixed with random bytes, so that the random bytes occur within valid frames.
fn nonsense() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        Just(b"*1\r\n$4\r\nPING\r\n".to_vec()),
        Just(b"*2\r\n$".to_vec()),
        Just(b"$-7\r\n".to_vec()),
        Just(b"*1\r\n".repeat(300)),
        Just(b">2\r\n+a\r\n:1\r\n".to_vec()),
        Just(b"%1\r\n*0\r\n+x\r\n".to_vec()),
        Just(b"$999999999999\r\n".to_vec()),
        Just(b"+OK\r\n".to_vec()),
        Just(b"=3\r\nabc\r\n,nan?\r\n".to_vec()),
        Just(b"*99999999\r\n:1\r\n".to_vec()),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(work)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_pass_unchanged(
        up in nonsense(),
        down in nonsense(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let (sent, received, entries) =
            block_on(exchange(&cut_at(&up, &cuts), &cut_at(&down, &cuts)));
        prop_assert_eq!(sent, up);
        prop_assert_eq!(received, down);
        let notes = entries.iter().filter(|entry| entry.outcome == FrameOutcome::Unparseable);
        prop_assert!(notes.count() <= 1);
    }

    #[test]
    fn log_does_not_depend_on_the_pieces(
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let up = [
            pack([&b"SET"[..], b"lock:12", b"x\r\n$9", b"NX"]),
            b"PING\r\n\r\n".to_vec(),
            pack([&b"MULTI"[..]]),
            pack([&b"EVALSHA"[..], b"abc", b"1", b"lock:1"]),
            pack([&b"EXEC"[..]]),
        ].concat();
        let down = b"+OK\r\n>2\r\n+invalidate\r\n*0\r\n+PONG\r\n+OK\r\n-NOSCRIPT x\r\n*2\r\n$-1\r\n*1\r\n:5\r\n".to_vec();
        let summary = |entries: Vec<LogEntry>| -> Vec<_> {
            entries.into_iter().map(|e| (e.direction, e.command, e.names_key, e.size, e.preview)).collect()
        };
        let (_, _, whole) = block_on(exchange(std::slice::from_ref(&up), std::slice::from_ref(&down)));
        let (_, _, cut) = block_on(exchange(&cut_at(&up, &cuts), &cut_at(&down, &cuts)));
        let whole = summary(whole);
        prop_assert_eq!(whole.len(), 6 + 6);
        let answers: Vec<_> = whole
            .iter()
            .filter(|entry| entry.0 == Direction::Reply)
            .map(|entry| entry.1.as_str())
            .collect();
        prop_assert_eq!(answers, ["SET", "", "PING", "MULTI", "EVALSHA", "EXEC"]);
        prop_assert_eq!(summary(cut), whole);
    }
}
