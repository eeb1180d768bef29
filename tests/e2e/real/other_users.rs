//! Other users of this machine can reach only the ports of a run, and nothing behind them.
//!
//! The tests start programs as another user, which requires root.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::containers::{containers_of, docker};
use super::proc_table::{listening_ports, started_by};
use crate::running::{Running, picklock};

/// UID of the user `nobody`, and GID of its group.
const NOBODY: &str = "65534";

/// Returns the output of a shell script that runs as `nobody`.
pub fn as_nobody(script: &str) -> String {
    assert!(
        rustix::process::geteuid().is_root(),
        "these tests start programs as another user: run them as root, as CI does"
    );
    let output = Command::new("setpriv")
        .args([
            format!("--reuid={NOBODY}"),
            format!("--regid={NOBODY}"),
            "--clear-groups".to_owned(),
            "--".to_owned(),
        ])
        .args(["bash", "-c", script])
        .current_dir("/")
        .output()
        .expect("`setpriv` and `bash` must be on PATH");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns a script that sends a command to an address, and prints the replies of five seconds.
fn tell(host: &str, port: u16, command: &str) -> String {
    format!(
        "exec 3<>/dev/tcp/{host}/{port} || exit; printf '{command}\\r\\n' >&3; timeout 5 head -n 1 <&3"
    )
}

/// Makes the directories above the run's own accessible to all users: the run's directory must protect itself.
fn open_to_everybody(home: &Path) {
    for path in [home, &home.join("tmp")] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// A sale that runs while a foreign user probes it, without stalls of servers or clients.
const LONG_SALE: &str = r#"
name = "long-sale"
summary = "One thing is sold, and paying takes its time."
backends = ["process", "docker"]

[workload]
workers = 3
stock = 1
ttl = "60s"
section = "15s"
wait = "20s"
"#;

/// Starts a run of this sale with additional lines and flags.
fn begun(more: &str, flags: &str) -> Running {
    let line = format!("scenario long-sale.toml --impl set-nx-px {flags} --out run");
    let call = picklock(&line).file("long-sale.toml", &format!("{LONG_SALE}{more}"));
    open_to_everybody(call.temp().parent().unwrap());
    let mut run = call.start();
    run.hear("got the lock");
    run
}

/// Asserts that no file of the run is readable, in the servers' directory and in the saved one, although a file next to
/// them is.
fn sees_no_file(temp: &Path, out: &Path) {
    let control = temp.join("everybody");
    std::fs::write(&control, "open\n").unwrap();
    assert_eq!(
        as_nobody(&format!("cat '{}'", control.display())),
        "open\n",
        "the control can be read, so what follows means something"
    );
    std::fs::remove_file(control).unwrap();
    for dir in [temp, out] {
        let found = as_nobody(&format!("find '{}' -type f 2>/dev/null", dir.display()));
        assert_eq!(found, "");
    }
    let ours: Vec<_> = std::fs::read_dir(temp).unwrap().flatten().collect();
    assert_eq!(ours.len(), 1, "there is something to be seen: {ours:?}");
}

/// Asserts that the proxy refuses the foreign user on each of its ports, and serves us.
fn is_refused_by_the_proxy(run: &Running) {
    let ports = listening_ports(run.pid());
    assert!(ports.len() >= 3, "{ports:?}");
    for port in &ports {
        let answer = as_nobody(&tell("127.0.0.1", *port, "PING"));
        assert_eq!(answer, "", "port {port}");
    }
    let is_answered = |port: &u16| {
        let script = tell("127.0.0.1", *port, "PING");
        let output = Command::new("bash").args(["-c", &script]).output().unwrap();
        output.stdout.starts_with(b"+PONG")
    };
    assert!(ports.iter().any(is_answered), "we ourselves are served");
}

/// Asserts that the run reports the refused client, and that no property is held.
fn knows_of_it(run: Running) {
    let outcome = run.finish();
    assert!(matches!(outcome.code, Some(1 | 3)), "{}", outcome.all());
    let document = outcome.json_file("run/run.json");
    let trouble = document["trouble"].to_string();
    let refused = format!("a program of user {NOBODY} was refused on the link of client ");
    assert!(trouble.contains(&refused), "{trouble}");
    for (property, verdict) in document["verdicts"].as_object().unwrap() {
        assert_ne!(verdict["status"], "held", "{property}");
    }
}

#[test]
fn another_user_reaches_no_process_of_a_run() {
    let run = begun("", "--backend process");
    let temp = run.temp();
    sees_no_file(&temp, &temp.with_file_name("run"));
    let servers = started_by(run.pid());
    let servers = servers.iter().filter(|one| one.name.contains("redis"));
    let ports: BTreeSet<u16> = servers.flat_map(|one| listening_ports(one.pid)).collect();
    assert!(!ports.is_empty());
    for port in ports {
        let answer = as_nobody(&tell("127.0.0.1", port, "SET stolen 1"));
        assert!(answer.starts_with("-NOAUTH"), "port {port}: {answer:?}");
    }
    is_refused_by_the_proxy(&run);
    knows_of_it(run);
}

#[test]
fn another_user_reaches_no_sentinel_and_finds_no_password() {
    let run = begun(
        "[topology]\nreplicas = 1\nsentinels = 3\n",
        "--backend process",
    );
    let temp = run.temp();
    sees_no_file(&temp, &temp.with_file_name("run"));
    let dir = std::fs::read_dir(&temp).unwrap().next().unwrap().unwrap();
    let file = dir.path().join("sentinel-0/sentinel.conf");
    let text = std::fs::read_to_string(file).unwrap();
    let password = text
        .lines()
        .find_map(|line| line.strip_prefix("requirepass "));
    let password = password
        .expect("a Sentinel wants a password")
        .trim_matches('"');
    assert_eq!(password.len(), 32);
    let mut answers = Vec::new();
    for one in started_by(run.pid()) {
        let line = std::fs::read(format!("/proc/{}/cmdline", one.pid)).unwrap_or_default();
        assert!(
            !String::from_utf8_lossy(&line).contains(password),
            "{one:?}"
        );
        if one.name.contains("redis") {
            for port in listening_ports(one.pid) {
                answers.push(as_nobody(&tell("127.0.0.1", port, "PING")));
            }
        }
    }
    assert!(answers.len() >= 5, "{answers:?}");
    assert!(
        answers.iter().all(|told| told.starts_with("-NOAUTH")),
        "{answers:?}"
    );
    is_refused_by_the_proxy(&run);
    knows_of_it(run);
}

#[test]
fn another_user_reaches_no_container_of_a_run() {
    let run = begun("", "--backend docker");
    let containers = containers_of(run.pid());
    assert!(!containers.is_empty());
    for container in &containers {
        let format = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}";
        let address = docker(&["inspect", "-f", format, container]);
        let published = docker(&["port", container, "6379/tcp"]);
        let (host, port) = published.rsplit_once(':').expect("a published port");
        for (host, port) in [(host, port.parse().unwrap()), (&address, 6379)] {
            let answer = as_nobody(&tell(host, port, "SET stolen 1"));
            assert!(answer.starts_with("-NOAUTH"), "{host}:{port}: {answer:?}");
        }
    }
    is_refused_by_the_proxy(&run);
    knows_of_it(run);
}
