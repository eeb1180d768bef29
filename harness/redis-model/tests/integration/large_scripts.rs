//! Scripts with very many values, and scripts that try to leave data behind.

use picklock_redis_model::{Now, Reply, Server, ServerVersion};

/// Returns the reply of an unused server to a script, and the number of requests that are not modelled.
fn run(script: &str, argv: &[&[u8]]) -> (Reply, usize) {
    let mut server = Server::new(ServerVersion::Redis70);
    let client = server.connect();
    let mut words = vec![b"EVAL".as_slice(), script.as_bytes(), b"0"];
    words.extend(argv);
    let reply = server.execute(client, &words, Now::from_ms(1_700_000_000_000));
    (reply, server.unknown_commands().len())
}

#[test]
fn arguments_that_are_not_utf_8_may_be_many() {
    let mut argv: Vec<&[u8]> = vec![b"a"; 9000];
    argv[4500] = b"\xff";
    let script = "return {#ARGV, ARGV[4501], ARGV[9000]}";
    let words = vec![Reply::Int(9000), Reply::bulk([0xff_u8]), Reply::bulk("a")];
    assert_eq!(run(script, &argv), (Reply::Array(words), 0));
}

#[test]
fn a_table_with_many_names_is_written_as_json() {
    let script = "local t = {} for i = 1, 5000 do t['k'..i] = 'v' end return #cjson.encode(t)";
    assert_eq!(run(script, &[]), (Reply::Int(58_894), 0));
}

#[test]
fn a_call_may_have_nearly_as_many_words_as_lua_unpacks() {
    let script = "local t = {} for i = 1, 7900 do t[i] = 'v' end \
        return redis.call('rpush', 'k', unpack(t))";
    assert_eq!(run(script, &[]), (Reply::Int(7900), 0));
}

/// Only the first result counts. A regression test: the twentieth result once crashed a process with assertions in Lua.
#[test]
fn a_script_may_return_many_values() {
    for script in [
        "local t = {} for i = 1, 300 do t[i] = 49 end return unpack(t)",
        "local t = {} for i = 1, 300 do t[i] = 49 end return select(2, pcall(unpack, t))",
    ] {
        assert_eq!(run(script, &[]), (Reply::Int(49), 0), "{script}");
    }
}

/// Each script takes a few words and a few steps, and requests gigabytes.
#[test]
fn scripts_that_take_much_memory_are_ended() {
    for script in [
        "local s = 'x' for i = 1, 40 do s = s .. s end return #s",
        "return #string.rep(string.rep('x', 10000), 200000)",
        "return {pcall(string.rep, string.rep('x', 10000), 200000)}",
        "local t = {} for i = 1, 10000 do t[i] = string.rep('x', 100000 + i) end return #t",
        "local s = string.rep('x', 1000000) for i = 1, 1000 do redis.call('rpush', 'k', s) end",
    ] {
        let (_, unknown) = run(script, &[]);
        assert_eq!(unknown, 1, "{script}");
        assert_eq!(
            run("return #KEYS", &[]),
            (Reply::Int(0), 0),
            "after {script}"
        );
    }
    let script = "return #string.rep(string.rep('x', 1000), 10000)";
    assert_eq!(run(script, &[]), (Reply::Int(10_000_000), 0));
}

/// Lua reports a length of half a billion for this table.
#[test]
fn a_table_with_holes_is_as_long_as_its_beginning() {
    let script = "local t = {} for i = 0, 29 do t[2 ^ i] = i end return t";
    let words = vec![Reply::Int(0), Reply::Int(1)];
    assert_eq!(run(script, &[]), (Reply::Array(words), 0));
}

#[test]
fn nothing_is_inserted_into_the_tables_that_outlive_a_script() {
    for table in ["redis", "math", "cjson", "table"] {
        for _ in 0..3 {
            let script = format!("return {{#{table}, pcall(table.insert, {table}, 'x')}}");
            let (reply, _) = run(&script, &[]);
            assert_eq!(
                reply,
                run(
                    "return {0, false, 'Attempt to modify a readonly table'}",
                    &[]
                )
                .0
            );
        }
    }
}

#[test]
fn very_many_words_are_never_answered_wrongly() {
    let script = "local t = {} for i = 1, 7997 do t[i] = 'v' end \
        return redis.call('rpush', 'k', unpack(t))";
    let (reply, unknown) = run(script, &[]);
    assert!(reply == Reply::Int(7997) || unknown == 1, "{reply:?}");
}

#[test]
fn very_many_scripts_are_not_modelled() {
    let mut server = Server::new(ServerVersion::Redis70);
    let client = server.connect();
    for number in 0..4001 {
        let script = format!("return #ARGV + {number}");
        let words = [b"EVAL".as_slice(), script.as_bytes(), b"0"];
        let reply = server.execute(client, &words, Now::from_ms(1_700_000_000_000));
        assert_eq!(reply.is_error(), number == 4000, "{number}: {reply:?}");
    }
    assert_eq!(server.unknown_commands().len(), 1);
}
