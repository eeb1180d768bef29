//! Behaviour of the model that cannot be compared with a real server of version 7.0.

use picklock_redis_model::{ClientId, Keyspace, Now, Reply, Server, ServerVersion};

const START_MS: i64 = 1_700_000_000_000;

fn server(version: ServerVersion) -> (Server, ClientId) {
    let mut server = Server::new(version);
    let client = server.connect();
    (server, client)
}

fn execute_at(server: &mut Server, client: ClientId, line: &str, at_ms: i64) -> Reply {
    let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
    server.execute(client, &words, Now::from_ms(at_ms))
}

fn execute(server: &mut Server, client: ClientId, line: &str) -> Reply {
    execute_at(server, client, line, START_MS)
}

fn error(text: &'static str) -> Reply {
    Reply::error(text)
}

#[test]
fn only_some_versions_have_set_ifeq() {
    use ServerVersion::*;
    for version in ServerVersion::ALL {
        let (mut server, client) = server(version);
        execute(&mut server, client, "SET lock mine");
        let taken = execute(&mut server, client, "SET lock again IFEQ mine PX 1000");
        let stolen = execute(&mut server, client, "SET lock theirs IFEQ mine");
        if matches!(version, Redis62 | Redis70 | Redis80) {
            assert_eq!(taken, error("ERR syntax error"), "{version:?}");
        } else {
            assert_eq!((taken, stolen), (Reply::OK, Reply::Nil), "{version:?}");
            let old = execute(&mut server, client, "SET lock third IFEQ again GET");
            assert_eq!(old, Reply::bulk("again"));
            assert_eq!(
                execute(&mut server, client, "SET none x IFEQ y"),
                Reply::Nil
            );
            let both = execute(&mut server, client, "SET lock x IFEQ y NX");
            assert_eq!(both, error("ERR syntax error"));
        }
        assert!(server.unknown_commands().is_empty());
    }
}

#[test]
fn only_some_versions_have_compare_and_delete() {
    use ServerVersion::*;
    for version in ServerVersion::ALL {
        let (mut server, client) = server(version);
        execute(&mut server, client, "SET lock mine");
        let delex = execute(&mut server, client, "DELEX lock IFEQ theirs");
        let delifeq = execute(&mut server, client, "DELIFEQ lock theirs");
        assert_eq!(delex.is_error(), version != Redis84, "{version:?}");
        assert_eq!(delifeq.is_error(), version != Valkey91, "{version:?}");
        // A command that the version lacks is modelled, so it is not recorded as unknown.
        assert!(server.unknown_commands().is_empty());
    }
    let (mut server, client) = server(Redis84);
    execute(&mut server, client, "SET lock mine");
    assert_eq!(
        execute(&mut server, client, "DELEX lock IFEQ mine"),
        Reply::Int(1)
    );
    assert_eq!(execute(&mut server, client, "DELEX lock"), Reply::Int(0));
}

/// Each request is answered with an error, and recorded by name.
#[test]
fn unknown_command_is_an_error_and_is_named() {
    for (line, name) in [
        ("XADD s * a b", "XADD"),
        ("NOSUCH a b", "NOSUCH"),
        ("SCAN 0", "SCAN"),
        ("HSETEX h EX 9 FIELDS 1 a b", "HSETEX"),
        ("OBJECT ENCODING lock", "OBJECT"),
        ("FCALL f 0", "FCALL"),
        ("BRPOPLPUSH a b 0", "BRPOPLPUSH"),
        ("WAITAOF 0 0 0", "WAITAOF"),
        ("CLIENT LIST", "CLIENT LIST"),
        ("SCRIPT KILL", "SCRIPT KILL"),
        ("CLIENT TRACKING ON", "CLIENT TRACKING"),
        ("CONFIG GET appendonly", "CONFIG GET appendonly"),
        ("CONFIG SET maxmemory 1", "CONFIG SET"),
        ("ZRANGE z a b BYLEX", "ZRANGE with BYLEX"),
        ("ZADD z 0x10 a", "such a score"),
        ("ZCOUNT z (0x10 5", "such an end of a range of scores"),
        ("SET lock a IFNE b", "SET with IFNE, IFDEQ or IFDNE"),
        ("DELEX lock IFNE b", "DELEX with anything but IFEQ"),
    ] {
        let (mut server, client) = server(ServerVersion::Redis84);
        assert!(execute(&mut server, client, line).is_error(), "{line}");
        let unknown: Vec<&String> = server.unknown_commands().iter().collect();
        assert_eq!(unknown, [name], "{line}");
    }
}

