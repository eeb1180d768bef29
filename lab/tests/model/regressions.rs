//! Fixed comparisons of the model with a real server: every difference that random transcripts have found, and cases
//! that random transcripts cannot reach (passing time, publications).

use std::path::Path;

use picklock_redis_model::{ClientId, Now, Reply, Server, ServerVersion};

use crate::real_redis::{RealClient, RealServer};
use crate::transcript::{Bench, Step, now, word};

/// Past differences, each with the shortest transcript that shows it.
const REGRESSIONS: &[(&str, &[&str])] = &[
    (
        "messages by channel come before those by pattern",
        &[
            "0: PSUBSCRIBE c* *1",
            "0: SUBSCRIBE c1",
            "1: PUBLISH c1 x",
            "0: GET x",
            "0: UNSUBSCRIBE",
            "0: PUNSUBSCRIBE",
            "0: PING",
        ],
    ),
    (
        "a client in RESP3 gets its own publications",
        &[
            "0: HELLO 3",
            "0: PSUBSCRIBE c* *1",
            "0: SUBSCRIBE c1",
            "0: PUBLISH c1 x",
            "0: EVAL return\\sredis.call('publish','c1','y') 0",
        ],
    ),
    (
        "a client that waits for a list is not served by another type",
        &[
            "0: BLPOP z1 0",
            "2: ZADD z1 1 a 2 b",
            "2: DEL z1",
            "2: RPUSH z1 x y",
        ],
    ),
    (
        "errors of redis.call carry the script's line, also from `return redis.call(...)`",
        &["0: EVAL \\nreturn\\sredis.call('incr',KEYS[1],'x') 1 s1"],
    ),
    (
        "a script with #! and without no-writes is not for EVAL_RO",
        &[
            "0: EVAL_RO #!lua\\nreturn\\s1 0",
            "0: EVAL_RO #!lua\\sflags=no-writes\\nreturn\\s1 0",
        ],
    ),
    (
        "a script that promises not to write",
        &["0: EVAL #!lua\\sflags=no-writes\\nreturn\\sredis.call('set',KEYS[1],'x') 1 s1"],
    ),
    (
        "REV and BYSCORE can be said once, WITHSCORES again and again",
        &[
            "0: ZADD z1 1 a",
            "0: ZRANGE z1 0 0 REV REV",
            "0: ZRANGE z1 -inf +inf BYSCORE BYSCORE",
            "0: ZRANGE z1 0 0 WITHSCORES WITHSCORES",
        ],
    ),
    (
        "words in error texts are C strings",
        &[
            "0: EXPIRE s1 1000 \\binary",
            "0: NOSUCHCOMMAND 1 \\binary 2",
            "0: EVAL return\\sredis.status_reply(ARGV[1]) 0 \\binary",
            "0: EVAL return\\sredis.error_reply(ARGV[1]) 0 \\binary",
        ],
    ),
    (
        "unknown subcommands are refused before they are queued",
        &[
            "1: MULTI",
            "1: SCRIPT \\e extra",
            "1: EXEC",
            "1: MULTI",
            "1: CLIENT SETINFO a b",
            "1: EXEC",
        ],
    ),
    (
        "an EXEC with an argument ends the transaction",
        &[
            "0: EXEC extra",
            "0: MULTI",
            "0: SET s1 a",
            "0: EXEC extra",
            "0: EXEC",
            "0: GET s1",
        ],
    ),
    (
        "ranges of ranks pass LIMIT x -1 over in silence",
        &[
            "0: ZADD z1 1 a 2 b",
            "0: ZRANGE z1 0 -1 LIMIT 1 -1",
            "0: ZRANGE z1 0 -1 LIMIT 1 2",
        ],
    ),
    (
        "a pattern matches no name without bytes, but KEYS knows `*`",
        &[
            "0: SUBSCRIBE \\e c1",
            "1: PSUBSCRIBE *",
            "2: PUBLISH \\e x",
            "2: SET \\e 1",
            "2: KEYS *",
            "2: KEYS **",
        ],
    ),
    (
        "waiting clients are served key by key, the longest waiting first",
        &[
            "0: BLPOP l2 l1 0",
            "1: BLPOP l1 0",
            "2: LPUSH l1 a b",
            "2: LRANGE l1 0 -1",
        ],
    ),
    (
        "a watched key that is touched, expired before, or expired since",
        &[
            "0: WATCH s1",
            "1: SET s1 x",
            "0: MULTI",
            "0: GET s1",
            "0: EXEC",
            "0: SET s1 x PXAT 1",
            "0: WATCH s1",
            "1: GET s1",
            "0: MULTI",
            "0: EXEC",
            "0: SET s1 x",
            "0: WATCH s1",
            "1: PEXPIREAT s1 1",
            "0: MULTI",
            "0: EXEC",
            "0: WATCH none",
            "1: FLUSHALL",
            "0: MULTI",
            "0: EXEC",
            "0: SET s1 x",
            "0: WATCH s1",
            "1: FLUSHALL",
            "0: MULTI",
            "0: EXEC",
        ],
    ),
    (
        "conversions between Lua and Redis",
        &[
            "0: EVAL return\\s{1,2.9,-2.9,'x',true,false,{3},nil,5} 0",
            "0: EVAL return\\s{redis.call('get','none'),redis.call('set','s1',10/3)} 0",
            "0: GET s1",
            "0: EVAL return\\stype(redis.call('get','none')) 0",
            "0: EVAL return\\sredis.call('set','s1',1e15) 0",
            "0: GET s1",
            "0: EVAL return\\s1e300 0",
        ],
    ),
    (
        "RESP3 types",
        &[
            "0: HELLO 3",
            "0: HSET h1 a 1 b 2",
            "0: HGETALL h1",
            "0: SADD t1 1 2",
            "0: SMEMBERS t1",
            "0: ZADD z1 1.5 a 2 b",
            "0: ZSCORE z1 a",
            "0: ZRANGE z1 0 -1 WITHSCORES",
            "0: GET none",
            "0: LPOP none 1",
            "0: EVAL return\\s{true,false,1.5} 0",
            "0: EVAL return\\sredis.call('hgetall','h1') 0",
            "0: INFO",
            "0: ZADD z1 INCR 1 c",
            "0: MULTI",
            "0: HGETALL h1",
            "0: EXEC",
            "0: RESET",
            "0: HGETALL h1",
        ],
    ),
    (
        "leases and options of SET",
        &[
            "0: SET s1 a EX 0",
            "0: SET s1 a PX -1",
            "0: SET s1 a EX 9223372036854775807",
            "0: SET s1 a NX GET",
            "0: SET s1 b NX GET",
            "0: SET s1 c XX GET",
            "0: SET s1 d NX XX",
            "0: SET s1 e PXAT 1",
            "0: GET s1",
            "0: SET s1 f EX 1000 PX 1000",
            "0: SET s1 f IFEQ e",
            "0: DELEX s1",
            "0: DELIFEQ s1 f",
        ],
    ),
];

