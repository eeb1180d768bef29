//! What a server tells in special cases, and what the replay makes of it.

use std::rc::Rc;

use picklock_scenarios::Phase;

use super::replay::MonitorReplay;
use super::server_report::ServerReport;
use super::stored_key::{StoredKey, StoredValue};
use crate::history::KeyChange;
use crate::key_history::KeyRecord;
use crate::model::ServerVersion;
use crate::proxy::{LinkId, SentRequests};

/// One node with a server and a replica, whose lines come one after another.
struct Told {
    replay: MonitorReplay,
    reports: [ServerReport; 2],
    sent: SentRequests,
    at_ns: u64,
}

/// Connection `n` belongs to worker `n`.
fn sent() -> SentRequests {
    let sent = SentRequests::default();
    for conn in 0..3 {
        let worker = conn as usize;
        sent.opened(conn, LinkId { worker, node: 0 });
    }
    sent
}

impl Told {
    /// Clients `A` and `B` of the master are those of workers 0 and 1.
    fn new() -> Self {
        let mut told = Told {
            replay: MonitorReplay::new(ServerVersion::default(), 2, Rc::from(["k".to_owned()])),
            reports: [ServerReport::for_server(0), ServerReport::for_server(1)],
            sent: sent(),
            at_ns: 0,
        };
        told.lines(&[
            r#"0 [0 A] "ECHO" "picklock-connection-0""#,
            r#"0 [0 B] "ECHO" "picklock-connection-1""#,
        ]);
        told
    }

    /// Lines of the master: each the milliseconds that its clock shows, and what stands behind them.
    fn lines(&mut self, lines: &[&str]) {
        lines.iter().for_each(|line| self.line(0, line));
    }

    fn line(&mut self, server: usize, line: &str) {
        let (ms, rest) = line.split_once(' ').unwrap();
        let micros = ms.parse::<u64>().unwrap() * 1000;
        self.tell(server, &format!("+1.{micros:06} {rest}\r\n"));
    }

    fn expired(&mut self, key: &str) {
        let length = key.len();
        self.tell(
            0,
            &format!("*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$22\r\n__keyevent@0__:expired\r\n${length}\r\n{key}\r\n"),
        );
    }

    fn tell(&mut self, server: usize, text: &str) {
        self.at_ns += 1;
        let (at_ns, replay) = (self.at_ns, &mut self.replay);
        let report = &mut self.reports[server];
        let read = report.read(text.as_bytes(), at_ns, replay, &self.sent, |_| ());
        assert_eq!(read, Ok(()));
    }

    /// The changes of the keys: value, life, and why.
    fn changes(&mut self) -> Vec<String> {
        self.replay.take().iter().map(describe).collect()
    }
}

fn describe(record: &KeyRecord) -> String {
    let value = record.value.as_deref().unwrap_or("-");
    let life = record.ttl_ms.map_or("ever".to_owned(), |ms| ms.to_string());
    let why = match &record.why {
        KeyChange::Command(by) => format!("{} of {}", by.command, by.worker),
        other => format!("{other:?}"),
    };
    format!("{value} {life} {why}")
}

#[test]
fn a_script_changes_a_key_once() {
    let mut told = Told::new();
    told.lines(&[
        r#"1 [0 A] "EVALSHA" "x" "1" "k""#,
        r#"1 [0 lua] "HINCRBY" "k" "a" "1""#,
        r#"1 [0 lua] "PEXPIRE" "k" "50""#,
        r#"2 [0 B] "GET" "k""#,
    ]);
    assert_eq!(told.changes(), ["{a: 1} 50 EVALSHA of 0"]);
}

/// The lines of a script that the machine interrupted have times of their own; what they write got its
/// expiry when the script began.
#[test]
fn a_script_that_was_interrupted_wrote_the_expiry_that_it_was_given() {
    let mut told = Told::new();
    told.lines(&[
        r#"1 [0 A] "EVALSHA" "x" "1" "k""#,
        r#"1 [0 lua] "SET" "k" "a" "NX" "PX" "50""#,
        r#"9 [0 lua] "INCR" "k:fence""#,
        r#"9 [0 B] "GET" "k""#,
    ]);
    let changes = told.changes();
    assert_eq!(changes, ["a 50 EVALSHA of 0", "1 ever EVALSHA of 0"]);
}

#[test]
fn a_transaction_that_was_interrupted_wrote_the_expiry_that_it_was_given() {
    let mut told = Told::new();
    told.lines(&[
        r#"1 [0 A] "MULTI""#,
        r#"2 [0 A] "SET" "k" "a" "PX" "50""#,
        r#"8 [0 A] "SET" "n" "b""#,
        r#"9 [0 A] "EXEC""#,
    ]);
    let changes = told.changes();
    assert_eq!(changes, ["a 50 EXEC of 0", "b ever EXEC of 0"]);
}