/// Unknown requests in scripts: commands, and parts of Lua that are not modelled.
#[test]
fn missing_feature_of_a_script_is_a_named_error() {
    for (body, name) in [
        ("redis.call('XADD', 's', '*', 'a', 'b')", "XADD"),
        (
            "do end return redis.call('OBJECT', 'ENCODING', 'k')",
            "OBJECT",
        ),
        ("return redis.pcall('incrbyfloat', 'k', 1)", "INCRBYFLOAT"),
        ("return redis.sha1hex('')", "redis.sha1hex in a script"),
        ("redis.log(redis.LOG_WARNING, 'x')", "redis.log in a script"),
        ("redis.setresp(3)", "redis.setresp in a script"),
        ("redis.set_repl(0)", "redis.set_repl in a script"),
        ("return struct.pack('i', 1)", "struct in a script"),
        ("return cmsgpack.pack(1)", "cmsgpack in a script"),
        ("return bit.band(1, 2)", "bit in a script"),
        ("return cjson.new()", "cjson.new in a script"),
        ("return math.random()", "math.random in a script"),
        ("return loadstring('return 1')()", "loadstring in a script"),
        (
            "pcall(function() setmetatable({}, {}) end)",
            "setmetatable in a script",
        ),
        ("return {double=1.5}", "scripts that return types of RESP3"),
        (
            "return cjson.decode('[0x10]')",
            "such a number in cjson.decode in a script",
        ),
    ] {
        let (mut server, client) = server(ServerVersion::Redis70);
        let script: [&[u8]; 3] = [b"EVAL", body.as_bytes(), b"0"];
        server.execute(client, &script, Now::from_ms(START_MS));
        let unknown: Vec<&str> = server
            .unknown_commands()
            .iter()
            .map(String::as_str)
            .collect();
        let named = unknown.iter().any(|one| one.ends_with(name));
        assert!(named && unknown.len() == 1, "{body}: {unknown:?}");
    }
}

#[test]
fn a_script_that_spins_is_ended() {
    let (mut server, client) = server(ServerVersion::Redis70);
    let bodies: [&[u8]; 2] = [
        b"while true do end",
        b"while true do pcall(function() while true do end end) end",
    ];
    for body in bodies {
        let reply = server.execute(client, &[b"EVAL", body, b"0"], Now::from_ms(START_MS));
        assert!(reply.is_error(), "{reply:?}");
    }
    assert!(
        server
            .unknown_commands()
            .contains("scripts that do not end")
    );
    // The server remains usable.
    let reply = server.execute(
        client,
        &[b"EVAL", b"return 1", b"0"],
        Now::from_ms(START_MS),
    );
    assert_eq!(reply, Reply::Int(1));
}

#[test]
fn scripts_see_frozen_time_and_lose_their_cache_on_flush() {
    let (mut server, client) = server(ServerVersion::Redis70);
    let body = b"return redis.call('time')";
    let reply = server.execute(client, &[b"EVAL", body, b"0"], Now::from_ms(START_MS + 1));
    assert_eq!(
        reply,
        Reply::Array(vec![Reply::bulk("1700000000"), Reply::bulk("1000")])
    );
    let sha = server.execute(client, &[b"SCRIPT", b"LOAD", body], Now::from_ms(START_MS));
    let Reply::Bulk(sha) = sha else {
        panic!("SCRIPT LOAD answers the name");
    };
    let call: [&[u8]; 3] = [b"EVALSHA", &sha, b"0"];
    assert!(
        !server
            .execute(client, &call, Now::from_ms(START_MS))
            .is_error()
    );
    server.flush_scripts();
    let reply = server.execute(client, &call, Now::from_ms(START_MS));
    assert_eq!(
        reply,
        error("NOSCRIPT No matching script. Please use EVAL.")
    );
}

#[test]
fn scripts_cannot_leave_anything_behind() {
    let (mut server, client) = server(ServerVersion::Redis70);
    for body in ["x = 1", "string.x = 1", "redis.call = 1"] {
        let script: [&[u8]; 3] = [b"EVAL", body.as_bytes(), b"0"];
        let reply = server.execute(client, &script, Now::from_ms(START_MS));
        let Reply::Error(text) = reply else {
            panic!("{body} is refused");
        };
        assert!(
            text.contains("Attempt to modify a readonly table"),
            "{text}"
        );
    }
    for name in [
        "io", "os", "require", "dofile", "debug", "print", "newproxy", "x",
    ] {
        let body = format!("return {name}");
        let script: [&[u8]; 3] = [b"EVAL", body.as_bytes(), b"0"];
        let reply = server.execute(client, &script, Now::from_ms(START_MS));
        assert!(reply.is_error(), "{name}: {reply:?}");
    }
}

