//! Fields of hashes that expire: what random transcripts cannot reach, because no time passes in them.

use picklock_redis_model::{ClientId, Effect, Now, Reply, Server, ServerVersion, TouchedKeys};

const START_MS: i64 = 1_700_000_000_000;

struct Bench {
    server: Server,
    client: ClientId,
}

impl Bench {
    fn new(version: ServerVersion) -> Bench {
        let mut server = Server::new(version);
        server.record_effects(true);
        let client = server.connect();
        Bench { server, client }
    }

    fn say(&mut self, line: &str, after_ms: i64) -> Reply {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let now = Now::from_ms(START_MS + after_ms);
        self.server.execute(self.client, &words, now)
    }

    fn effects(&mut self) -> Vec<String> {
        let text = |effect: &Effect| {
            let words = effect.args.iter().map(|word| String::from_utf8_lossy(word));
            words.collect::<Vec<_>>().join(" ")
        };
        self.server.take_effects().iter().map(text).collect()
    }
}

#[test]
fn a_field_that_has_run_out_is_gone_for_every_command() {
    for version in [
        ServerVersion::Redis80,
        ServerVersion::Redis84,
        ServerVersion::Valkey91,
    ] {
        for (line, left) in [
            ("HGET h a", Reply::Nil),
            ("HEXISTS h a", Reply::Int(0)),
            ("HLEN h", Reply::Int(1)),
            ("HSTRLEN h a", Reply::Int(0)),
            ("HSETNX h a 7", Reply::Int(1)),
            ("HSET h a 7", Reply::Int(1)),
            ("HDEL h a", Reply::Int(0)),
            ("HINCRBY h a 1", Reply::Int(1)),
            ("HPTTL h FIELDS 1 a", Reply::Array(vec![Reply::Int(-2)])),
        ] {
            let mut bench = Bench::new(version);
            bench.say("HSET h a 5 b 6", 0);
            bench.say("HPEXPIRE h 100 FIELDS 1 a", 0);
            assert_eq!(bench.say("HGET h a", 100), Reply::bulk("5"));
            assert_eq!(bench.say(line, 101), left, "{version:?}: {line}");
        }
    }
}

#[test]
fn the_last_field_takes_the_hash_along() {
    let mut bench = Bench::new(ServerVersion::Redis80);
    bench.say("HSET h a 5", 0);
    bench.say("HPEXPIRE h 100 FIELDS 1 a", 0);
    assert_eq!(bench.say("EXISTS h", 100), Reply::Int(1));
    assert_eq!(bench.say("EXISTS h", 101), Reply::Int(0));
    assert_eq!(bench.say("LPUSH h x", 101), Reply::Int(1));
    let at = START_MS + 100;
    assert_eq!(
        bench.effects(),
        [
            "HSET h a 5".to_owned(),
            format!("HPEXPIREAT h {at} FIELDS 1 a"),
            "HDEL h a".to_owned(),
            "LPUSH h x".to_owned(),
        ]
    );
}

#[test]
fn an_expiry_reaches_watchers_and_the_background_cycle() {
    let mut bench = Bench::new(ServerVersion::Valkey91);
    bench.say("HSET h a 5 b 6", 0);
    bench.say("HPEXPIRE h 100 FIELDS 1 a", 0);
    bench.say("WATCH h", 50);
    bench.say("MULTI", 50);
    bench.say("HLEN h", 50);
    assert_eq!(bench.say("EXEC", 150), Reply::NilArray);

    bench.say("HPEXPIRE h 100 FIELDS 1 b", 200);
    bench.effects();
    bench.server.expire_cycle(Now::from_ms(START_MS + 301));
    assert_eq!(bench.effects(), ["HDEL h b"]);
}

#[test]
fn effects_and_snapshots_carry_expiries() {
    let mut bench = Bench::new(ServerVersion::Redis80);
    bench.say("HSET h a 1 b 2 c 3", 0);
    bench.say("HPEXPIRE h 100 FIELDS 2 a c", 0);
    bench.say("HINCRBYFLOAT h a 0.5", 0);
    bench.say("HSET h c 4", 0);
    bench.say("HGETDEL h FIELDS 1 b", 0);
    let mut replica = Bench::new(ServerVersion::Redis80);
    for effect in bench.server.take_effects() {
        let reply = replica.server.apply(&effect, Now::from_ms(START_MS));
        assert!(!reply.is_error(), "{effect:?}: {reply:?}");
    }
    assert_eq!(replica.server.snapshot(), bench.server.snapshot());

    let mut restored = Bench::new(ServerVersion::Redis80);
    restored.server.restore(bench.server.snapshot());
    assert_eq!(restored.say("HGET h a", 101), Reply::Nil);
    assert_eq!(restored.say("HGET h c", 101), Reply::bulk("4"));
}

#[test]
fn an_expired_field_on_a_replica_is_not_modelled() {
    let mut bench = Bench::new(ServerVersion::Redis80);
    bench.say("HSET h a 1", 0);
    bench.say("HPEXPIRE h 100 FIELDS 1 a", 0);
    bench.server.set_read_only(true);
    bench.say("HGET h a", 100);
    assert!(bench.server.unknown_commands().is_empty());
    bench.say("HGET h a", 101);
    assert_eq!(bench.server.unknown_commands().len(), 1);
}