#[test]
fn known_differences_stay_gone() {
    let mut bench = Bench::start(ServerVersion::Redis70, Path::new("redis-server"));
    for (name, lines) in REGRESSIONS {
        let steps: Vec<Step> = lines.iter().map(|line| Step::parse(line)).collect();
        if let Err(difference) = bench.compare(&steps) {
            panic!("{name}:\n{difference}");
        }
    }
    assert_eq!(bench.omitted, 0, "nothing here is left out by the model");
}

/// Two models around one real server: one executes each command just before the server, the other just after it. The
/// server's reply must lie between theirs, however slow the machine is.
struct Bracket {
    real: RealClient,
    before: (Server, ClientId),
    after: (Server, ClientId),
}

impl Bracket {
    fn new(server: &RealServer) -> Bracket {
        let model = || {
            let mut model = Server::new(ServerVersion::Redis70);
            let client = model.connect();
            (model, client)
        };
        Bracket {
            real: server.connect(),
            before: model(),
            after: model(),
        }
    }

    fn tell(model: &mut (Server, ClientId), line: &str, at: Now) -> Reply {
        let words: Vec<Vec<u8>> = line.split(' ').map(word).collect();
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        model.0.execute(model.1, &words, at)
    }

    fn change(&mut self, line: &str) {
        let words: Vec<Vec<u8>> = line.split(' ').map(word).collect();
        let start = now();
        let real = self.real.ask(&words);
        let end = now();
        assert_eq!(Bracket::tell(&mut self.before, line, start), real);
        assert_eq!(Bracket::tell(&mut self.after, line, end), real);
    }