#[test]
fn a_clock_that_jumps_takes_keys_along() {
    let (mut server, client) = server(ServerVersion::Redis70);
    execute(&mut server, client, "SET lock mine PX 1000");
    // Redis removes the key once the clock is past the expiry.
    assert_eq!(
        execute_at(&mut server, client, "EXISTS lock", START_MS + 1000),
        Reply::Int(1)
    );
    assert_eq!(
        execute_at(&mut server, client, "EXISTS lock", START_MS + 1001),
        Reply::Int(0)
    );
    assert_eq!(execute(&mut server, client, "EXISTS lock"), Reply::Int(0));
    execute(&mut server, client, "SET lock mine PX 1000");
    // No command accessed the key while the clock was ahead. After the clock is set back the key exists again, unless
    // the background cycle was faster.
    assert_eq!(execute(&mut server, client, "EXISTS lock"), Reply::Int(1));
    server.expire_cycle(Now::from_ms(START_MS + 60_000));
    assert_eq!(execute(&mut server, client, "EXISTS lock"), Reply::Int(0));
}

#[test]
fn full_servers_refuse_writes_that_need_memory() {
    let (mut server, client) = server(ServerVersion::Redis70);
    server.set_out_of_memory(true);
    let oom = error("OOM command not allowed when used memory > 'maxmemory'.");
    assert_eq!(execute(&mut server, client, "SET lock mine"), oom);
    assert_eq!(execute(&mut server, client, "DEL lock"), Reply::Int(0));
    // A script is only stopped before its first write (as in Redis 7.0.15).
    let late = server.execute(
        client,
        &[
            b"EVAL",
            b"redis.call('DEL', KEYS[1]) return redis.call('SET', KEYS[1], 1)",
            b"1",
            b"k",
        ],
        Now::from_ms(START_MS),
    );
    assert_eq!(late, Reply::OK);
    server.set_out_of_memory(false);
    server.set_acknowledged(2, 0);
    assert_eq!(execute(&mut server, client, "WAIT 1 0"), Reply::Int(2));
}

#[test]
fn wait_ends_when_enough_replicas_have_it_or_by_time() {
    let (mut server, writer) = server(ServerVersion::Redis70);
    let reader = server.connect();
    server.record_effects(true);
    server.set_acknowledged(2, 0);
    execute(&mut server, writer, "SET lock mine");
    // A client that has sent no command since then has no writes to wait for.
    assert_eq!(execute(&mut server, reader, "WAIT 2 0"), Reply::Int(2));
    assert_eq!(execute(&mut server, writer, "WAIT 2 100"), Reply::Blocked);
    assert!(server.waits_for_replicas());
    let over = server.next_timeout().unwrap();
    server.time_out(over);
    assert_eq!(server.take_messages(), [(writer, Reply::Int(0))]);

    assert_eq!(execute(&mut server, writer, "WAIT 1 0"), Reply::Blocked);
    assert_eq!(server.next_timeout(), None);
    server.set_acknowledged(2, 1);
    assert_eq!(server.take_messages(), [(writer, Reply::Int(2))]);
    assert!(!server.waits_for_replicas());
    // More replicas than exist: WAIT lasts until its timeout, and returns the actual number.
    assert_eq!(execute(&mut server, writer, "WAIT 3 100"), Reply::Blocked);
    server.time_out(server.next_timeout().unwrap());
    assert_eq!(server.take_messages(), [(writer, Reply::Int(2))]);
    // A transaction does not wait.
    execute(&mut server, writer, "MULTI");
    execute(&mut server, writer, "WAIT 3 0");
    let done = Reply::Array(vec![Reply::Int(2)]);
    assert_eq!(execute(&mut server, writer, "EXEC"), done);
    // Without a link no replica has any change.
    server.set_acknowledged(0, 1);
    assert_eq!(execute(&mut server, reader, "WAIT 1 5"), Reply::Blocked);
}