#[test]
fn fields_are_set_with_their_expiry_under_conditions() {
    let mut bench = Bench::new(ServerVersion::Redis80);
    let (done, refused) = (Reply::Int(1), Reply::Int(0));
    let take = "HSETEX h FNX PX 100 FIELDS 1 lock mine";
    assert_eq!(bench.say(take, 0), done);
    assert_eq!(bench.say(take, 100), refused);
    assert_eq!(bench.say(take, 101), done);
    assert_eq!(
        bench.say("HSETEX h FXX KEEPTTL FIELDS 1 lock other", 101),
        done
    );
    let value = Reply::Array(vec![Reply::bulk("other"), Reply::Nil]);
    assert_eq!(bench.say("HGETEX h PX 50 FIELDS 2 lock none", 200), value);
    let mut replica = Bench::new(ServerVersion::Redis80);
    for effect in bench.server.take_effects() {
        let reply = replica.server.apply(&effect, Now::from_ms(START_MS));
        assert!(!reply.is_error(), "{effect:?}: {reply:?}");
    }
    assert_eq!(replica.server.snapshot(), bench.server.snapshot());
    assert_eq!(bench.say("HGET h lock", 250), Reply::bulk("other"));
    assert_eq!(bench.say("HGET h lock", 251), Reply::Nil);
}

/// The keys that were touched since the last call, and whether each had expired.
fn touched(bench: &mut Bench) -> Vec<(Vec<u8>, bool)> {
    let mut touched = TouchedKeys::default();
    bench.server.take_touched(&mut touched);
    let keys = touched.iter();
    keys.map(|it| (it.key.to_vec(), it.expired)).collect()
}

#[test]
fn an_observer_learns_that_the_last_field_took_the_hash_along() {
    let mut bench = Bench::new(ServerVersion::Redis80);
    bench.say("HSET h a 1 b 2", 0);
    bench.say("PEXPIRE h 500", 0);
    bench.say("HPEXPIRE h 100 FIELDS 1 a", 0);
    let held = |bench: &Bench| bench.server.held_value(0, b"h").map(|it| it.expires_ms);
    assert_eq!(held(&bench), Some(Some(START_MS + 500)));
    bench.say("HPEXPIRE h 200 FIELDS 1 b", 0);
    assert_eq!(held(&bench), Some(Some(START_MS + 200)));
    bench.say("PEXPIRE h 150", 0);
    assert_eq!(held(&bench), Some(Some(START_MS + 150)));
    bench.say("PERSIST h", 0);
    bench.server.watch_keys(true);
    assert_eq!(bench.say("HDEL h a", 201), Reply::Int(0));
    assert_eq!(touched(&mut bench), [(b"h".to_vec(), true)]);
    assert!(bench.server.unknown_commands().is_empty());
}

#[test]
fn an_observer_has_no_word_for_a_hash_that_lost_some_fields() {
    for watch in [false, true] {
        let mut bench = Bench::new(ServerVersion::Redis80);
        bench.say("HSET h a 1 b 2", 0);
        bench.say("HPEXPIRE h 100 FIELDS 1 a", 0);
        bench.server.watch_keys(watch);
        assert_eq!(bench.say("HLEN h", 101), Reply::Int(1));
        assert_eq!(bench.server.unknown_commands().len(), usize::from(watch));
    }
}

#[test]
fn a_field_that_was_over_before_the_watch_is_no_change() {
    let mut bench = Bench::new(ServerVersion::Redis80);
    bench.say("HSET h a 1 b 2", 0);
    bench.say("HPEXPIRE h 100 FIELDS 1 a", 0);
    bench.say("WATCH h", 101);
    bench.say("MULTI", 101);
    bench.say("HLEN h", 101);
    assert_eq!(bench.say("EXEC", 101), Reply::Array(vec![Reply::Int(1)]));
}

#[test]
fn a_hash_without_fields_is_listed_nowhere() {
    let none = Reply::Array(Vec::new());
    let end = Reply::Array(vec![Reply::bulk("0"), none.clone()]);
    for (line, answer) in [("KEYS *", none), ("DBSIZE", Reply::Int(0)), ("SCAN 0", end)] {
        let mut bench = Bench::new(ServerVersion::Valkey91);
        bench.say("HSET h a 1", 0);
        bench.say("HPEXPIRE h 100 FIELDS 1 a", 0);
        assert_eq!(bench.say(line, 101), answer, "{line}");
    }
}

#[test]
fn seconds_are_rounded_as_each_server_does() {
    for (version, left, at) in [
        (ServerVersion::Redis80, 11, 1_900_000_001),
        (ServerVersion::Valkey91, 10, 1_900_000_000),
    ] {
        let mut bench = Bench::new(version);
        let mut tell = |line: &str| match bench.say(line, 0) {
            Reply::Array(items) => items[0].clone(),
            other => other,
        };
        tell("HSET h a 1");
        tell("HPEXPIRE h 10300 FIELDS 1 a");
        assert_eq!(tell("HTTL h FIELDS 1 a"), Reply::Int(left));
        tell("HPEXPIREAT h 1900000000499 FIELDS 1 a");
        assert_eq!(tell("HEXPIRETIME h FIELDS 1 a"), Reply::Int(at));
    }
}

#[test]
fn the_latest_time_of_all_is_told() {
    let mut bench = Bench::new(ServerVersion::Valkey91);
    let one = |number| Reply::Array(vec![Reply::Int(number)]);
    bench.say("HSET h a 1", 0);
    bench.say("HPEXPIREAT h 9223372036854775807 FIELDS 1 a", 0);
    let told = bench.say("HEXPIRETIME h FIELDS 1 a", 0);
    assert_eq!(told, one(9_223_372_036_854_776));
    let told = bench.say("HTTL h FIELDS 1 a", -2 * START_MS);
    assert_eq!(told, one(9_223_372_036_854_776));
}