#[test]
fn a_transaction_changes_a_key_once_and_by_its_own_command() {
    let mut told = Told::new();
    told.lines(&[
        r#"1 [0 A] "MULTI""#,
        r#"2 [0 B] "SET" "k" "b""#,
        r#"3 [0 A] "SET" "k" "a""#,
        r#"3 [0 A] "PEXPIRE" "k" "50""#,
        r#"3 [0 A] "EXEC""#,
        r#"4 [0 A] "DEL" "k""#,
    ]);
    let changes = told.changes();
    assert_eq!(
        changes,
        ["b ever SET of 1", "a 50 EXEC of 0", "- ever DEL of 0"]
    );
}

#[test]
fn an_expiry_between_two_scripts_belongs_to_neither() {
    let mut told = Told::new();
    told.lines(&[
        r#"1 [0 A] "EVAL" "x" "0""#,
        r#"1 [0 lua] "SET" "k" "a" "PX" "5""#,
    ]);
    told.expired("k");
    told.lines(&[r#"9 [0 B] "EVAL" "x" "0""#, r#"9 [0 lua] "SET" "k" "b""#]);
    let changes = told.changes();
    assert_eq!(
        changes,
        ["a 5 EVAL of 0", "- ever Expired", "b ever EVAL of 1"]
    );
}

/// The key was gone before the script, which only found it so.
#[test]
fn an_expiry_inside_a_script_comes_before_what_it_writes() {
    let mut told = Told::new();
    told.lines(&[
        r#"1 [0 B] "SET" "k" "b" "PX" "5""#,
        r#"9 [0 A] "EVAL" "x" "0""#,
        r#"9 [0 lua] "SET" "j" "a""#,
    ]);
    told.expired("k");
    told.lines(&[r#"9 [0 lua] "GET" "k""#]);
    let changes = told.changes();
    assert_eq!(
        changes,
        ["b 5 SET of 1", "- ever Expired", "a ever EVAL of 0"]
    );
}

#[test]
fn where_the_server_tells_no_expiry_the_clock_decides() {
    let mut told = Told::new();
    told.replay.expire_by_clock();
    told.lines(&[
        r#"1 [0 A] "SET" "k" "a" "NX" "PX" "50""#,
        r#"40 [0 B] "SET" "k" "b" "NX" "PX" "50""#,
        r#"60 [0 B] "SET" "k" "b" "NX" "PX" "50""#,
    ]);
    let changes = told.changes();
    assert_eq!(
        changes,
        ["a 50 SET of 0", "- ever Expired", "b 50 SET of 1"]
    );
    assert_eq!(told.replay.gap(), None);
    // The key may be gone by now, or not yet.
    told.lines(&[r#"111 [0 A] "SET" "k" "a" "NX" "PX" "50""#]);
    let gap = told.replay.gap().unwrap();
    assert!(gap.contains("a command named k within 3 ms"), "{gap}");
}

#[test]
fn what_strangers_do_to_their_own_keys_is_passed_over() {
    let mut told = Told::new();
    told.reports[0].skip_strangers("k".to_owned());
    told.lines(&[
        r#"1 [0 A] "SET" "k" "a""#,
        r#"2 [0 S] "SET" "shop" "1""#,
        r#"3 [0 S] "EVAL" "x" "0""#,
        r#"3 [0 lua] "SET" "other" "1""#,
        r#"4 [0 S] "NO.SUCH" "command""#,
        r#"5 [0 S] "DEL" "k""#,
        r#"6 [0 B] "SET" "own" "b""#,
        r#"7 [0 S] "FLUSHALL""#,
    ]);
    let changes = told.changes();
    assert_eq!(
        changes,
        [
            "a ever SET of 0",
            "- ever Evicted",
            "b ever SET of 1",
            "- ever Flushed"
        ]
    );
    assert_eq!(told.replay.gap(), None);
}

/// Nothing touches the key afterwards.
#[test]
fn an_expiry_that_only_the_server_tells_ends_the_value() {
    let mut told = Told::new();
    told.lines(&[r#"1 [0 A] "SET" "k" "a" "PX" "5""#]);
    told.expired("k");
    assert_eq!(told.changes(), ["a 5 SET of 0", "- ever Expired"]);
}

/// The same list: in a transaction BLPOP does not wait.
#[test]
fn nothing_waits_in_a_transaction_and_nobody_who_has_gone() {
    let mut told = Told::new();
    told.lines(&[
        r#"1 [0 A] "MULTI""#,
        r#"1 [0 A] "BLPOP" "l" "0""#,
        r#"1 [0 A] "EXEC""#,
        r#"2 [0 B] "BLPOP" "l" "0""#,
        // Another client has the address of B.
        r#"3 [0 B] "ECHO" "picklock-connection-1""#,
        r#"4 [0 A] "RPUSH" "l" "x""#,
    ]);
    assert_eq!(told.changes(), ["{x} ever RPUSH of 0"]);
}

#[test]
fn what_ran_out_while_a_server_was_down_was_not_lost_by_its_start() {
    let mut told = Told::new();
    told.lines(&[
        r#"1 [0 A] "SET" "k" "a" "PX" "5""#,
        r#"1 [0 A] "SET" "j" "a" "PX" "500""#,
        r#"1 [0 A] "SET" "i" "a" "PX" "500""#,
    ]);
    let stored = StoredKey {
        name: b"i".to_vec(),
        value: StoredValue::String(b"a".to_vec()),
        ttl_ms: 401,
    };
    told.replay.restarted(0, &[stored], 1_100_000, 9);
    let changes = told.changes();
    assert_eq!(changes[3..], ["- ever Expired", "- ever Restarted"]);
}

/// A replica leaves it to its master to decide what has expired, even if its own clock says so.
#[test]
fn a_replica_does_not_expire_what_its_master_keeps() {
    let mut told = Told::new();
    told.lines(&[r#"0 [0 A] "SET" "k" "a" "PXAT" "1005""#]);
    told.line(1, r#"0 [0 master] "SET" "k" "a" "PXAT" "1005""#);
    told.line(1, r#"9 [0 master] "PEXPIREAT" "k" "1050""#);
    told.line(1, r#"10 [0 X] "ECHO" "mark""#);
    told.replay.promote(1, 9);
    told.line(1, r#"20 [0 X] "ECHO" "picklock-connection-1""#);
    told.line(1, r#"20 [0 X] "PERSIST" "k""#);
    let changes = told.changes();
    assert_eq!(
        changes,
        ["a 5 SET of 0", "a 40 FailedOver", "a ever PERSIST of 1"]
    );
}

/// A server does not tell that a client has closed its connection while it waited.
/// What it wrote would be missing from the account, and nobody would notice.
#[test]
fn unknown_command_that_may_write_is_a_gap() {
    let mut told = Told::new();
    told.lines(&[
        r#"0 [0 A] "SET" "k" "a" "PX" "1000""#,
        r#"1 [0 A] "SCAN" "0""#,
        r#"2 [0 A] "COMMAND" "DOCS""#,
    ]);
    assert_eq!(told.replay.gap(), None);
    told.lines(&[
        r#"3 [0 A] "GETDEL" "k""#,
        r#"4 [0 A] "XADD" "s" "*" "a" "b""#,
    ]);
    let gap = told.replay.gap();
    assert_eq!(
        gap.as_deref(),
        Some("the model of Redis does not know GETDEL")
    );
}

/// A server between two versions of the model has a command that the older one lacks.
#[test]
fn command_that_the_servers_version_should_lack_is_a_gap() {
    let mut told = Told::new();
    told.lines(&[
        r#"0 [0 A] "SET" "k" "a" "PX" "1000""#,
        r#"1 [0 A] "DELIFEQ" "k" "a""#,
    ]);
    let gap = told.replay.gap();
    assert_eq!(
        gap.as_deref(),
        Some("the model of Redis does not know DELIFEQ")
    );
}

/// Some clients greet and read replicas.
#[test]
fn replica_that_is_only_read_is_not_promoted() {
    let mut told = Told::new();
    told.lines(&[r#"0 [0 A] "SET" "k" "a" "PX" "1000""#]);
    told.line(1, r#"2 [0 X] "ECHO" "picklock-connection-1""#);
    told.line(1, r#"3 [0 X] "PING""#);
    told.line(1, r#"4 [0 X] "GET" "k""#);
    assert_eq!(told.changes(), ["a 1000 SET of 0"]);
}

#[test]
fn a_client_that_left_while_it_waited_is_given_nothing() {
    let pushed = |by: &str| {
        let mut told = Told::new();
        told.lines(&[
            r#"1 [0 A] "BLPOP" "k" "0""#,
            r#"2 [0 C] "ECHO" "picklock-connection-2""#,
        ]);
        told.sent.closed(0);
        let push: [&[u8]; 3] = [b"RPUSH", b"k", b"x"];
        let asked = (0, Phase::Acquire);
        told.sent.sent_words(2, push.into_iter(), asked, None);
        told.line(0, &format!(r#"3 [0 {by}] "RPUSH" "k" "x""#));
        told.changes()
    };
    assert_eq!(pushed("C"), ["{x} ever RPUSH of 2"]);
    // Nothing says that the waiting one had left by then.
    assert_eq!(pushed("B"), [""; 0]);
}
