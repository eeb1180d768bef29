//! The judges of the conformance checks, on evidence that was never seen: no process, no server.

use std::collections::BTreeMap;
use std::time::Duration;

use picklock_harness::adapter::message::Answer;
use picklock_harness::conformance::checks::CHECKS;
use picklock_harness::conformance::evidence::{EndSeen, Evidence, Exchange, KeysSeen};
use picklock_harness::conformance::finding::Judgement;

const LOCK: &str = "picklock:test";

fn ms(number: u64) -> Duration {
    Duration::from_millis(number)
}

/// A request that was sent at 100 ms and answered at 110 ms.
fn exchange(op: &'static str, answer: Answer) -> Exchange {
    Exchange {
        op,
        id: 7,
        ttl_ms: 1_000,
        answer,
        sent: ms(100),
        heard: ms(110),
    }
}

fn granted(valid_ms: Option<u64>, elapsed_ms: Option<u64>) -> Exchange {
    let answer = Answer::Granted {
        token: "t".into(),
        fence: None,
        valid_ms,
        elapsed_ms,
    };
    exchange("acquire", answer)
}

/// A look at 120 ms.
fn keys(keys: &[(&str, i64)]) -> KeysSeen {
    let ttl_ms = keys.iter().map(|(key, ttl)| ((*key).to_owned(), *ttl));
    KeysSeen {
        ttl_ms: ttl_ms.collect(),
        at: ms(120),
        connections: 2,
    }
}

fn evidence(
    exchanges: impl IntoIterator<Item = (&'static str, Exchange)>,
    looks: impl IntoIterator<Item = (&'static str, KeysSeen)>,
) -> Evidence {
    Evidence {
        lease: ms(1_000),
        locks: [LOCK.into(), format!("{LOCK}:other")],
        exchanges: exchanges.into_iter().collect(),
        keys: looks.into_iter().collect(),
        ..Evidence::default()
    }
}

/// `passed`, `not offered: …` or what is wrong.
fn judge(check: &str, evidence: &Evidence) -> String {
    let check = CHECKS.iter().find(|known| known.name == check).unwrap();
    match (check.judge)(evidence) {
        Ok(Judgement::Passed(_)) => "passed".into(),
        Ok(Judgement::NotOffered(reason)) => format!("not offered: {reason}"),
        Err(problem) => problem.what,
    }
}

#[test]
fn a_lease_is_judged_by_what_the_key_is_worth() {
    for (rest_ms, valid_ms, elapsed_ms, expected) in [
        (990, Some(985), Some(3), "passed"),
        // Written at the latest possible time, and the most that can be promised of it.
        (980, Some(1_002), None, "passed"),
        (980, Some(1_003), None, "`valid_ms` is 1003"),
        (970, None, None, "was to live for 992 ms at the most"),
        (999_000, None, None, "is it taken for seconds?"),
        (1_001, None, None, "lives for another 1001 ms"),
        (990, None, Some(12), "passed"),
        (990, None, Some(13), "`elapsed_ms` is 13"),
        (
            -1,
            Some(60_000),
            None,
            "not offered: `picklock:test` has no expiry",
        ),
    ] {
        let grant = granted(valid_ms, elapsed_ms);
        let looks = [("before", keys(&[])), ("after", keys(&[(LOCK, rest_ms)]))];
        let told = judge("lease", &evidence([("grant", grant)], looks));
        assert!(told.contains(expected), "{rest_ms}: {told}");
    }
}

#[test]
fn a_lease_of_less_than_a_second_may_be_rounded_up_to_one() {
    let mut grant = granted(Some(700), None);
    grant.ttl_ms = 300;
    let looks = [("before", keys(&[])), ("after", keys(&[(LOCK, 990)]))];
    assert_eq!(
        judge("lease", &evidence([("grant", grant)], looks)),
        "passed"
    );
}

/// A key that was there before belongs to nobody in this check.
#[test]
fn two_locks_are_two_keys() {
    let old = ("counter", -1);
    let other = format!("{LOCK}:other");
    let second = |answer| ("second", exchange("acquire", answer));
    let grant = || Answer::Granted {
        token: "u".into(),
        fence: None,
        valid_ms: None,
        elapsed_ms: None,
    };
    for (first_key, both, answer, expected) in [
        (LOCK, vec![LOCK, &other], grant(), "passed"),
        (
            "lock:picklock:test",
            vec!["lock:picklock:test", "x"],
            grant(),
            "passed",
        ),
        (
            "the-lock",
            vec!["the-lock"],
            grant(),
            "two locks share a key",
        ),
        (
            "the-lock",
            vec!["the-lock"],
            Answer::Refused,
            "with the key `the-lock`",
        ),
    ] {
        let both: Vec<_> = both
            .into_iter()
            .map(|key| (key, 900))
            .chain([old])
            .collect();
        let looks = [
            ("before", keys(&[old])),
            ("with first", keys(&[old, (first_key, 900)])),
            ("with both", keys(&both)),
        ];
        let told = judge(
            "key",
            &evidence([("first", granted(None, None)), second(answer)], looks),
        );
        assert!(told.contains(expected), "{first_key}: {told}");
    }
    let looks = ["before", "with first", "with both"].map(|label| (label, keys(&[old])));
    let exchanges = [("first", granted(None, None)), second(grant())];
    let told = judge("key", &evidence(exchanges, looks));
    assert!(told.contains("wrote no key"), "{told}");
}

/// `definite` is only a lie where the command was executed after all.
#[test]
fn an_error_is_no_lie_until_the_key_is_there() {
    let error = |definite| {
        let message = "timed out".into();
        exchange("acquire", Answer::Error { message, definite })
    };
    for (definite, after, expected) in [
        (false, vec![(LOCK, 900)], "passed"),
        (true, vec![], "passed"),
        (true, vec![(LOCK, 900)], "the key was there"),
    ] {
        let exchanges = [("grant", granted(None, None)), ("frozen", error(definite))];
        let looks = [("before", keys(&[])), ("after", keys(&after))];
        let told = judge("time-out", &evidence(exchanges, looks));
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn only_the_server_that_was_given_may_be_connected() {
    let node = "127.0.0.1:7001".parse().unwrap();
    for (peers, expected) in [
        (vec!["127.0.0.1:7001"], "passed"),
        (vec![], "passed"),
        (
            vec!["127.0.0.1:7001", "127.0.0.1:6379"],
            "connected to 127.0.0.1:6379,",
        ),
    ] {
        let peers = peers.iter().map(|peer| peer.parse().unwrap()).collect();
        let evidence = Evidence {
            node: Some(node),
            peers: BTreeMap::from([("peers", Ok(peers))]),
            ..evidence([("grant", granted(None, None))], [])
        };
        let told = judge("servers", &evidence);
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn an_end_is_clean_or_is_told() {
    for (how, left, expected) in [
        (Some("exited with status 0"), vec![], "passed"),
        (Some("exited with status 2"), vec![], "expected status 0"),
        (
            Some("exited with status 0"),
            vec!["sleep (9)"],
            "left processes behind: sleep (9)",
        ),
        (None, vec![], "did not exit within 3 s"),
    ] {
        let end = EndSeen {
            how: how.map(str::to_owned),
            patience: ms(3_000),
            left: left.into_iter().map(str::to_owned).collect(),
        };
        let evidence = Evidence {
            ends: BTreeMap::from([("end", end)]),
            ..evidence([("ping", exchange("ping", Answer::Pong))], [])
        };
        let told = judge("end", &evidence);
        assert!(told.contains(expected), "{told}");
    }
}
