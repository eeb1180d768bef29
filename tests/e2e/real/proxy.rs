//! `picklock proxy`: each fault by each trigger from curl, and the commands of the documentation.

use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use picklock_harness::clock::Clock;
use redis::{Connection, RedisResult};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::foreign_server::ForeignServer;
use super::leftovers::becomes;
use super::other_users::as_nobody;
use crate::running::{Running, picklock};

/// How long a client of Redis waits for a reply.
const REPLY_LIMIT: Duration = Duration::from_millis(300);

/// Duration of a delay, in milliseconds.
const DELAY_MS: u64 = 150;

/// The properties that a fault can match.
const TRIGGERS: &[&str] = &[
    r#"{}"#,
    r#"{"command": "set"}"#,
    r#"{"key": "stock"}"#,
    r#"{"command": "SET", "key": "stock"}"#,
    r#"{"command": "SET", "nth": 2}"#,
];

/// A proxy before a server.
struct Service {
    server: ForeignServer,
    listen: String,
    control: String,
    running: Running,
}

impl Service {
    fn start() -> Service {
        let server = ForeignServer::start(&[]);
        let free = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [listen, control] = free.map(|free| free.local_addr().unwrap().to_string());
        let line = format!(
            "proxy --upstream redis://127.0.0.1:{} --listen {listen} --control {control}",
            server.port
        );
        let service = Service {
            server,
            listen,
            control,
            running: picklock(&line).start(),
        };
        service.curl(&["--retry", "20", "--retry-connrefused"], "/faults");
        service
    }

    /// Returns the answer to a request.
    fn curl(&self, options: &[&str], path: &str) -> Value {
        let url = format!("http://{}{path}", self.control);
        let mut curl = Command::new("curl");
        let output = curl.args(["-sS", &url]).args(options).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{path}: {errors}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn client(&self) -> Connection {
        let client = redis::Client::open(format!("redis://{}", self.listen)).unwrap();
        client.get_connection().unwrap()
    }

    /// Returns the value of the key `stock` in the server.
    fn stock(&self) -> Option<String> {
        let get = redis::cmd("GET").arg("stock").to_owned();
        get.query(&mut self.server.connection()).unwrap()
    }

    /// Waits until the key `stock` has a value.
    fn await_stock(&self, case: &str) {
        becomes(case, || {
            self.stock().map(|_| ()).ok_or("it has no value".to_owned())
        });
    }

    /// Adds a fault, writes a key through it, and compares what the client and the server see.
    fn try_fault(&self, on: &str, effect: &str, trigger: &str) {
        let mut fault: Value = serde_json::from_str(trigger).unwrap();
        fault["on"] = json!(on);
        fault["effect"] = json!(effect);
        match effect {
            "delay" => fault["for_ms"] = json!(DELAY_MS),
            "answer" => fault["error"] = json!("READONLY"),
            _ => {}
        }
        let case = fault.to_string();
        self.server.tell(&["DEL", "stock"]);
        let mut client = self.client();
        let added = self.curl(&["-d", &case], "/faults");
        if fault["nth"].is_number() {
            let set = redis::cmd("SET").arg("other").arg(1).to_owned();
            set.exec(&mut client).unwrap();
        }
        if effect != "delay" {
            client.set_read_timeout(Some(REPLY_LIMIT)).unwrap();
        }
        let began = Clock::start();
        let answer: RedisResult<()> = redis::cmd("SET").arg("stock").arg(7).exec(&mut client);
        let spent = began.elapsed();
        let is_lost = on == "request" && effect != "delay";
        if is_lost {
            assert_eq!(self.stock(), None, "{case}");
        } else {
            self.await_stock(&case);
        }
        match effect {
            "delay" => assert!(
                answer.is_ok() && spent >= Duration::from_millis(DELAY_MS),
                "{case}: {answer:?} after {spent:?}"
            ),
            "answer" => assert_eq!(answer.unwrap_err().code(), Some("READONLY"), "{case}"),
            "cut" => {
                let error = answer.unwrap_err();
                assert!(
                    error.is_connection_dropped() && !error.is_timeout(),
                    "{case}: {error}"
                );
            }
            _ => assert!(answer.unwrap_err().is_timeout(), "{case}"),
        }
        let listed = self.curl(&[], "/faults");
        assert_eq!(listed["faults"][0]["fired"], 1, "{case}: {listed}");
        self.curl(&["-X", "DELETE"], &format!("/faults/{}", added["id"]));
        if effect == "hold" {
            self.await_stock(&case);
        }
    }
}

#[test]
fn each_fault_fires_at_each_trigger() {
    let service = Service::start();
    for on in ["request", "reply"] {
        for effect in ["delay", "drop", "hold", "cut", "answer"] {
            for trigger in TRIGGERS {
                service.try_fault(on, effect, trigger);
            }
        }
    }
    service.running.signal(Signal::INT);
    let ended = service.running.finish().exits(0).left_no_directory();
    assert!(
        ended.stdout.contains("control  http://127.0.0.1:"),
        "{}",
        ended.all()
    );
}

#[test]
fn commands_of_the_documentation_run() {
    let service = Service::start();
    let page = include_str!("../../../docs/proxy.md");
    let commands: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("curl "))
        .collect();
    assert_eq!(commands.len(), 4);
    for command in commands {
        let command = command.replace("127.0.0.1:7380", &service.control);
        let output = Command::new("sh").args(["-c", &command]).output().unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(document.get("error").is_none(), "{command}: {document}");
    }
}

/// The log of commands may have passwords, and faults disturb the owner's test.
#[test]
fn other_users_reach_neither_the_server_nor_the_control_api() {
    let service = Service::start();
    let curl = format!(
        "curl -s -m 5 http://{}/commands; echo ended",
        service.control
    );
    assert_eq!(as_nobody(&curl), "ended\n");
    let own = Command::new("bash").args(["-c", &curl]).output().unwrap();
    assert!(own.stdout.starts_with(b"{"), "its own user is served");
}

/// Servers show none of these in their own logs.
#[test]
fn logins_are_redacted_in_the_list_of_commands() {
    let service = Service::start();
    let mut client = service.client();
    for command in [
        "AUTH u geheim",
        "HELLO 3 AUTH u geheim",
        "CONFIG SET requirepass geheim",
        "ACL SETUSER u >geheim",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let _: RedisResult<redis::Value> = redis::cmd(words[0]).arg(&words[1..]).query(&mut client);
    }
    let commands = service.curl(&[], "/commands").to_string();
    assert!(
        commands.contains("AUTH") && !commands.contains("geheim"),
        "{commands}"
    );
}
