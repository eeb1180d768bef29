//! Libraries of functions, on the model alone: what outlives what, and where they are refused. What
//! they answer is compared in `lab/tests/model/`.

use picklock_redis_model::{ClientId, Now, Reply, Server, ServerVersion};

const LIBRARY: &str = "#!lua name=lib\n\
    local calls = 0\n\
    redis.register_function('count', function() calls = calls + 1 return calls end)\n\
    redis.register_function('put', function(k, a) return redis.call('set', k[1], a[1]) end)\n\
    redis.register_function{function_name='look', flags={'no-writes'},\n\
        callback=function(k) return redis.call('get', k[1]) end}\n\
    redis.register_function{function_name='force', flags={'allow-oom'},\n\
        callback=function(k, a) return redis.call('set', k[1], a[1]) end}";

fn server(version: ServerVersion) -> (Server, ClientId) {
    let mut server = Server::new(version);
    let client = server.connect();
    (server, client)
}

fn ask(server: &mut Server, client: ClientId, words: &[&str]) -> Reply {
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    server.execute(client, &words, Now::from_ms(1_700_000_000_000))
}

fn loaded() -> (Server, ClientId) {
    let (mut server, client) = server(ServerVersion::Redis70);
    let reply = ask(&mut server, client, &["FUNCTION", "LOAD", LIBRARY]);
    assert_eq!(reply, Reply::bulk("lib"));
    (server, client)
}

#[test]
fn functions_outlive_scripts_and_keys() {
    let (mut server, client) = loaded();
    assert_eq!(
        ask(&mut server, client, &["FCALL", "count", "0"]),
        Reply::Int(1)
    );
    ask(&mut server, client, &["SCRIPT", "FLUSH"]);
    ask(&mut server, client, &["FLUSHALL"]);
    server.flush_scripts();
    assert_eq!(
        ask(&mut server, client, &["FCALL", "COUNT", "0"]),
        Reply::Int(2)
    );
}

#[test]
fn a_snapshot_has_the_libraries() {
    let (mut original, client) = loaded();
    ask(&mut original, client, &["FCALL", "count", "0"]);
    let (mut copy, client) = server(ServerVersion::Redis70);
    ask(
        &mut copy,
        client,
        &[
            "FUNCTION",
            "LOAD",
            "#!lua name=old\nredis.register_function('old', function() end)",
        ],
    );
    copy.restore(original.snapshot());
    // The code runs again, so its variables begin again.
    assert_eq!(
        ask(&mut copy, client, &["FCALL", "count", "0"]),
        Reply::Int(1)
    );
    let gone = ask(&mut copy, client, &["FCALL", "old", "0"]);
    assert_eq!(gone, Reply::error("ERR Function not found"));
}

#[test]
fn libraries_reach_replicas() {
    let (mut master, client) = server(ServerVersion::Redis70);
    master.record_effects(true);
    ask(&mut master, client, &["FUNCTION", "LOAD", LIBRARY]);
    ask(&mut master, client, &["FCALL", "put", "1", "k", "v"]);
    let (mut replica, client) = server(ServerVersion::Redis70);
    for effect in master.take_effects() {
        assert!(!replica.apply(&effect, Now::from_ms(0)).is_error());
    }
    assert_eq!(
        ask(&mut replica, client, &["FCALL_RO", "look", "1", "k"]),
        Reply::bulk("v")
    );
}

#[test]
fn a_replica_and_exhausted_memory_refuse_functions_that_write() {
    let read_only = Reply::error("READONLY You can't write against a read only replica.");
    let full = Reply::error("OOM command not allowed when used memory > 'maxmemory'.");
    let (mut server, client) = loaded();
    let put = ["FCALL", "put", "1", "k", "v"];
    let force = ["FCALL", "force", "1", "k", "v"];
    let look = ["FCALL", "look", "1", "k"];
    server.set_out_of_memory(true);
    assert_eq!(ask(&mut server, client, &put), full);
    assert_eq!(
        ask(&mut server, client, &["FUNCTION", "LOAD", LIBRARY]),
        full
    );
    assert_eq!(ask(&mut server, client, &force), Reply::OK);
    assert_eq!(ask(&mut server, client, &look), Reply::bulk("v"));
    server.set_out_of_memory(false);
    server.set_read_only(true);
    assert_eq!(ask(&mut server, client, &put), read_only);
    assert_eq!(ask(&mut server, client, &force), read_only);
    assert_eq!(ask(&mut server, client, &["FUNCTION", "FLUSH"]), read_only);
    assert_eq!(ask(&mut server, client, &look), Reply::bulk("v"));
}

#[test]
fn an_observer_is_told_of_a_call_before_its_commands() {
    let (mut server, client) = loaded();
    server.report(true);
    ask(&mut server, client, &["FCALL", "put", "1", "k", "v"]);
    let told = String::from_utf8(server.take_report()).expect("text");
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(lines[0].ends_with("\"FCALL\" \"put\" \"1\" \"k\" \"v\""));
    assert!(lines[1].ends_with("lua] \"set\" \"k\" \"v\""));
}

#[test]
fn redis_6_2_has_no_functions_and_what_is_left_out_is_named() {
    let (mut old, client) = server(ServerVersion::Redis62);
    for words in [["FUNCTION", "LIST"], ["FCALL", "f"], ["LMPOP", "1"]] {
        let reply = ask(&mut old, client, &words);
        let Reply::Error(text) = reply else {
            panic!("{words:?}: {reply:?}");
        };
        assert!(text.starts_with("ERR unknown command `"), "{text}");
    }
    // That a version lacks a command is knowledge, not ignorance.
    assert!(old.unknown_commands().is_empty());
    let (mut server, client) = loaded();
    assert!(ask(&mut server, client, &["FUNCTION", "DUMP"]).is_error());
    assert!(server.unknown_commands().contains("FUNCTION DUMP"));
}

#[test]
fn a_library_that_does_not_end_is_named() {
    let (mut server, client) = server(ServerVersion::Redis70);
    let library = "#!lua name=lib\nwhile true do end";
    assert!(ask(&mut server, client, &["FUNCTION", "LOAD", library]).is_error());
    let unknown = server.unknown_commands();
    assert!(unknown.contains("scripts that do not end"), "{unknown:?}");
}

#[test]
fn a_restart_forgets_how_a_string_was_made() {
    let (mut server, client) = server(ServerVersion::Redis70);
    ask(&mut server, client, &["SET", "k", "1"]);
    ask(&mut server, client, &["APPEND", "k", "2"]);
    let encoding = ["OBJECT", "ENCODING", "k"];
    assert_eq!(ask(&mut server, client, &encoding), Reply::bulk("raw"));
    let keys = server.snapshot();
    server.restore(keys);
    assert_eq!(ask(&mut server, client, &encoding), Reply::bulk("int"));
}

/// Each function takes a handle of Lua, which has some 8,000.
#[test]
fn a_library_with_too_many_functions_is_named() {
    let (mut server, client) = server(ServerVersion::Redis70);
    let code = "#!lua name=crowd\n\
        for i = 1, 9000 do redis.register_function('f' .. i, function() end) end";
    let reply = ask(&mut server, client, &["FUNCTION", "LOAD", code]);
    assert!(matches!(reply, Reply::Error(_)), "{reply:?}");
    let unknown = format!("{:?}", server.unknown_commands());
    assert!(unknown.contains("more than 4000 functions"), "{unknown}");
}
