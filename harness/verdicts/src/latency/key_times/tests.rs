use super::*;
use crate::history::read_history;

const HEADER: &str = concat!(
    r#"{"format":"picklock-history/1","scenario":"calm","lock":"s","backend":"sim","#,
    r#""seed":1,"workers":2,"nodes":1,"keys":["k"],"ttl_ms":1000,"stock_start":1,"#,
    r#""update":"decrement","min_grants":0,"progress_within_ms":1000,"key_history":true}"#,
);

/// Returns the times of these events, each given as its time in milliseconds and the rest of its line.
fn times(events: &[(u64, &str)]) -> KeyTimes {
    let lines = events
        .iter()
        .map(|(at_ms, rest)| format!(r#"{{"at_ns":{},{rest}}}"#, at_ms * 1_000_000));
    let lines: Vec<String> = std::iter::once(HEADER.to_owned()).chain(lines).collect();
    let history = read_history(lines.join("\n").as_bytes()).unwrap();
    key_times(&history).unwrap()
}

const ASKED: [&str; 2] = [
    r#""event":"acquire","worker":0,"op":1,"key":0,"ttl_ms":1000,"wait_ms":9000"#,
    r#""event":"acquire","worker":1,"op":2,"key":0,"ttl_ms":1000,"wait_ms":9000"#,
];
const TAKEN: [&str; 2] = [
    r#""event":"key-changed","node":0,"key":0,"value":"a","ttl_ms":1000,"why":"command","worker":0,"op":1,"phase":"acquire","command":"SET""#,
    r#""event":"key-changed","node":0,"key":0,"value":"b","ttl_ms":1000,"why":"command","worker":1,"op":2,"phase":"acquire","command":"SET""#,
];
const GRANTED: [&str; 2] = [
    r#""event":"granted","worker":0,"op":1,"token":"a""#,
    r#""event":"granted","worker":1,"op":2,"token":"b""#,
];
const DELETED: &str = r#""event":"key-changed","node":0,"key":0,"why":"command","worker":0,"op":1,"phase":"release","command":"DEL""#;
const RELEASE: &str = r#""event":"release","worker":0,"op":1"#;
const RELEASED: &str = r#""event":"released","worker":0,"op":1,"released":true"#;
const NOT_RELEASED: &str = r#""event":"released","worker":0,"op":1,"released":false"#;
const EXPIRED: &str = r#""event":"key-changed","node":0,"key":0,"why":"expired""#;
const OVER: &str = r#""event":"commands-sent","acquiring":9"#;

#[test]
fn handover_counts_while_the_lock_is_free_and_wanted() {
    let seen = times(&[
        (0, ASKED[0]),
        (2, TAKEN[0]),
        (3, GRANTED[0]),
        (10, RELEASE),
        (11, DELETED),
        // No client is waiting yet.
        (20, ASKED[1]),
        (45, TAKEN[1]),
    ]);
    assert_eq!(seen.handover_us, [2_000, 25_000]);
    assert_eq!(seen.loss_report_us, [0; 0]);
}

#[test]
fn expired_or_released_value_does_not_block_the_lock() {
    let until_expiry = [
        (0, ASKED[0]),
        (0, TAKEN[0]),
        (0, ASKED[1]),
        // The server removes it later.
        (1_400, EXPIRED),
        (1_500, TAKEN[1]),
    ];
    assert_eq!(times(&until_expiry).handover_us, [500_000]);
    let left = [
        (0, ASKED[0]),
        (0, TAKEN[0]),
        (1, GRANTED[0]),
        (1, ASKED[1]),
        (10, RELEASE),
        (20, RELEASED),
        (1_000, EXPIRED),
        (1_020, TAKEN[1]),
    ];
    assert_eq!(times(&left).handover_us, [1_000_000]);
}

#[test]
fn waiting_ends_with_the_workers() {
    let asleep = [
        (0, ASKED[0]),
        (0, TAKEN[0]),
        (0, ASKED[1]),
        (3_000, OVER),
        (9_000, EXPIRED),
    ];
    assert_eq!(times(&asleep).handover_us, [2_000_000]);
}

#[test]
fn loss_report_counts_from_the_loss_of_the_lock() {
    let taken = [(0, ASKED[0]), (0, TAKEN[0]), (1, GRANTED[0]), (1, ASKED[1])];
    let evicted = [
        (
            200,
            r#""event":"key-changed","node":0,"key":0,"why":"evicted""#,
        ),
        (500, r#""event":"lost","worker":0,"op":1"#),
    ];
    assert_eq!(
        times(&[&taken[..], &evicted].concat()).loss_report_us,
        [300_000]
    );
    let outlived = [(1_300, RELEASE), (1_310, NOT_RELEASED)];
    assert_eq!(
        times(&[&taken[..], &outlived].concat()).loss_report_us,
        [310_000]
    );
    // The client released the lock itself, so nothing was lost.
    let released = [(300, RELEASE), (301, DELETED), (302, NOT_RELEASED)];
    assert_eq!(
        times(&[&taken[..], &released].concat()).loss_report_us,
        [0; 0]
    );
    let in_time = [(300, RELEASE), (301, NOT_RELEASED)];
    assert_eq!(
        times(&[&taken[..], &in_time].concat()).loss_report_us,
        [0; 0]
    );
}
