//! External servers that answer late, byte by byte, or never.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::adapters::project;
use super::foreign_server::{ForeignServer, free_port};
use crate::running::{Running, picklock};

const SHORT: &str = r#"
name = "short"
summary = "Nothing goes wrong but the server."
[workload]
workers = 2
stock = 4
ttl = "500ms"
section = "50ms"
limit = "3s"
"#;

/// A program between Picklock and a server that delays answers. It ends with the test.
struct SlowServer {
    child: Child,
    port: u16,
}

impl SlowServer {
    /// Starts it with a mode of `tamper.py`, such as `slow:SET`.
    fn start(server: &ForeignServer, mode: &str, seconds: &str) -> SlowServer {
        let port = free_port();
        let ports = [port, server.port].map(|port| port.to_string());
        let mut child = Command::new("python3")
            .arg(project("tests/cases/hostile/tamper.py"))
            .args(&ports)
            .args([mode, seconds])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        SlowServer { child, port }
    }

    fn run(&self) -> Running {
        let line = format!(
            "scenario short.toml --impl set-nx-px --no-rerun --redis redis://127.0.0.1:{}",
            self.port
        );
        picklock(&line).file("short.toml", SHORT).start()
    }
}

impl Drop for SlowServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A run never waits for such a server without a limit, and says which command was not answered.
#[test]
fn slow_server_is_named_and_no_lock_is_blamed() {
    let server = ForeignServer::start(&[]);
    let cases = [
        ("none:SCAN", "60", 4, "no answer to SCAN within 5s"),
        ("none:MONITOR", "60", 4, "no answer to MONITOR within 5s"),
        ("drip:HELLO", "60", 4, "no answer to HELLO within 5s"),
        ("slow:SET", "3", 3, "node 0 stalled for"),
    ];
    let runs = cases.map(|(mode, seconds, code, message)| {
        let slow = SlowServer::start(&server, mode, seconds);
        (slow.run(), slow, code, message)
    });
    for (run, slow, code, message) in runs {
        let outcome = run.finish().exits(code);
        assert!(outcome.all().contains(message), "{}", outcome.all());
        drop(slow);
    }
}