#[test]
fn blocking_commands_end_by_an_element_or_by_time() {
    let (mut server, first) = server(ServerVersion::Redis70);
    let second = server.connect();
    assert_eq!(
        execute(&mut server, first, "BLPOP queue 1.5"),
        Reply::Blocked
    );
    assert_eq!(execute(&mut server, second, "RPUSH queue a"), Reply::Int(1));
    let served = Reply::Array(vec![Reply::bulk("queue"), Reply::bulk("a")]);
    assert_eq!(server.take_messages(), [(first, served)]);
    assert_eq!(execute(&mut server, second, "EXISTS queue"), Reply::Int(0));
    assert_eq!(
        execute(&mut server, first, "BLPOP queue 1.5"),
        Reply::Blocked
    );
    let due = server.next_timeout().expect("a deadline");
    assert_eq!(due, Now::from_ms(START_MS + 1500));
    server.time_out(due);
    assert_eq!(server.take_messages(), [(first, Reply::NilArray)]);
    assert_eq!(execute(&mut server, first, "BLPOP queue 0"), Reply::Blocked);
    server.disconnect(first);
    assert_eq!(execute(&mut server, second, "RPUSH queue a"), Reply::Int(1));
    assert_eq!(execute(&mut server, second, "LLEN queue"), Reply::Int(1));
}

#[test]
fn keys_survive_in_snapshots_and_go_by_eviction_and_flush() {
    let (mut server, client) = server(ServerVersion::Redis70);
    execute(&mut server, client, "SET lock mine PX 1000");
    let saved = server.snapshot();
    let held = server.held_value(0, b"lock").expect("the key is there");
    assert_eq!(held.expires_ms, Some(START_MS + 1000));
    execute(&mut server, client, "WATCH lock");
    assert!(server.evict(0, b"lock"));
    assert!(!server.evict(0, b"lock"));
    execute(&mut server, client, "MULTI");
    assert_eq!(execute(&mut server, client, "EXEC"), Reply::NilArray);
    server.restore(saved.clone());
    assert_eq!(
        execute(&mut server, client, "GET lock"),
        Reply::bulk("mine")
    );
    assert_eq!(server.snapshot(), saved);
    server.flush();
    assert_eq!(server.snapshot(), Keyspace::default());
}

#[test]
fn effects_are_absolute() {
    let (mut server, client) = server(ServerVersion::Redis70);
    server.record_effects(true);
    for line in [
        "SET lock mine NX PX 1000",
        "SET lock theirs NX PX 1000",
        "EXPIRE lock 5",
        "PERSIST lock",
        "DEL lock",
        "INCR fence",
        "EXPIRE fence -1",
        "GET none",
    ] {
        execute(&mut server, client, line);
    }
    let effects: Vec<String> = server
        .take_effects()
        .iter()
        .map(|effect| String::from_utf8(effect.args.join(&b' ')).expect("text"))
        .collect();
    assert_eq!(
        effects,
        [
            "SET lock mine PXAT 1700000001000",
            "PEXPIREAT lock 1700000005000",
            "PERSIST lock",
            "DEL lock",
            "INCR fence",
            "DEL fence",
        ]
    );
    assert!(server.take_effects().is_empty());
}

#[test]
fn replies_have_their_wire_format_and_their_value() {
    let reply = Reply::Array(vec![
        Reply::OK,
        Reply::Int(-1),
        Reply::bulk("ab"),
        Reply::Nil,
        Reply::NilArray,
        Reply::error("ERR no"),
    ]);
    let mut bytes = Vec::new();
    reply.encode(false, &mut bytes);
    assert_eq!(
        String::from_utf8_lossy(&bytes),
        "*6\r\n+OK\r\n:-1\r\n$2\r\nab\r\n$-1\r\n*-1\r\n-ERR no\r\n"
    );
    let parsed = redis::parse_redis_value(&bytes).expect("RESP");
    assert_eq!(reply.into_value(), parsed);
    let mut bytes = Vec::new();
    let map = Reply::Map(vec![(Reply::bulk("a"), Reply::Double("1.5".to_owned()))]);
    map.encode(true, &mut bytes);
    assert_eq!(bytes, b"%1\r\n$1\r\na\r\n,1.5\r\n");
    assert_eq!(
        map.clone().into_value(),
        redis::parse_redis_value(&bytes).expect("RESP")
    );
    let mut bytes = Vec::new();
    map.for_resp2().encode(false, &mut bytes);
    assert_eq!(bytes, b"*2\r\n$1\r\na\r\n$3\r\n1.5\r\n");
}

#[test]
fn a_server_may_move_to_another_thread() {
    fn sendable<T: Send>(_: &T) {}
    let (server, _) = server(ServerVersion::Redis70);
    sendable(&server);
}
