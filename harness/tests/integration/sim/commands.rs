//! The behaviour of Redis over simulated connections.

use super::actor::play;

#[test]
fn transaction_is_atomic() {
    let seen = play(1, "", |actor| async move {
        if actor.role == 0 {
            actor.transact(&["SET k 1", "INCR k", "GET k"]).await;
        }
    });
    seen.when(0, "transaction -> [OK 2 2]");
}

#[test]
fn changed_watched_key_aborts_the_transaction() {
    let seen = play(1, "", |actor| async move {
        if actor.role == 0 {
            actor.send("WATCH k").await;
            actor.at(500).await;
            actor.transact(&["SET k mine"]).await;
            actor.send("WATCH k").await;
            actor.transact(&["SET k mine"]).await;
        } else {
            actor.at(200).await;
            actor.send("SET k theirs").await;
        }
    });
    let texts: Vec<String> = seen.by(0).into_iter().map(|(_, text)| text).collect();
    assert_eq!(
        texts,
        [
            "WATCH k -> OK",
            "transaction -> nil",
            "WATCH k -> OK",
            "transaction -> [OK]"
        ]
    );
}

#[test]
fn blocked_client_gets_a_pushed_element() {
    let seen = play(1, "", |actor| async move {
        if actor.role == 0 {
            actor.send("BLPOP q 0").await;
        } else {
            actor.at(300).await;
            actor.send("RPUSH q x").await;
        }
    });
    assert!((300..=302).contains(&seen.when(0, "BLPOP q 0 -> [q x]")));
}

#[test]
fn blocking_command_times_out() {
    let seen = play(1, "", |actor| async move {
        if actor.role == 0 {
            actor.at(100).await;
            actor.send("BLPOP q 0.2").await;
        } else {
            actor.send("BLPOP q 0.4").await;
        }
    });
    assert!((300..=302).contains(&seen.when(0, "BLPOP q 0.2 -> nil")));
    assert!((400..=402).contains(&seen.when(1, "BLPOP q 0.4 -> nil")));
}

#[test]
fn command_waits_behind_a_blocking_one() {
    let seen = play(1, "", |actor| async move {
        if actor.role == 0 {
            let both = ["BLPOP q 0.3", "SET after 1"].map(|words| actor.send(words));
            futures_util::future::join_all(both).await;
        } else {
            actor.at(200).await;
            actor.send("EXISTS after").await;
            actor.at(400).await;
            actor.send("EXISTS after").await;
        }
    });
    assert!((300..=302).contains(&seen.when(0, "SET after 1 -> OK")));
    seen.when(1, "EXISTS after -> 0");
    seen.when(1, "EXISTS after -> 1");
}

#[test]
fn commands_of_one_client_arrive_in_order() {
    let seen = play(1, "", |actor| async move {
        let commands: Vec<_> = (1..=50)
            .map(|n| format!("RPUSH q{} {n}", actor.role))
            .collect();
        futures_util::future::join_all(commands.iter().map(|words| actor.send(words))).await;
        actor.send(&format!("LRANGE q{} 0 -1", actor.role)).await;
    });
    let numbers: Vec<String> = (1..=50).map(|n| n.to_string()).collect();
    for role in [0, 1] {
        let all = format!("LRANGE q{role} 0 -1 -> [{}]", numbers.join(" "));
        seen.when(role, &all);
    }
}

#[test]
fn keys_expire_in_virtual_time() {
    let seen = play(1, "", |actor| async move {
        if actor.role == 0 {
            actor.send("SET k v PX 1000").await;
            actor.at(998).await;
            actor.send("EXISTS k").await;
            actor.at(1_010).await;
            actor.send("EXISTS k").await;
        }
    });
    seen.when(0, "EXISTS k -> 1");
    seen.when(0, "EXISTS k -> 0");
}
