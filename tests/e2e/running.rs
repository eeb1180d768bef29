//! How the tests start the binary, and the results that they get.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use picklock_harness::check::{Component, InconclusiveReason, StallContext, StarvationReason};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::slots::Slot;

/// Maximum time of a run. No run of these tests asks for more than about twenty seconds, so a longer one hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Messages of a run that was inconclusive because the machine was too busy.
const TOO_BUSY: [&str; 8] = [
    "the harness stalled for",
    "the machine stalled for",
    "without a fault",
    "a fault lasted too long:",
    "the injection of a fault took too long:",
    "the Sentinels did not fail over",
    "disconnected before its owner was known",
    "disconnected before the proxy could identify its user",
];

/// Maximum number of reruns if the machine stalled.
pub const REPEATS: u32 = 3;

/// Maximum number of runs that take up to 15 s each: a longer run is more likely to meet a stall of the machine.
pub const MAX_LONG_RUNS: u32 = 4 * REPEATS;

/// Number of runs on servers in which a lock can show a violation that it is known for. Whether two clients meet
/// depends on timing, and a run in which they did not meet shows nothing. Properties that must hold have to hold in
/// each run.
pub const CHANCES: u64 = 5;

/// Returns `true` if a run reports that the machine was too busy to judge the lock.
pub fn was_too_busy(said: &str) -> bool {
    TOO_BUSY.iter().any(|reason| said.contains(reason))
}

/// A call of the binary, with a separate working directory and temporary directory.
pub struct Call {
    command: Command,
    home: TempDir,
    /// Whether it runs in its own directory.
    at_home: bool,
    weight: usize,
}

/// The results of a call.
pub struct Outcome {
    /// The exit code, or `None` if a signal ended it.
    pub code: Option<i32>,
    /// All of standard output.
    pub stdout: String,
    /// All of standard error.
    pub stderr: String,
    home: TempDir,
}

/// Splits a command line into words; quoted text stays together.
pub fn words(line: &str) -> Vec<String> {
    shell_words::split(line).unwrap()
}

