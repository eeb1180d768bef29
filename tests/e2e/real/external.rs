//! The user's own servers are tested through the proxy, and afterwards their contents are unchanged.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
use rustix::process::Signal;
use serde_json::Value;

use super::foreign_server::ForeignServer;
use crate::running::{CHANCES, Outcome, picklock};

const PASSWORD: &str = "open-sesame-4711";

/// The permissions that the documentation lists for a run, and those that `set-nx-px` needs.
const RIGHTS: &str = "~*picklock:* +ping +pttl +set +del +scan +eval +evalsha +get";

/// The permissions that it lists for the key history, and for its comparison with the keys.
const KEY_HISTORY_RIGHTS: &str = "&__keyevent@*__:expired &__keyevent@*__:evicted +monitor +echo +info +config|get +psubscribe \
    +eval +time +type +strlen +get +hgetall +lrange +smembers +zrange";

/// Creates a user with the password and these permissions.
fn make_user(server: &ForeignServer, rights: &[&str]) {
    let secret = format!(">{PASSWORD}");
    let mut words = vec!["ACL", "SETUSER", "shop", "on", &secret];
    words.extend(rights.iter().flat_map(|rights| rights.split_whitespace()));
    server.tell(&words);
}

fn url(server: &ForeignServer) -> String {
    format!("redis://127.0.0.1:{}", server.port)
}

/// Asserts that the password is in none of the output and saved files.
#[track_caller]
fn keeps_the_secret(outcome: &Outcome) {
    fn holds(path: &Path) -> bool {
        if path.is_dir() {
            return std::fs::read_dir(path)
                .unwrap()
                .any(|entry| holds(&entry.unwrap().path()));
        }
        let bytes = std::fs::read(path).unwrap();
        bytes
            .windows(PASSWORD.len())
            .any(|window| window == PASSWORD.as_bytes())
    }
    assert!(!outcome.all().contains(PASSWORD), "{}", outcome.all());
    assert!(!holds(outcome.home()), "a file has the password");
}

