//! Differences of each version from Redis 7.0 that a lock or a client can notice. The replies are taken from the real
//! servers, except for the wording of errors.

use picklock_redis_model::ServerVersion::{self, Redis62, Redis70, Redis80, Valkey81, Valkey91};
use picklock_redis_model::{Now, Reply, Server};

const NOW_MS: i64 = 1_700_000_000_000;

/// Decodes a word of a command line: `\\s` is a blank, `\\n` a line break, `\\e` an empty word, and `\\binary` stands
/// for bytes that are not text.
fn word(text: &str) -> Vec<u8> {
    if text == "\\binary" {
        return vec![0, 255, 13, 10, 128];
    }
    let text = text.replace("\\s", " ").replace("\\n", "\n");
    text.replace("\\e", "").into_bytes()
}

/// Returns the reply to the last of these commands of one client.
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

/// Commands, and the start of the reply to the last one.
type Case = (
    &'static [&'static str],
    &'static [(ServerVersion, &'static str)],
);

const CASES: &[Case] = &[
    (
        &["SET k v", "SET k w NX GET"],
        &[
            (Redis62, "ERR syntax error"),
            (Redis70, "v"),
            (Valkey91, "v"),
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
        &["EVAL_RO return\\s1 0"],
        &[(Redis62, "ERR unknown command"), (Redis70, "Int(1)")],
    ),
    (
        &["EVAL #!lua\\nreturn\\s1 0"],
        &[(Redis62, "ERR Error compiling script"), (Redis70, "Int(1)")],
    ),
    (
        &["EVAL_RO return\\sredis.call('publish','c','x') 0"],
        &[(
            Redis70,
            "ERR Write commands are not allowed from read-only scripts.",
        )],
    ),
    (
        // The command may block, but not in a script.
        &["EVAL return\\sredis.call('blpop','none',0) 0"],
        &[
            (Redis70, "ERR This Redis command is not allowed from script"),
            (Redis80, "Nil"),
            (Valkey91, "Nil"),
        ],
    ),
    (
        &["MULTI", "MULTI"],
        &[
            (Redis62, "ERR MULTI calls can not be nested"),
            (Redis80, "ERR MULTI calls can not be nested"),
            (Valkey81, "ERR Command not allowed inside a transaction"),
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
