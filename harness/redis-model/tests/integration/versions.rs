//! What each version says: every difference from Redis 7.0 that random transcripts on the real servers
//! have found. The answers are those of the real servers.

use picklock_redis_model::ServerVersion::{self, Redis62, Redis70, Redis80, Valkey81, Valkey91};
use picklock_redis_model::{Now, Reply, Server};

const NOW_MS: i64 = 1_700_000_000_000;

/// A word as it is written in one line: `\\s` is a blank, `\\n` a line break, `\\e` nothing, and
/// `\\binary` stands for bytes that are no text.
fn word(text: &str) -> Vec<u8> {
    if text == "\\binary" {
        return vec![0, 255, 13, 10, 128];
    }
    let text = text.replace("\\s", " ").replace("\\n", "\n");
    text.replace("\\e", "").into_bytes()
}

/// The answer to the last of these commands of one client.
fn last(version: ServerVersion, lines: &[&str]) -> String {
    let mut server = Server::new(version);
    let client = server.connect();
    let mut last = Reply::Nil;
    for line in lines {
        let words: Vec<Vec<u8>> = line.split(' ').map(word).collect();
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        last = server.execute(client, &words, Now::from_ms(NOW_MS));
    }
    match last {
        Reply::Error(text) => text.into_owned(),
        Reply::Bulk(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        other => format!("{other:?}"),
    }
}

/// Commands, and how the answers to the last one begin.
type Case = (
    &'static [&'static str],
    &'static [(ServerVersion, &'static str)],
);

