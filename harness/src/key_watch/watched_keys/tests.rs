use picklock_scenarios::Phase;

use super::*;
use crate::history::KeyCommand;
use crate::key_history::ended_values;
use crate::key_watch::declared_keys;
use crate::model::{CommandKind, Now, ServerVersion};

/// Returns the changes by `last`, 50 ms after the first commands.
fn changes(first: &[&[&str]], last: &[&str]) -> Vec<String> {
    let mut server = Server::new(ServerVersion::default());
    server.watch_keys(true);
    let mut watch = KeyWatch::new(Rc::from([]));
    let client = server.connect();
    let mut run = |command: &[&str], wall_ms: i64| {
        let words: Vec<&[u8]> = command.iter().map(|word| word.as_bytes()).collect();
        server.execute(client, &words, Now::from_ms(wall_ms));
        let time = InspectionTime { at_ns: 0, wall_ms };
        watch.inspect(&mut server, time, || KeyChange::Evicted);
    };
    first.iter().for_each(|command| run(command, 1_000));
    run(last, 1_050);
    let describe = |record: &KeyRecord| format!("{:?} {:?}", record.key, record.why);
    watch.take()[first.len()..].iter().map(describe).collect()
}

#[test]
fn undeclared_key_of_a_script_is_recorded_once() {
    let mut watch = KeyWatch::new(Rc::from(["lock".to_owned()]));
    let changed = |key: KeyName| KeyRecord {
        at_ns: 7,
        key,
        value: None,
        ttl_ms: None,
        why: KeyChange::Command(KeyCommand {
            worker: 0,
            op: 1,
            phase: Phase::Release,
            command: "EVAL".into(),
            sent_ns: None,
            forwarded_at_ns: None,
            names_unread_value: false,
        }),
    };
    let words: [&[u8]; 5] = [b"EVAL", b"script", b"1", b"lock", b"count"];
    for key in [KeyName::Lock(0), KeyName::Other("count".into())] {
        watch.records.extend([changed(key.clone()), changed(key)]);
    }
    let declared = declared_keys("EVAL", words.into_iter()).unwrap();
    watch.record_undeclared(0, declared);
    let undeclared = watch.take_undeclared();
    let keys: Vec<_> = undeclared
        .iter()
        .map(|undeclared| undeclared.key().clone())
        .collect();
    assert_eq!(keys, [KeyName::Other("count".into())]);
    assert!(declared_keys("SET", words.into_iter()).is_none());
}

#[test]
fn expired_key_is_recorded_before_the_command_that_found_it() {
    assert_eq!(
        changes(
            &[&["SET", "a", "1"], &["SET", "b", "1", "PX", "10"]],
            &["DEL", "a", "b"]
        ),
        [r#"Other("b") Expired"#, r#"Other("a") Evicted"#]
    );
}

#[test]
fn expiry_in_the_past_is_a_removal_by_its_command() {
    assert_eq!(
        changes(&[&["SET", "a", "1"]], &["PEXPIREAT", "a", "1"]),
        [r#"Other("a") Evicted"#]
    );
}

/// The key history, which is read from a history, has its own list of such commands.
#[test]
fn command_that_replaces_a_value_by_the_same_one_ends_it() {
    let names = [
        "SET", "GETSET", "MSET", "SETEX", "PSETEX", "SETNX", "APPEND", "EVALSHA", "PEXPIRE",
        "PERSIST", "GETEX", "HSET", "EXEC",
    ];
    for name in names {
        let written = |worker: usize, command: &str| {
            let record = KeyRecord {
                at_ns: 0,
                key: KeyName::Lock(0),
                value: Some("a".into()),
                ttl_ms: None,
                why: KeyChange::Command(KeyCommand {
                    worker,
                    op: 1,
                    phase: Phase::Acquire,
                    command: command.into(),
                    sent_ns: None,
                    forwarded_at_ns: None,
                    names_unread_value: false,
                }),
            };
            record.into_event(0, 0)
        };
        let ended = ended_values(&[written(0, "SET"), written(1, name)]) == 1;
        let replaces = CommandKind::for_command(name, "") == Some(CommandKind::Replaces);
        assert_eq!(ended, replaces, "{name}");
    }
}
