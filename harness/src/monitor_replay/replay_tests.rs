//! Tests of the replay of special cases in a server's reports.

use std::rc::Rc;

use picklock_scenarios::Phase;

use super::replay::MonitorReplay;
use super::server_report::ServerReport;
use super::stored_key::{StoredKey, StoredValue};
use crate::history::KeyChange;
use crate::key_history::KeyRecord;
use crate::model::ServerVersion;
use crate::proxy::{LinkId, SentRequests};

/// One node with a server and a replica, whose lines are fed one after another.
struct ReplayFixture {
    replay: MonitorReplay,
    reports: [ServerReport; 2],
    sent: SentRequests,
    at_ns: u64,
}

/// Returns sent requests in which connection `n` belongs to worker `n`.
fn sent() -> SentRequests {
    let sent = SentRequests::default();
    for conn in 0..3 {
        let worker = conn as usize;
        sent.add_connection(conn, LinkId { worker, node: 0 });
    }
    sent
}

impl ReplayFixture {
    /// Creates a node in which the master's clients `A` and `B` belong to clients 0 and 1.
    fn new() -> Self {
        let mut fixture = ReplayFixture {
            replay: MonitorReplay::new(ServerVersion::default(), 2, Rc::from(["k".to_owned()])),
            reports: [ServerReport::for_server(0), ServerReport::for_server(1)],
            sent: sent(),
            at_ns: 0,
        };
        fixture.lines(&[
            r#"0 [0 A] "ECHO" "picklock-connection-0""#,
            r#"0 [0 B] "ECHO" "picklock-connection-1""#,
        ]);
        fixture
    }

    /// Feeds lines of the master. Each consists of the milliseconds on the master's clock, and the rest of the
    /// line.
    fn lines(&mut self, lines: &[&str]) {
        lines.iter().for_each(|line| self.line(0, line));
    }

    fn line(&mut self, server: usize, line: &str) {
        let (ms, rest) = line.split_once(' ').unwrap();
        let micros = ms.parse::<u64>().unwrap() * 1000;
        self.feed(server, &format!("+1.{micros:06} {rest}\r\n"));
    }

    fn expired(&mut self, key: &str) {
        let length = key.len();
        self.feed(
            0,
            &format!("*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$22\r\n__keyevent@0__:expired\r\n${length}\r\n{key}\r\n"),
        );
    }

    fn feed(&mut self, server: usize, text: &str) {
        self.at_ns += 1;
        let (at_ns, replay) = (self.at_ns, &mut self.replay);
        let report = &mut self.reports[server];
        let read = report.read(text.as_bytes(), at_ns, replay, &self.sent, |_| ());
        assert_eq!(read, Ok(()));
    }