const CASES: &[Case] = &[
    (
        &["ZRANGEBYSCORE z 0x10 +inf"],
        &[
            (Redis70, "Array([])"),
            (Redis80, "ERR min or max is not a float"),
            (Valkey81, "Array([])"),
            (Valkey91, "ERR min or max is not a float"),
        ],
    ),
    (
        &["SUBSCRIBE c", "SCRIPT LOAD return"],
        &[
            (Redis62, "ERR Can't execute 'script': only (P)SUBSCRIBE / "),
            (
                Redis70,
                "ERR Can't execute 'script|load': only (P|S)SUBSCRIBE / ",
            ),
        ],
    ),
    (
        &["EVAL_RO return\\sredis.call('publish','c','x') 0"],
        &[(
            Redis70,
            "ERR Write commands are not allowed from read-only scripts.",
        )],
    ),
    (
        &["CLIENT SETNAME \\binary"],
        &[
            (Redis70, "ERR Client names cannot"),
            (Redis80, "Simple(\"OK\")"),
        ],
    ),
    (
        &["NOSUCH a b"],
        &[
            (
                Redis62,
                "ERR unknown command `NOSUCH`, with args beginning with: `a`, `b`, ",
            ),
            (
                Redis70,
                "ERR unknown command 'NOSUCH', with args beginning with: 'a' 'b' ",
            ),
            (
                Valkey91,
                "ERR unknown command 'NOSUCH', with args beginning with: 'a' 'b' ",
            ),
        ],
    ),
    (
        &["SET k v", "SET k w NX GET"],
        &[
            (Redis62, "ERR syntax error"),
            (Redis70, "v"),
            (Valkey91, "v"),
        ],
    ),
    (
        &["SET k v EX 0"],
        &[
            (Redis62, "ERR invalid expire time in set"),
            (Redis80, "ERR invalid expire time in 'set' command"),
        ],
    ),
    (
        &["EXPIRE k 100 NX"],
        &[
            (
                Redis62,
                "ERR wrong number of arguments for 'expire' command",
            ),
            (Redis70, "Int(0)"),
        ],
    ),
    (
        &["PEXPIRETIME k"],
        &[(Redis62, "ERR unknown command"), (Valkey81, "Int(-2)")],
    ),
    (
        &["EVAL_RO return\\s1 0"],
        &[(Redis62, "ERR unknown command"), (Redis70, "Int(1)")],
    ),
    (
        &["EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0"],
        &[
            (Redis80, "NOSCRIPT No matching script. Please use EVAL."),
            (Valkey81, "NOSCRIPT No matching script."),
            (Valkey91, "NOSCRIPT No matching script."),
        ],
    ),
    (
        &["HSET h a 1", "HEXPIRE h 1000 XX GT FIELDS 1 a"],
        &[
            (Redis70, "ERR unknown command 'HEXPIRE'"),
            (Redis80, "ERR Mandatory argument FIELDS is missing"),
            (Valkey81, "ERR unknown command 'HEXPIRE'"),
            (Valkey91, "Array([Int(0)])"),
        ],
    ),
    (
        &["HEXPIRE h -1 FIELDS 1 a"],
        &[
            (Redis80, "ERR invalid expire time, must be >= 0"),
            (Valkey91, "ERR invalid expire time in 'hexpire' command"),
        ],
    ),
    (
        &["SCAN 0 TYPE nosuch"],
        &[
            (Redis80, "Array([Bulk([48]), Array([])])"),
            (Valkey81, "ERR unknown type name 'nosuch'"),
        ],
    ),
    (
        &["SCAN 0 NOVALUES"],
        &[
            (Redis70, "ERR syntax error"),
            (Redis80, "ERR NOVALUES option can only be used in HSCAN"),
        ],
    ),
    (
        &["CONFIG GET MAXMEMORY"],
        &[
            (Redis62, "Array([Bulk([109, 97,"),
            (Redis70, "Array([Bulk([77, 65,"),
        ],
    ),
    (
        // It may block, and does not in a script.
        &["EVAL return\\sredis.call('blpop','none',0) 0"],
        &[
            (Redis70, "ERR This Redis command is not allowed from script"),
            (Redis80, "Nil"),
            (Valkey91, "Nil"),
        ],
    ),
    (
        &["EVAL return\\sredis.call('multi') 0"],
        &[
            (
                Redis80,
                "ERR This Redis command is not allowed from script script: c329a1",
            ),
            (
                Valkey81,
                "ERR This Redis command is not allowed from script script: c329a1",
            ),
            (
                Valkey91,
                "ERR This Valkey command is not allowed from script script: on @user_script:1.",
            ),
        ],
    ),
    (
        &["MULTI", "MULTI"],
        &[
            (Redis62, "ERR MULTI calls can not be nested"),
            (Redis80, "ERR MULTI calls can not be nested"),
            (Valkey81, "ERR Command not allowed inside a transaction"),
            (
                Valkey91,
                "ERR Command 'multi' not allowed inside a transaction",
            ),
        ],
    ),
    (
        // A refused command breaks the transaction.
        &["MULTI", "WATCH k", "EXEC"],
        &[
            (Redis80, "Array([])"),
            (
                Valkey81,
                "EXECABORT Transaction discarded because of previous errors.",
            ),
        ],
    ),
    (
        &["ZADD z 1e-7 a", "ZSCORE z a"],
        &[
            (Redis70, "9.9999999999999995e-08"),
            (Redis80, "1e-7"),
            (Valkey91, "1e-7"),
        ],
    ),
    (
        &["CLIENT SETINFO a b"],
        &[
            (
                Redis70,
                "ERR unknown subcommand 'SETINFO'. Try CLIENT HELP.",
            ),
            (Redis80, "ERR Unrecognized option 'a'"),
        ],
    ),
    (
        &["READONLY"],
        &[
            (Redis80, "ERR This instance has cluster support disabled"),
            (Valkey81, "Simple(\"OK\")"),
        ],
    ),
    (
        &["GETEX none PX x"],
        &[
            (Valkey81, "Nil"),
            (Valkey91, "ERR value is not an integer or out of range"),
        ],
    ),
];

#[test]
fn each_version_answers_in_its_own_words() {
    for (lines, answers) in CASES {
        for (version, answer) in *answers {
            let said = last(*version, lines);
            assert!(said.starts_with(answer), "{version:?}: {lines:?}: {said}");
        }
    }
}

#[test]
fn a_wait_that_can_end_looks_at_all_its_keys_since_7_2() {
    for (version, answer) in [
        (
            Redis70,
            Reply::Array(vec![Reply::bulk("l2"), Reply::bulk("x")]),
        ),
        (
            Redis80,
            Reply::error("WRONGTYPE Operation against a key holding the wrong kind of value"),
        ),
    ] {
        let mut server = Server::new(version);
        let (waiting, other) = (server.connect(), server.connect());
        let now = Now::from_ms(NOW_MS);
        server.execute(waiting, &[b"BLPOP", b"s1", b"l2", b"0"], now);
        server.execute(other, &[b"SET", b"s1", b"v"], now);
        server.execute(other, &[b"RPUSH", b"l2", b"x"], now);
        assert_eq!(server.take_messages(), [(waiting, answer)], "{version:?}");
    }
}