    /// Returns the replies of the model that starts first, of the server, and of the model that starts last.
    fn ask(&mut self, line: &str) -> (Reply, Reply, Reply) {
        let words: Vec<Vec<u8>> = line.split(' ').map(word).collect();
        let start = now();
        let real = self.real.ask(&words);
        let end = now();
        (
            Bracket::tell(&mut self.before, line, end),
            real,
            Bracket::tell(&mut self.after, line, start),
        )
    }
}

#[test]
fn keys_are_gone_when_the_server_says_so() {
    let server = RealServer::start(Path::new("redis-server"));
    let deadline_ms = now().ms() + 60;
    let ways = [
        "SET s1 v PX 30".to_owned(),
        "PSETEX s1 30 v".to_owned(),
        format!("SET s1 v PXAT {deadline_ms}"),
        "EVAL redis.call('set',KEYS[1],'v')\\sreturn\\sredis.call('pexpire',KEYS[1],30) 1 s1"
            .to_owned(),
    ];
    for way in ways {
        let mut bracket = Bracket::new(&server);
        bracket.change(&way);
        loop {
            let (earliest, real, latest) = bracket.ask("EXISTS s1");
            if real == Reply::Int(1) {
                assert_eq!(latest, Reply::Int(1), "{way}: the model lets go too early");
            } else {
                assert_eq!(
                    earliest,
                    Reply::Int(0),
                    "{way}: the model holds on too long"
                );
                break;
            }
        }
    }
}

#[test]
fn remaining_time_is_rounded_as_the_server_rounds_it() {
    let server = RealServer::start(Path::new("redis-server"));
    let mut bracket = Bracket::new(&server);
    for left_ms in [
        10_010, 10_250, 10_400, 10_510, 10_600, 10_750, 10_990, 400, 600,
    ] {
        bracket.change(&format!("SET s1 v PXAT {}", now().ms() + left_ms));
        for question in ["TTL s1", "PTTL s1"] {
            let (least, real, most) = bracket.ask(question);
            let (Reply::Int(least), Reply::Int(real), Reply::Int(most)) = (least, real, most)
            else {
                panic!("{question}: integers are expected");
            };
            assert!(
                (least..=most).contains(&real),
                "{question} with {left_ms} ms left: {least} to {most}, server {real}"
            );
        }
    }
}

#[test]
fn publications_reach_the_subscribed() {
    let server = RealServer::start(Path::new("redis-server"));
    let mut model = Server::new(ServerVersion::Redis70);
    let mut real = [server.connect(), server.connect()];
    let ids = [model.connect(), model.connect()];
    let script = [
        (0, "SUBSCRIBE a b"),
        (0, "GET a"),
        (0, "PING"),
        (1, "PUBLISH a one"),
        (1, "EVAL return\\sredis.call('publish','b','two') 0"),
        (1, "PUBLISH c three"),
        (0, "UNSUBSCRIBE a"),
        (1, "PUBLISH a four"),
        (0, "UNSUBSCRIBE"),
        (0, "UNSUBSCRIBE"),
        (0, "GET a"),
        (0, "HELLO 3"),
        (0, "SUBSCRIBE a"),
        (0, "GET a"),
        (1, "PUBLISH a five"),
    ];
    for (client, line) in script {
        let words: Vec<Vec<u8>> = line.split(' ').map(word).collect();
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let expected = match model.execute(ids[client], &words, now()) {
            Reply::Several(replies) => replies,
            reply => vec![reply],
        };
        real[client].queue(&words);
        real[client].send();
        for reply in expected {
            let real = real[client].read();
            assert!(
                reply == real || line.starts_with("HELLO"),
                "{line}: {reply:?}, {real:?}"
            );
        }
        for (id, message) in model.take_messages() {
            let client = ids.iter().position(|other| *other == id).expect("a client");
            assert_eq!(real[client].read(), message, "{line}");
        }
    }
}
