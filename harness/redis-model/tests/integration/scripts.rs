//! Scripts that the model executes without Lua return the same replies with Lua.
//!
//! Every script is run twice on servers in the same state: unchanged, and with an empty `do end` before it, which has
//! no effect but makes Lua execute the script.

use picklock_redis_model::{ClientId, Now, Reply, Server, ServerVersion};
use proptest::prelude::*;

const TO_LUA: &str = "do end ";

struct Redis {
    server: Server,
    client: ClientId,
}

impl Redis {
    /// Creates a server with a key of each relevant kind.
    fn new() -> Self {
        let mut server = Server::new(ServerVersion::default());
        let client = server.connect();
        let mut redis = Redis { server, client };
        for command in [
            "SET text a",
            "SET number 7",
            "RPUSH list a b",
            "HSET hash f v",
            "SET gone a PX 1",
        ] {
            let words: Vec<&str> = command.split(' ').collect();
            assert!(!redis.give(&words).is_error(), "{command}");
        }
        redis
    }

    fn give(&mut self, words: &[&str]) -> Reply {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        let now = Now::from_ms(1_800_000_000_000);
        self.server.execute(self.client, &words, now)
    }

    /// Returns the reply of a script, and the data that it leaves.
    fn run(&mut self, how: &str, script: &str) -> (Reply, Vec<Reply>) {
        let reply = self.give(&[how, script, "2", "text", "list", "a", "7"]);
        let mut left = Vec::new();
        for key in ["text", "number", "list", "hash", "new"] {
            left.push(self.give(&["PTTL", key]));
        }
        for key in ["text", "number", "new"] {
            left.push(self.give(&["GET", key]));
        }
        left.push(self.give(&["LRANGE", "list", "0", "-1"]));
        left.push(self.give(&["HGETALL", "hash"]));
        (reply, left)
    }
}

/// Removes the digest of a script, which is part of its error texts.
fn without_digest(reply: Reply) -> Reply {
    let Reply::Error(text) = reply else {
        return reply;
    };
    let text = match text.split_once(" script: ") {
        Some((before, after)) => format!("{before} script: {}", &after[40..]),
        None => text.into_owned(),
    };
    Reply::error(text)
}

fn both_ways_agree(how: &str, script: &str) -> Reply {
    let (short, left) = Redis::new().run(how, script);
    let (long, also_left) = Redis::new().run(how, &format!("{TO_LUA}{script}"));
    let short = without_digest(short);
    assert_eq!(short, without_digest(long), "{how}: {script}");
    assert_eq!(left, also_left, "{how}: {script}");
    short
}