fn verdict(document: &Value, property: &str) -> (String, String) {
    let word = |key: &str| {
        document["verdicts"][property][key]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    (word("status"), word("cause"))
}

#[test]
fn server_with_a_password_is_tested_and_left_as_it_was() {
    for notifications in ["", "Exe"] {
        let settings = ["--notify-keyspace-events", notifications];
        let server = ForeignServer::with_password(PASSWORD, &settings).filled();
        let before = server.contents();
        let redis = format!("--redis 'redis://:$SHOP@127.0.0.1:{}'", server.port);
        let calm = picklock(&format!("scenario calm --impl set-nx-px {redis} --out run"));
        let calm = calm.env("SHOP", PASSWORD).run().exits(0);
        assert!(
            calm.stdout.contains("backend external (redis "),
            "{}",
            calm.all()
        );
        assert!(calm.stdout.contains("removed at the end"), "{}", calm.all());
        keeps_the_secret(&calm);
        let record = calm.json_file("run/run.json");
        let reproduce = record["reproduce"].as_str().unwrap();
        assert!(reproduce.contains(":$SHOP@127.0.0.1:"), "{reproduce}");
        assert_eq!(server.contents(), before);

        let is_outlived = (0..CHANCES).any(|seed| {
            let line = format!("scenario gc-pause --impl set-nx-px {redis} --seed {seed} --json");
            let paused = picklock(&line).env("SHOP", PASSWORD).run();
            keeps_the_secret(&paused);
            assert_eq!(server.contents(), before);
            let document = paused.document();
            for property in ["lease", "claims"] {
                let (status, _) = verdict(&document, property);
                assert_ne!(status, "violated", "{property}: {}", paused.all());
            }
            verdict(&document, "exclusion") == ("violated".into(), "outlived-lease".into())
        });
        assert!(
            is_outlived,
            "gc-pause has not shown a lease that was outlived"
        );

        // A command close to the end of an expiry makes a run inconclusive where notifications are off.
        let is_held = (0..CHANCES).any(|seed| {
            let line = format!("scenario lost-reply --impl set-nx-px {redis} --seed {seed}");
            let lost = picklock(&line).env("SHOP", PASSWORD).run();
            assert!(matches!(lost.code, Some(0 | 3)), "{}", lost.all());
            lost.code == Some(0)
        });
        assert!(is_held, "lost-reply is never judged");
        assert_eq!(server.contents(), before);
    }
}

#[test]
fn tls_and_the_documented_rights_suffice() {
    let server = ForeignServer::with_tls(&["--notify-keyspace-events", "Exe"]).filled();
    make_user(&server, &[RIGHTS, KEY_HISTORY_RIGHTS]);
    let before = server.contents();
    let files = ["ca", "cert", "key"].map(|what| match what {
        "ca" => format!("--redis-ca {}", server.file("ca.crt").display()),
        what => {
            let ending = if what == "cert" { "crt" } else { "key" };
            format!(
                "--redis-{what} {}",
                server.file(&format!("client.{ending}")).display()
            )
        }
    });
    let place = format!("127.0.0.1:{}", server.tls_port);
    let redis = format!("--redis rediss://shop:{PASSWORD}@{place}");
    let line = format!(
        "scenario calm --impl set-nx-px {redis} {} --out run",
        files.join(" ")
    );
    let calm = picklock(&line).run().exits(0);
    keeps_the_secret(&calm);
    let key_history = &calm.json_file("run/run.json")["counts"]["key_history"];
    assert_eq!(
        key_history["ends"], key_history["confirmed"],
        "{key_history}"
    );
    assert!(key_history["ends"].as_u64() > Some(0), "{key_history}");
    assert_eq!(server.contents(), before);

    let refused = |flags: &str, says: &str| {
        let line = format!("scenario calm --impl set-nx-px {flags}");
        let outcome = picklock(&line).run().exits(4);
        assert!(outcome.stderr.contains(says), "{says}\n{}", outcome.all());
    };
    refused(&format!("{redis} {} {}", files[1], files[2]), "--redis-ca");
    refused(&format!("{redis} {}", files[0]), "--redis-cert");
    refused(
        &format!(
            "--redis rediss://127.0.0.1:{} {}",
            server.port,
            files.join(" ")
        ),
        "with redis://",
    );
    refused(&format!("--redis redis://{place}"), "with rediss://");
    refused(
        &format!("--redis rediss://shop:wrong@{place} {}", files.join(" ")),
        "user or password rejected",
    );
    assert_eq!(server.contents(), before);
}

#[test]
fn run_without_monitor_permission_reports_no_key_history() {
    let server = ForeignServer::start(&[]).filled();
    make_user(&server, &[RIGHTS]);
    let before = server.contents();
    let redis = format!("--redis redis://shop:{PASSWORD}@127.0.0.1:{}", server.port);
    let calm = picklock(&format!("scenario calm --impl set-nx-px {redis} --out run"))
        .run()
        .exits(0);
    assert!(
        calm.stdout.contains("without key history"),
        "{}",
        calm.all()
    );
    assert!(
        calm.stdout.contains("does not allow MONITOR"),
        "{}",
        calm.all()
    );
    assert!(calm.json_file("run/run.json")["counts"]["key_history"].is_null());
    keeps_the_secret(&calm);
    assert_eq!(server.contents(), before);

    // Missing permissions are named.
    server.tell(&["ACL", "SETUSER", "shop", "-scan"]);
    let refused = picklock(&format!("scenario calm --impl set-nx-px {redis}"))
        .run()
        .exits(4);
    assert!(
        refused.stderr.contains("+scan") && refused.stderr.contains("NOPERM"),
        "{}",
        refused.all()
    );
}

#[test]
fn redlock_uses_five_servers() {
    let servers: Vec<ForeignServer> = (0..5).map(|_| ForeignServer::start(&[]).filled()).collect();
    let before: Vec<_> = servers.iter().map(ForeignServer::contents).collect();
    let urls: Vec<String> = servers.iter().map(url).collect();
    let redis = format!("--redis {}", urls.join(","));
    picklock(&format!("scenario calm --impl redlock {redis}"))
        .run()
        .exits(0);
    let line = format!("scenario partition-minority --impl redlock {redis} --json");
    let document = picklock(&line).run().document();
    assert_eq!(verdict(&document, "exclusion").0, "held", "{document}");
    let after: Vec<_> = servers.iter().map(ForeignServer::contents).collect();
    assert_eq!(after, before);

    let few = format!(
        "scenario calm --impl redlock --redis {}",
        urls[..2].join(",")
    );
    let few = picklock(&few).run().exits(3);
    assert!(
        few.stderr
            .contains("needs 5 Redis nodes, but --redis names 2"),
        "{}",
        few.all()
    );
}

#[test]
fn cluster_of_three_masters_is_one_node_to_a_lock() {
    let servers = ForeignServer::cluster().map(ForeignServer::filled);
    let before: Vec<_> = servers.iter().map(ForeignServer::contents).collect();
    let redis = format!("--redis {}", url(&servers[1]));
    let calm = picklock(&format!("scenario calm --impl set-nx-px {redis}"));
    let calm = calm.run().exits(0);
    assert!(calm.stdout.contains("Redis Cluster of"), "{}", calm.all());
    assert!(calm.stdout.contains("1 node"), "{}", calm.all());
    let mut shown = false;
    for seed in 0..CHANCES {
        let line = format!("scenario gc-pause --impl set-nx-px {redis} --seed {seed} --json");
        let document = picklock(&line).run().document();
        shown |= verdict(&document, "exclusion") == ("violated".into(), "outlived-lease".into());
        assert_ne!(verdict(&document, "lease").0, "violated", "{document}");
    }
    assert!(shown, "gc-pause has not shown a lease that was outlived");
    picklock(&format!("scenario lost-reply --impl set-nx-px {redis}"))
        .run()
        .exits(0);
    let after: Vec<_> = servers.iter().map(ForeignServer::contents).collect();
    assert_eq!(after, before);
    let five = picklock(&format!("scenario calm --impl redlock {redis}")).run();
    let five = five.exits(3);
    assert!(
        five.stderr.contains("needs 5 Redis nodes"),
        "{}",
        five.all()
    );
}

#[test]
fn faults_of_external_servers_are_not_applicable() {
    let server = ForeignServer::start(&[]).filled();
    let before = server.contents();
    for scenario in [
        "node-restart",
        "node-pause",
        "eviction",
        "clock-jump",
        "master-failover",
        "script-flush",
    ] {
        let line = format!(
            "scenario {scenario} --impl set-nx-px --redis {}",
            url(&server)
        );
        let outcome = picklock(&line).run().exits(3);
        assert!(
            outcome.stderr.contains("not applicable"),
            "{}",
            outcome.all()
        );
    }
    let line = format!(
        "matrix --impl set-nx-px --scenario calm --scenario node-restart --redis {} --json",
        url(&server)
    );
    let document = picklock(&line).run().exits(0).document();
    let reason = document["skipped"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("servers that it did not start"), "{reason}");
    assert_eq!(document["cells"][0]["backend"], "external");
    assert_eq!(server.contents(), before);
}

/// Reserves an address on which no process listens, and which stays reserved as long as the socket exists.
fn address_without_server() -> (OwnedFd, SocketAddrV4) {
    let reserving = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&reserving, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = getsockname(&reserving).unwrap().try_into().unwrap();
    (reserving, address)
}

#[test]
fn servers_that_cannot_be_used_are_refused_with_the_reason() {
    let server = ForeignServer::with_password(PASSWORD, &[]);
    let replica = ForeignServer::start(&["--replicaof", "127.0.0.1 1"]);
    let cluster = ForeignServer::start(&["--cluster-enabled", "yes"]);
    let taken = ForeignServer::start(&[]);
    taken.tell(&["SET", "app:team:stock:0000", "1"]);
    let taken_before = taken.contents();
    let (_reserving, nobody) = address_without_server();
    let wrong = format!("redis://:wrong@127.0.0.1:{}", server.port);
    let [url, replica, cluster, taken_url] = [&server, &replica, &cluster, &taken].map(url);
    let table = [
        (url.clone(), 4, "password required"),
        (wrong, 4, "user or password rejected: WRONGPASS"),
        (replica, 4, "a replica, which rejects writes"),
        (cluster, 4, "no server has any slots"),
        (format!("redis://{nobody}"), 4, "cannot connect"),
        (
            format!("{taken_url} --redis-prefix team:"),
            4,
            "1 keys already have team: in their names",
        ),
        ("redis://192.0.2.1:6379".into(), 2, "--yes"),
        (
            "'redis://:$NO_SUCH@127.0.0.1'".into(),
            2,
            "environment variable after the `$` is not set",
        ),
        ("localhost:6379".into(), 2, "expected redis://HOST:PORT"),
        (format!("{url} --backend process"), 2, "--backend external"),
        (format!("{url} --image redis:7"), 2, "leave one out"),
        (format!("{url} --server valkey:8"), 2, "leave one out"),
    ];
    for (flags, code, says) in table {
        let line = format!("scenario calm --impl set-nx-px --redis {flags}");
        let outcome = picklock(&line).run().exits(code);
        assert!(outcome.stderr.contains(says), "{says}\n{}", outcome.all());
        assert!(!outcome.all().contains("wrong@"), "{}", outcome.all());
    }
    assert_eq!(taken.contents(), taken_before);
    let none = picklock("scenario calm --impl set-nx-px --backend external")
        .run()
        .exits(2);
    assert!(none.stderr.contains("--redis URL"), "{}", none.all());
}

/// A sale that runs long enough to disturb it.
const LONG_SALE: &str = r#"
name = "long-sale"
summary = "A sale that goes on while somebody else is at work."

[workload]
workers = 3
stock = 60
ttl = "2s"
section = "0.1ttl"
wait = "2ttl"
limit = "60s"
"#;

#[test]
fn interrupted_run_removes_its_keys() {
    let server = ForeignServer::start(&[]).filled();
    let before = server.contents();
    let line = format!(
        "scenario long-sale.toml --impl fenced --redis {} --no-rerun",
        url(&server)
    );
    let mut run = picklock(&line).file("long-sale.toml", LONG_SALE).start();
    run.hear("got the lock");
    assert_ne!(server.contents(), before, "it has a key there");
    run.signal(Signal::INT);
    run.finish().exits(130);
    assert_eq!(server.contents(), before);
}

#[test]
fn killed_run_has_said_how_to_remove_what_it_leaves() {
    let server = ForeignServer::start(&[]).filled();
    let before = server.contents();
    let redis = format!("--redis {} --redis-prefix team-a:", url(&server));
    let line = format!("scenario long-sale.toml --impl fenced {redis} --no-rerun");
    let mut run = picklock(&line).file("long-sale.toml", LONG_SALE).start();
    run.hear("got the lock");
    run.signal(Signal::KILL);
    drop(run);
    let again = picklock(&format!("scenario calm --impl fenced {redis}"))
        .run()
        .exits(4);
    let command = again
        .stderr
        .split("remove them: ")
        .nth(1)
        .unwrap_or_default();
    let removed = std::process::Command::new("sh")
        .args(["-c", command])
        .status();
    assert!(removed.unwrap().success(), "{}", again.all());
    assert_eq!(server.contents(), before);
    picklock(&format!("scenario calm --impl fenced {redis}"))
        .run()
        .exits(0);
}

#[test]
fn server_that_goes_away_is_no_fault_of_the_lock() {
    let mut server = ForeignServer::start(&[]);
    let line = format!(
        "scenario long-sale.toml --impl set-nx-px --redis {} --no-rerun --json",
        url(&server)
    );
    let mut run = picklock(&line).file("long-sale.toml", LONG_SALE).start();
    run.hear("got the lock");
    server.kill();
    let outcome = run.finish().exits(3);
    assert!(
        outcome.stdout.contains("node 0 failed on its own"),
        "{}",
        outcome.all()
    );
    assert!(
        outcome.stderr.contains("may still be there"),
        "{}",
        outcome.all()
    );
}

#[test]
fn configuration_names_the_servers_for_the_gate_and_for_a_run() {
    let server = ForeignServer::start(&[]).filled();
    let before = server.contents();
    let file = format!(
        "[servers]\nredis = [\"{}\"]\n[[cells]]\nbackends = [\"external\"]\nlocks = [\"set-nx-px\"]\nscenarios = [\"calm\"]\n",
        url(&server)
    );
    let run = picklock("scenario calm --impl set-nx-px --backend external");
    run.file("picklock.toml", &file).run().exits(0);
    picklock("gate").file("picklock.toml", &file).run().exits(0);
    assert_eq!(server.contents(), before);
}

#[test]
fn saved_run_is_repeated_on_servers_only_if_trusted() {
    let server = ForeignServer::start(&[]).filled();
    let before = server.contents();
    let kept = picklock(&format!(
        "scenario calm --impl set-nx-px --redis {} --out run",
        url(&server)
    ));
    let kept = kept.run().exits(0);
    let asked = picklock("replay run").within(kept.home()).run().exits(2);
    assert!(
        asked.stderr.contains("servers that it would write to"),
        "{}",
        asked.all()
    );
    let again = picklock("replay run --trust")
        .within(kept.home())
        .run()
        .exits(0);
    assert!(again.stdout.contains("same"), "{}", again.all());
    picklock("replay run --backend sim")
        .within(kept.home())
        .run()
        .exits(0);
    assert_eq!(server.contents(), before);
}