/// Creates a call of `picklock LINE`.
pub fn picklock(line: &str) -> Call {
    let home = tempfile::Builder::new().prefix("e2e-").tempdir().unwrap();
    std::fs::create_dir(home.path().join("tmp")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_picklock"));
    command
        .args(words(line))
        .current_dir(home.path())
        .env("TMPDIR", home.path().join("tmp"))
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .env_remove("GITHUB_SHA")
        .env_remove("GITHUB_RUN_ID")
        .env_remove("CI_COMMIT_SHA")
        .env_remove("CI_JOB_URL")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let weight = if line.contains("docker") { 2 } else { 1 };
    Call {
        command,
        home,
        at_home: true,
        weight,
    }
}

impl Call {
    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs it in a foreign folder.
    pub fn within(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self.at_home = false;
        self
    }

    /// Limits its number of open files.
    pub fn with_descriptors(self, limit: u64) -> Self {
        self.in_shell(&format!("ulimit -n {limit}; exec \"$0\" \"$@\""))
    }

    /// Redirects its standard output to a full disk.
    pub fn with_full_disk(self) -> Self {
        self.in_shell("exec \"$0\" \"$@\" >/dev/full")
    }

    /// Redirects its standard output to a pipe that is full and that nothing reads.
    pub fn with_full_pipe(self) -> Self {
        let fill = "mkfifo full; exec 3<>full; dd if=/dev/zero of=full oflag=nonblock 2>/dev/null";
        self.in_shell(&format!("{fill}; exec \"$0\" \"$@\" >&3"))
    }

    /// Starts it by a shell script, whose arguments are the program and its arguments.
    fn in_shell(mut self, script: &str) -> Self {
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .arg(self.command.get_program())
            .args(self.command.get_args())
            .current_dir(self.home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        self.command = command;
        self
    }

    /// Puts a file into its directory, or into a folder below it.
    pub fn file(self, name: &str, text: &str) -> Self {
        let path = self.home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// Returns its temporary directory.
    pub fn temp(&self) -> PathBuf {
        self.home.path().join("tmp")
    }

    /// Runs it to its end. Repeats an inconclusive run in which the machine stalled, as a matrix does by default.
    pub fn run(self) -> Outcome {
        self.run_until(1 + REPEATS, |_| false)
    }

    /// Runs it to its end, at most `runs` times, until the machine did not stall in a run or a stalled run `is_enough`.
    pub fn run_until(mut self, runs: u32, is_enough: impl Fn(&Outcome) -> bool) -> Outcome {
        let given = names(self.home.path());
        let mut outcome = Running::of(&mut self.command, self.weight, self.home).finish();
        for _ in 1..runs {
            if !self.at_home || !was_too_busy(&outcome.all()) || is_enough(&outcome) {
                break;
            }
            let home = outcome.home;
            for name in names(home.path()).difference(&given) {
                let path = home.path().join(name);
                std::fs::remove_dir_all(&path)
                    .or_else(|_| std::fs::remove_file(&path))
                    .unwrap();
            }
            outcome = Running::of(&mut self.command, self.weight, home).finish();
        }
        outcome
    }

    /// Starts it.
    pub fn start(mut self) -> Running {
        Running::of(&mut self.command, self.weight, self.home)
    }
}

/// Returns the names in a directory.
fn names(directory: &Path) -> BTreeSet<OsString> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name()).collect()
}

impl Running {
    fn of(command: &mut Command, weight: usize, home: TempDir) -> Running {
        let slot = Slot::take(weight);
        let mut child = command.spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (tell, lines) = mpsc::channel();
        // Both pipes are drained continuously, because a full pipe would block the run.
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        let output = std::thread::spawn(move || {
            let mut text = Vec::new();
            stdout.read_to_end(&mut text).unwrap();
            // The run is over. A test that starts several runs would otherwise keep the slots of those that have ended
            // while it waits for the next one, and several such tests could wait for each other.
            drop(slot);
            String::from_utf8(text).unwrap()
        });
        Running {
            child,
            lines,
            output: Some(output),
            heard: String::new(),
            home: Some(home),
        }
    }
}

/// A call in progress. It is killed when it is dropped.
pub struct Running {
    child: Child,
    lines: mpsc::Receiver<String>,
    output: Option<std::thread::JoinHandle<String>>,
    heard: String,
    home: Option<TempDir>,
}

impl Running {
    /// Returns its PID.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns its temporary directory.
    pub fn temp(&self) -> PathBuf {
        self.home.as_ref().unwrap().path().join("tmp")
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.pid()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits for a line on standard error that contains `part`, and returns the line.
    pub fn hear(&mut self, part: &str) -> String {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    self.heard.push_str(&line);
                    self.heard.push('\n');
                    if line.contains(part) {
                        return line;
                    }
                }
                Err(why) => panic!("`{part}` was not said ({why}):\n{}", self.heard),
            }
        }
    }

    /// Waits for it to exit.
    pub fn finish(mut self) -> Outcome {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    self.heard.push_str(&line);
                    self.heard.push('\n');
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it hangs:\n{}", self.heard),
            }
        }
        let code = self.child.wait().unwrap().code();
        Outcome {
            code,
            stdout: self.output.take().unwrap().join().unwrap(),
            stderr: std::mem::take(&mut self.heard),
            home: self.home.take().unwrap(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has already exited if the test succeeded.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Outcome {
    /// Returns the directory in which it ran.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Returns both outputs, for the message of a failed test.
    pub fn all(&self) -> String {
        format!(
            "exit {:?}\n--- stdout\n{}\n--- stderr\n{}",
            self.code, self.stdout, self.stderr
        )
    }

    /// Asserts the exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.all());
        assert!(!self.stderr.contains("panicked"), "{}", self.all());
        self
    }

    /// Parses the only document on standard output.
    #[track_caller]
    pub fn document(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("no document: {error}\n{}", self.all()))
    }

    /// Parses a document that it wrote.
    #[track_caller]
    pub fn json_file(&self, name: &str) -> Value {
        serde_json::from_str(&self.text_file(name)).unwrap()
    }

    /// Returns a text file that it wrote.
    #[track_caller]
    pub fn text_file(&self, name: &str) -> String {
        let path = self.home.path().join(name);
        std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{name}: {error}\n{}", self.all()))
    }

    /// Asserts that nothing is left in its temporary directory.
    #[track_caller]
    pub fn left_no_directory(self) -> Self {
        let left: Vec<_> = std::fs::read_dir(self.home.path().join("tmp"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert!(left.is_empty(), "left behind: {left:?}\n{}", self.all());
        self
    }
}

/// A change of these messages must also change [`TOO_BUSY`].
#[test]
fn run_spoiled_by_a_busy_machine_is_recognized() {
    let (worker, until_ns, count) = (0, 0, 1);
    let fault = || "pause-client".to_owned();
    let reasons = [
        InconclusiveReason::HarnessStall {
            late_ms: 1,
            until_ns,
            during: StallContext::Hold,
            count,
        },
        InconclusiveReason::HoldExtendedByStall {
            worker,
            lost_ms: 1,
            until_ns,
        },
        InconclusiveReason::UnexpectedStall {
            who: Component::Worker(worker),
            stalled_ms: 1,
            until_ns,
            count,
        },
        InconclusiveReason::LateInjection {
            worker,
            waited_ns: 1,
            fault: fault(),
        },
        InconclusiveReason::FaultOverran {
            fault: fault(),
            lasted_ns: 1,
            late_ms: 1,
        },
        InconclusiveReason::ClientGone {
            worker,
            sent: "SET".into(),
        },
        InconclusiveReason::Starved {
            by: StarvationReason::MachineTooSlow(1),
        },
    ];
    for reason in reasons {
        assert!(reason.is_machines_fault(), "{reason}");
        assert!(was_too_busy(&reason.to_string()), "{reason}");
    }
}