#[test]
fn fixed_scripts_agree() {
    for script in [
        "",
        "return",
        "return 1",
        "return 'a';",
        "return nil",
        "return true",
        "return false",
        "return KEYS[1]",
        "return KEYS[3]",
        "return ARGV[2]",
        "return not KEYS[3]",
        "return KEYS[3] or ARGV[3] or 5",
        "return 1 == '1'",
        "return 1 and 2",
        "return 'a' == ARGV[1] == true",
        "return not 1 == 2",
        "-- a comment\nreturn -- another\n1",
        "local a = 1 local a = a if a == 1 then local a = 2 end return a",
        "local it = redis.call('SET', 'new', 'x') return it",
        "local it = redis.call('SET', 'new', 'x') return it == it",
        "return redis.call('PING') == redis.call('PING')",
        "return redis.call('LRANGE', KEYS[2], 0, 10)",
        "return redis.call('HGETALL', 'hash')",
        "return redis.call('MGET', 'text', 'none', 'number')",
        "return redis.call('INCRBY', 'number', 9007199254740993)",
        "return redis.call('INCRBY', 'number', '9007199254740986')",
        "return redis.call('TYPE', 'text')",
        "return redis.call('GET', 'gone')",
        "return redis.call('SELECT', '1')",
        "redis.call('SELECT', 1) redis.call('SET', 'new', 'x') return redis.call('GET', 'new')",
        "return redis.call('SET', 'new', ARGV[1], 'NX', 'PX', ARGV[2])",
        "return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])",
        "return redis.call('RPUSH', 'new2', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)",
        "return redis.call(redis.call('GET', 'none'))",
        "return redis.call('GET')",
        "return redis.call('GET', nil)",
        "return redis.call('GET', KEYS[1], KEYS[3])",
        "return redis.call('GET', redis.call('SET', 'new', 'x'))",
        "return redis.call('INCR', 'text')",
        "return redis.call('INCR', KEYS[2])",
        "\n\nlocal a = 1\nreturn redis.call('INCR',\nKEYS[1])",
        "return redis.call('NONSENSE')",
        "return redis.call('EVAL', 'return 1', 0)",
        "return redis.call('BLPOP', 'none', 1)",
        "redis.call('SET', 'new', 'x') redis.call('INCR', 'text')",
        "#!lua flags=no-writes\nreturn redis.call('SET', 'new', 'x')",
        "#!lua\nreturn redis.call('SET', 'new', 'x')",
        "#!lua\nreturn redis.call('INCR', 'text')",
    ] {
        for how in ["EVAL", "EVAL_RO"] {
            // The `#!` line must remain the first line.
            match script.strip_prefix("#!") {
                None => drop(both_ways_agree(how, script)),
                Some(rest) => {
                    let (first, rest) = rest.split_once('\n').expect("it has two lines");
                    let short = Redis::new().run(how, script);
                    let long = Redis::new().run(how, &format!("#!{first}\n{TO_LUA}{rest}"));
                    let (short, long) = (without_digest(short.0), without_digest(long.0));
                    assert_eq!(short, long, "{script}");
                }
            }
        }
    }
}

#[test]
fn a_difference_would_be_seen() {
    let (one, other) = (Redis::new().run("EVAL", "return 1"), Redis::new());
    let mut other = other;
    assert_ne!(one, other.run("EVAL", "do end return 2"));
}

fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("nil".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        (0u32..3).prop_map(|number| number.to_string()),
        prop::sample::select(vec!["'a'", "\"7\"", "'new'", "'XX'", "''"]).prop_map(str::to_owned),
        (1u32..4).prop_map(|place| format!("KEYS[{place}]")),
        (1u32..4).prop_map(|place| format!("ARGV[{place}]")),
        prop::sample::select(vec!["x", "y"]).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let name = prop::sample::select(vec![
            "GET", "set", "DEL", "INCR", "INCRBY", "LRANGE", "TYPE", "PEXPIRE", "EXISTS", "SETNX",
        ]);
        let between = prop::sample::select(vec!["==", "~=", "and", "or", "and not", "\nor"]);
        prop_oneof![
            2 => (inner.clone(), between, inner.clone())
                .prop_map(|(left, between, right)| format!("{left} {between} {right}")),
            1 => inner.clone().prop_map(|inner| format!("({inner})")),
            1 => inner.clone().prop_map(|inner| format!("not ({inner})")),
            3 => (name, prop::collection::vec(inner, 0..4)).prop_map(|(name, words)| {
                let words: String = words.iter().map(|word| format!(", {word}")).collect();
                format!("redis.call('{name}'{words})")
            }),
        ]
    })
}

fn block() -> impl Strategy<Value = String> {
    let call = "redis.call('INCR', 'number')";
    let leaf = prop_oneof![
        Just(call.to_owned()),
        expression().prop_map(|value| format!("local x = {value}\n")),
        expression().prop_map(|value| format!("local y = {value};")),
        expression().prop_map(|value| format!("if {value} then return {value} end")),
    ];
    let statement = leaf.prop_recursive(2, 6, 2, |inner| {
        (expression(), inner.clone(), expression(), inner).prop_map(|(a, one, b, two)| {
            format!("if {a} then {one} elseif {b} then\n{two} else {one} end")
        })
    });
    (prop::collection::vec(statement, 0..4), expression())
        .prop_map(|(statements, last)| format!("{} return {last}", statements.join("\n")))
}

proptest! {
    #[test]
    fn random_scripts_agree(body in block()) {
        both_ways_agree("EVAL", &format!("local x = 1 local y = 'b' {body}"));
    }
}