    /// Returns the changes of the keys: value, time to live, and cause.
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
fn script_changes_a_key_once() {
    let mut fixture = ReplayFixture::new();
    fixture.lines(&[
        r#"1 [0 A] "EVALSHA" "x" "1" "k""#,
        r#"1 [0 lua] "HINCRBY" "k" "a" "1""#,
        r#"1 [0 lua] "PEXPIRE" "k" "50""#,
        r#"2 [0 B] "GET" "k""#,
    ]);
    assert_eq!(fixture.changes(), ["{a: 1} 50 EVALSHA of 0"]);
}

/// The lines of an interrupted script have different times, but the expiries of its writes count from its
/// beginning.
#[test]
fn interrupted_script_keeps_its_expiry() {
    let mut fixture = ReplayFixture::new();
    fixture.lines(&[
        r#"1 [0 A] "EVALSHA" "x" "1" "k""#,
        r#"1 [0 lua] "SET" "k" "a" "NX" "PX" "50""#,
        r#"9 [0 lua] "INCR" "k:fence""#,
        r#"9 [0 B] "GET" "k""#,
    ]);
    let changes = fixture.changes();
    assert_eq!(changes, ["a 50 EVALSHA of 0", "1 ever EVALSHA of 0"]);
}

#[test]
fn interrupted_transaction_keeps_its_expiry() {
    let mut fixture = ReplayFixture::new();
    fixture.lines(&[
        r#"1 [0 A] "MULTI""#,
        r#"2 [0 A] "SET" "k" "a" "PX" "50""#,
        r#"8 [0 A] "SET" "n" "b""#,
        r#"9 [0 A] "EXEC""#,
    ]);
    let changes = fixture.changes();
    assert_eq!(changes, ["a 50 EXEC of 0", "b ever EXEC of 0"]);
}

#[test]
fn transaction_changes_a_key_once_by_its_exec() {
    let mut fixture = ReplayFixture::new();
    fixture.lines(&[
        r#"1 [0 A] "MULTI""#,
        r#"2 [0 B] "SET" "k" "b""#,
        r#"3 [0 A] "SET" "k" "a""#,
        r#"3 [0 A] "PEXPIRE" "k" "50""#,
        r#"3 [0 A] "EXEC""#,
        r#"4 [0 A] "DEL" "k""#,
    ]);
    let changes = fixture.changes();
    assert_eq!(
        changes,
        ["b ever SET of 1", "a 50 EXEC of 0", "- ever DEL of 0"]
    );
}

#[test]
fn expiry_between_two_scripts_belongs_to_neither() {
    let mut fixture = ReplayFixture::new();
    fixture.lines(&[
        r#"1 [0 A] "EVAL" "x" "0""#,
        r#"1 [0 lua] "SET" "k" "a" "PX" "5""#,
    ]);
    fixture.expired("k");
    fixture.lines(&[r#"9 [0 B] "EVAL" "x" "0""#, r#"9 [0 lua] "SET" "k" "b""#]);
    let changes = fixture.changes();
    assert_eq!(
        changes,
        ["a 5 EVAL of 0", "- ever Expired", "b ever EVAL of 1"]
    );
}

/// The key had expired before the script found it expired.
#[test]
fn expiry_inside_a_script_precedes_its_writes() {
    let mut fixture = ReplayFixture::new();
    fixture.lines(&[
        r#"1 [0 B] "SET" "k" "b" "PX" "5""#,
        r#"9 [0 A] "EVAL" "x" "0""#,
        r#"9 [0 lua] "SET" "j" "a""#,
    ]);
    fixture.expired("k");
    fixture.lines(&[r#"9 [0 lua] "GET" "k""#]);
    let changes = fixture.changes();
    assert_eq!(
        changes,
        ["b 5 SET of 1", "- ever Expired", "a ever EVAL of 0"]
    );
}

#[test]
fn clock_decides_without_expiry_notifications() {
    let mut fixture = ReplayFixture::new();
    fixture.replay.expire_by_clock();
    fixture.lines(&[
        r#"1 [0 A] "SET" "k" "a" "NX" "PX" "50""#,
        r#"40 [0 B] "SET" "k" "b" "NX" "PX" "50""#,
        r#"60 [0 B] "SET" "k" "b" "NX" "PX" "50""#,
    ]);
    let changes = fixture.changes();
    assert_eq!(
        changes,
        ["a 50 SET of 0", "- ever Expired", "b 50 SET of 1"]
    );
    assert_eq!(fixture.replay.gap(), None);
    // The key may or may not have expired by now.
    fixture.lines(&[r#"111 [0 A] "SET" "k" "a" "NX" "PX" "50""#]);
    let gap = fixture.replay.gap().unwrap();
    assert!(gap.contains("a command named k within 3 ms"), "{gap}");
}

#[test]
fn commands_of_other_users_on_their_own_keys_are_skipped() {
    let mut fixture = ReplayFixture::new();
    fixture.reports[0].skip_other_users("k".to_owned());
    fixture.lines(&[
        r#"1 [0 A] "SET" "k" "a""#,
        r#"2 [0 S] "SET" "shop" "1""#,
        r#"3 [0 S] "EVAL" "x" "0""#,
        r#"3 [0 lua] "SET" "other" "1""#,
        r#"4 [0 S] "NO.SUCH" "command""#,
        r#"5 [0 S] "DEL" "k""#,
        r#"6 [0 B] "SET" "own" "b""#,
        r#"7 [0 S] "FLUSHALL""#,
    ]);
    let changes = fixture.changes();
    assert_eq!(
        changes,
        [
            "a ever SET of 0",
            "- ever Evicted",
            "b ever SET of 1",
            "- ever Flushed"
        ]
    );
    assert_eq!(fixture.replay.gap(), None);
}

/// No command touches the key after its expiry.
#[test]
fn expiry_notification_alone_ends_the_value() {
    let mut fixture = ReplayFixture::new();
    fixture.lines(&[r#"1 [0 A] "SET" "k" "a" "PX" "5""#]);
    fixture.expired("k");
    assert_eq!(fixture.changes(), ["a 5 SET of 0", "- ever Expired"]);
}

/// All clients use the same list. In a transaction, `BLPOP` does not wait.
#[test]
fn no_client_waits_in_a_transaction_or_after_disconnecting() {
    let mut fixture = ReplayFixture::new();
    fixture.lines(&[
        r#"1 [0 A] "MULTI""#,
        r#"1 [0 A] "BLPOP" "l" "0""#,
        r#"1 [0 A] "EXEC""#,
        r#"2 [0 B] "BLPOP" "l" "0""#,
        // Another client has the address of B.
        r#"3 [0 B] "ECHO" "picklock-connection-1""#,
        r#"4 [0 A] "RPUSH" "l" "x""#,
    ]);
    assert_eq!(fixture.changes(), ["{x} ever RPUSH of 0"]);
}

#[test]
fn key_expired_during_downtime_is_not_lost_by_the_restart() {
    let mut fixture = ReplayFixture::new();
    fixture.lines(&[
        r#"1 [0 A] "SET" "k" "a" "PX" "5""#,
        r#"1 [0 A] "SET" "j" "a" "PX" "500""#,
        r#"1 [0 A] "SET" "i" "a" "PX" "500""#,
    ]);
    let stored = StoredKey {
        name: b"i".to_vec(),
        value: StoredValue::String(b"a".to_vec()),
        ttl_ms: 401,
    };
    fixture.replay.record_restarted(0, &[stored], 1_100_000, 9);
    let changes = fixture.changes();
    assert_eq!(changes[3..], ["- ever Expired", "- ever Restarted"]);
}

/// A replica's master decides which keys have expired, even if the replica's own clock disagrees.
#[test]
fn replica_does_not_expire_keys_that_its_master_keeps() {
    let mut fixture = ReplayFixture::new();
    fixture.lines(&[r#"0 [0 A] "SET" "k" "a" "PXAT" "1005""#]);
    fixture.line(1, r#"0 [0 master] "SET" "k" "a" "PXAT" "1005""#);
    fixture.line(1, r#"9 [0 master] "PEXPIREAT" "k" "1050""#);
    fixture.line(1, r#"10 [0 X] "ECHO" "mark""#);
    fixture.replay.promote(1, 9);
    fixture.line(1, r#"20 [0 X] "ECHO" "picklock-connection-1""#);
    fixture.line(1, r#"20 [0 X] "PERSIST" "k""#);
    let changes = fixture.changes();
    assert_eq!(
        changes,
        ["a 5 SET of 0", "a 40 FailedOver", "a ever PERSIST of 1"]
    );
}

/// Otherwise the writes of such a command would silently be missing from the key history.
#[test]
fn unknown_command_on_a_locks_key_is_a_gap() {
    let gap_after = |line: &str| {
        let mut fixture = ReplayFixture::new();
        let acquiring: [&[u8]; 5] = [b"SET", b"k", b"a", b"PX", b"1000"];
        let attempt = (1, Phase::Acquire);
        (fixture.sent).record_words(0, acquiring.into_iter(), attempt, None);
        fixture.lines(&[
            r#"0 [0 A] "SET" "k" "a" "PX" "1000""#,
            r#"1 [0 A] "SCAN" "0""#,
            r#"2 [0 A] "COMMAND" "DOCS""#,
        ]);
        assert_eq!(fixture.replay.gap(), None);
        fixture.lines(&[line]);
        fixture.replay.gap()
    };
    let missing = |name: &str| Some(format!("the model of Redis does not support {name}"));
    assert_eq!(
        gap_after(r#"3 [0 A] "INCRBYFLOAT" "k" "1""#),
        missing("INCRBYFLOAT")
    );
    assert_eq!(
        gap_after(r#"3 [0 A] "CAS.SET" "x:k" "1""#),
        missing("CAS.SET")
    );
    assert_eq!(gap_after(r#"3 [0 A] "SWAPDB" "0" "1""#), missing("SWAPDB"));
    // A job queue next to the lock.
    assert_eq!(gap_after(r#"3 [0 A] "XADD" "s" "*" "a" "b""#), None);
    assert_eq!(
        gap_after(r#"3 [0 A] "BLMOVE" "s" "t" "LEFT" "LEFT" "1""#),
        None
    );
}

/// The lock may use keys that only the unknown command writes.
#[test]
fn unknown_command_is_a_gap_while_no_key_of_the_lock_is_known() {
    let mut fixture = ReplayFixture::new();
    fixture.lines(&[r#"0 [0 A] "CAS.SET" "5f2a" "1""#]);
    assert!(fixture.replay.gap().is_some());
}

/// A server whose version lies between two versions of the model may have a command that the older version lacks.
#[test]
fn command_that_the_version_should_lack_is_a_gap() {
    let mut fixture = ReplayFixture::new();
    fixture.lines(&[
        r#"0 [0 A] "SET" "k" "a" "PX" "1000""#,
        r#"1 [0 A] "DELIFEQ" "k" "a""#,
    ]);
    let gap = fixture.replay.gap();
    assert_eq!(
        gap.as_deref(),
        Some("the model of Redis does not support DELIFEQ")
    );
}

/// Some clients introduce themselves to replicas, and read from them.
#[test]
fn replica_that_is_only_read_is_not_promoted() {
    let mut fixture = ReplayFixture::new();
    fixture.lines(&[r#"0 [0 A] "SET" "k" "a" "PX" "1000""#]);
    fixture.line(1, r#"2 [0 X] "ECHO" "picklock-connection-1""#);
    fixture.line(1, r#"3 [0 X] "PING""#);
    fixture.line(1, r#"4 [0 X] "GET" "k""#);
    assert_eq!(fixture.changes(), ["a 1000 SET of 0"]);
}

#[test]
fn client_that_disconnected_while_waiting_receives_nothing() {
    let pushed = |by: &str| {
        let mut fixture = ReplayFixture::new();
        fixture.lines(&[
            r#"1 [0 A] "BLPOP" "k" "0""#,
            r#"2 [0 C] "ECHO" "picklock-connection-2""#,
        ]);
        fixture.sent.record_close(0);
        let push: [&[u8]; 3] = [b"RPUSH", b"k", b"x"];
        let operation = (0, Phase::Acquire);
        fixture
            .sent
            .record_words(2, push.into_iter(), operation, None);
        fixture.line(0, &format!(r#"3 [0 {by}] "RPUSH" "k" "x""#));
        fixture.changes()
    };
    assert_eq!(pushed("C"), ["{x} ever RPUSH of 2"]);
    // The report does not show that the waiting client had disconnected by then.
    assert_eq!(pushed("B"), [""; 0]);
}
