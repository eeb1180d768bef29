//! Adapters that `picklock init` writes, from an empty folder to the same verdicts as the built-in twin, in every
//! language whose tools are installed. C# is tested on Mono: no package source of the tests has .NET.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{is_ci, is_long};
use crate::running::{Outcome, picklock, was_too_busy};

/// The languages, with the programs that each needs.
const LANGUAGES: [(&str, &[&str]); 8] = [
    ("bash", &["bash"]),
    ("csharp", &["mcs", "mono"]),
    ("go", &["go"]),
    ("java", &["java", "javac"]),
    ("node", &["node"]),
    ("php", &["php"]),
    ("python", &["python3"]),
    ("rust", &["cargo"]),
];

/// Adapters in bash and PHP have one client per process.
const ONE_CLIENT: [&str; 2] = ["bash", "php"];

/// Not installed by `scripts/test`, so it is tested only where it is present.
const OPTIONAL: &str = "php";

/// The built-in lock that all examples implement.
const TWIN: &str = "set-nx-px";

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Returns the languages that can be tested here. On a developer's machine some may be missing; CI has them all.
pub(super) fn languages() -> Vec<&'static str> {
    let (here, missing): (Vec<_>, Vec<_>) = LANGUAGES
        .into_iter()
        .partition(|(_, programs)| programs.iter().all(|program| is_installed(program)));
    let missing: Vec<&str> = missing.into_iter().map(|(language, _)| language).collect();
    assert!(
        missing.iter().all(|language| *language == OPTIONAL) || !is_ci(),
        "the tools of {missing:?} are missing; scripts/test installs them"
    );
    if !missing.is_empty() {
        println!("not tried, because their tools are missing: {missing:?}");
    }
    here.into_iter().map(|(language, _)| language).collect()
}

/// A folder with a runnable adapter.
pub(super) struct Adapter {
    outcome: Outcome,
}

impl Adapter {
    /// Follows the steps that `picklock init` prints, except the last lines, which are runs. `option` is an option for
    /// a library or a kind of lock, or empty.
    pub(super) fn made(language: &str, option: &str) -> Adapter {
        let line = format!("init --lang {language} {option} my-lock");
        let outcome = picklock(&line).run().exits(0);
        let adapter = Adapter { outcome };
        adapter.prepare(language);
        adapter
    }

    /// Runs the printed commands that prepare the folder.
    fn prepare(&self, language: &str) {
        let (_, next) = self.outcome.stdout.split_once("\nnext:\n").unwrap();
        // The text after an empty line is advice.
        let steps = next.lines().take_while(|line| !line.is_empty());
        let is_other = |line: &&str| line.starts_with("cd ") || line.starts_with("picklock ");
        for command in steps.map(str::trim).filter(|line| !is_other(line)) {
            let words = shell_words::split(command).unwrap();
            let output = Command::new(&words[0])
                .args(&words[1..])
                .current_dir(self.folder())
                .output()
                .unwrap_or_else(|error| panic!("{language}: {command}: {error}"));
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{language}: {command}\n{errors}");
        }
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.outcome.home().join("my-lock")
    }

    /// Returns the lock as the printed command names it.
    pub(super) fn lock(&self) -> &str {
        let (_, command) = self.outcome.stdout.split_once("--impl ").unwrap();
        command.lines().next().unwrap()
    }
}

/// Returns `true` if a run is inconclusive: the machine stalled, or was so busy that a worker did not start in time. A
/// lock that can never be judged still fails after [`ATTEMPTS`].
fn is_not_judged(code: Option<i32>, text: &str) -> bool {
    matches!(code, Some(3 | 4)) || was_too_busy(text)
}

const ATTEMPTS: usize = 4;

/// Returns the verdicts of a run, `violated` with its cause.
pub(super) fn verdicts(
    scenario: &str,
    lock: &str,
    folder: &Path,
) -> (BTreeMap<String, String>, Outcome) {
    let line = format!("scenario {scenario} --impl {lock} --backend process --json");
    let run = || picklock(&line).within(folder).run();
    let mut outcome = run();
    for _ in 1..ATTEMPTS {
        // A violation counts even if other properties are inconclusive.
        let is_part_unknown = outcome.stdout.contains("\"status\": \"unknown\"");
        if !is_part_unknown && !is_not_judged(outcome.code, &outcome.stdout) {
            break;
        }
        outcome = run();
    }
    let document = outcome.document();
    let words = document["verdicts"].as_object().unwrap().iter();
    let words = words.map(|(property, verdict)| {
        let cause = verdict["cause"].as_str().unwrap_or_default();
        let status = verdict["status"].as_str().unwrap();
        (property.clone(), format!("{status} {cause}"))
    });
    (words.collect(), outcome)
}

/// Asserts that no feature is missing and that no reply was out of order.
fn untroubled(document: &Value, language: &str) {
    assert_eq!(document["counts"]["failed"], 0, "{language}: {document:#}");
    let trouble = document["trouble"].as_array();
    let adapters_own = trouble.into_iter().flatten().filter(|what| {
        let what = what.to_string();
        let machines_own = ["stalled", "stood still", "for a CPU"];
        what.contains("client") && !machines_own.iter().any(|own| what.contains(own))
    });
    assert_eq!(adapters_own.count(), 0, "{language}: {document:#}");
}

/// Compares one language with the twin in the scenarios.
fn as_its_twin(language: &str, twin: &BTreeMap<&str, BTreeMap<String, String>>) {
    let adapter = Adapter::made(language, "");
    // The packages of the others are tested in `gc-pause`, too.
    let runs = is_long() || ["bash", "rust"].contains(&language);
    for (scenario, expected) in twin.iter().filter(|_| runs) {
        if *scenario == "crowd" && ONE_CLIENT.contains(&language) {
            continue;
        }
        let (seen, outcome) = verdicts(scenario, adapter.lock(), &adapter.folder());
        assert_eq!(&seen, expected, "{language}, {scenario}\n{}", outcome.all());
        let document = outcome.document();
        assert_eq!(document["impl"]["name"], "my-lock", "{language}");
        untroubled(&document, language);
        outcome.left_no_directory();
    }
    if WARMS_UP.contains(&language) {
        warms_up(language, &adapter.folder());
    }
    as_offered(language, &adapter);
}

/// Languages whose runtime loads or compiles so much for its first lock that a client would start too late.
const WARMS_UP: [&str; 2] = ["csharp", "java"];

/// Starts the adapter of a folder as its configuration does.
fn start(folder: &Path) -> Child {
    let table = std::fs::read_to_string(folder.join("picklock.toml")).unwrap();
    let command = table
        .lines()
        .find_map(|line| line.strip_prefix("command = "));
    let words = shell_words::split(command.unwrap().trim_matches('"')).unwrap();
    Command::new(&words[0])
        .args(&words[1..])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Returns the first request to an adapter whose lock is on this server, with further fields.
fn init_request(server: SocketAddr, more: &str) -> String {
    format!(
        r#"{{"id":1,"op":"init","protocol":1,"worker":0,"nodes":["redis://{server}"],"timeout_ms":60000,"seed":1,"options":{{}}{more}}}"#
    )
}

/// Languages in which SIGTERM ends the process without a clean-up. Mono has no handlers for it.
const ENDS_AT_ONCE: &str = "csharp";

/// Asserts that a lock cleans up after SIGTERM, and not when standard input ends.
fn cleans_up(language: &str, folder: &Path) {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let init = init_request(server.local_addr().unwrap(), "");
    for signal in [None, Some(Signal::TERM)] {
        let mut adapter = start(folder);
        let mut requests = adapter.stdin.take().unwrap();
        writeln!(requests, "{init}").unwrap();
        let mut answer = String::new();
        let mut answers = BufReader::new(adapter.stdout.take().unwrap());
        answers.read_line(&mut answer).unwrap();
        assert!(answer.contains("ready"), "{language}: {answer}");
        let pid = Pid::from_child(&adapter);
        match signal {
            Some(signal) => kill_process(pid, signal).unwrap(),
            None => drop(requests),
        }
        let ended = adapter.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&ended.stderr);
        let cleans = signal.is_some() && language != ENDS_AT_ONCE;
        assert_eq!(
            errors.contains("cleaned up"),
            cleans,
            "{language}, {signal:?}: {errors}"
        );
        assert_eq!(
            ended.status.code(),
            signal.map_or(Some(0), |_| cleans.then_some(TERMINATED)),
            "{language}, {signal:?}: {errors}"
        );
    }
}

/// The status that a shell reports for a process that SIGTERM ended.
const TERMINATED: i32 = 143;

/// Asserts that the adapter acquires and releases a lock with the given warm-up key before it reports readiness.
fn warms_up(language: &str, folder: &Path) {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let mut adapter = start(folder);
    let init = init_request(address, r#","warm_up":"its-own","ttl_ms":1000"#);
    let mut requests = adapter.stdin.take().unwrap();
    writeln!(requests, "{init}").unwrap();
    let mut answers = BufReader::new(adapter.stdout.take().unwrap());
    let answered = std::thread::spawn(move || {
        let mut line = String::new();
        answers.read_line(&mut line).unwrap();
        // An adapter that has answered without connecting never connects. This unblocks `accept`.
        let _ = TcpStream::connect(address);
        line
    });
    let (mut client, _) = server.accept().unwrap();
    for (command, reply) in [("SET", "+OK\r\n"), ("EVAL", ":1\r\n")] {
        let mut seen = String::new();
        while !seen.contains("its-own") {
            let mut some = [0; 1000];
            let read = client.read(&mut some).unwrap();
            assert_ne!(read, 0, "{language}: {seen}");
            seen.push_str(&String::from_utf8_lossy(&some[..read]));
        }
        assert!(seen.contains(command), "{language}: {seen}");
        client.write_all(reply.as_bytes()).unwrap();
    }
    let answer = answered.join().unwrap();
    drop(requests);
    adapter.wait().unwrap();
    assert!(
        answer.contains(r#""reply":"ready""#),
        "{language}: {answer}"
    );
}

/// Asserts that the module's features beyond the example work.
fn as_offered(language: &str, adapter: &Adapter) {
    let Some((_, file, from, to)) = OFFERS.iter().find(|(name, ..)| *name == language) else {
        return;
    };
    let path = adapter.folder().join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{language}: {text}");
    std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
    adapter.prepare(language);
    // The features that each language lacks.
    let asked = [
        ("release_refused = true\nwait = \"0.1ttl\"", &["rust"][..]),
        ("ending_clients = 1", &["csharp", "node"]),
        ("cancel = \"0.2ttl\"", &["python"]),
    ];
    let asked = asked
        .iter()
        .filter(|(_, without)| !without.contains(&language));
    let asked: Vec<&str> = asked.map(|(line, _)| *line).collect();
    let scenario = format!(
        "name = \"asked\"\nsummary = \"Sections fail, and all that the language can.\"\n[workload]\n\
         workers = 3\nstock = 4\nstart = \"one-first\"\nsection = \"0.3ttl\"\nfailing_sections = 1\n{}\n\
         [judge]\nmin_grants = 3\n",
        asked.join("\n")
    );
    std::fs::write(adapter.folder().join("asked.toml"), scenario).unwrap();
    keeps_the_protocol(adapter, language);
    cleans_up(language, &adapter.folder());
    let (seen, outcome) = verdicts("asked.toml", adapter.lock(), &adapter.folder());
    for (property, verdict) in &seen {
        let expected = if property == "fencing" {
            "not-applicable "
        } else {
            "held "
        };
        assert_eq!(
            verdict,
            expected,
            "{language}: {property}\n{}",
            outcome.all()
        );
    }
}

/// The longer tier adds extensions, a sale without a fault, one with many clients, and the languages with packages.
#[test]
fn every_language_is_judged_as_the_built_in_lock() {
    let scenarios = ["gc-pause", "extend", "calm", "crowd"];
    let scenarios = &scenarios[..if is_long() { 4 } else { 1 }];
    let here = std::env::current_dir().unwrap();
    let twin: BTreeMap<&str, _> = std::thread::scope(|scope| {
        let here = &here;
        let runs = scenarios.iter().map(|scenario| {
            let run = scope.spawn(move || verdicts(scenario, TWIN, here).0);
            (*scenario, run)
        });
        let runs: Vec<_> = runs.collect();
        runs.into_iter()
            .map(|(scenario, run)| (scenario, run.join().unwrap()))
            .collect()
    });
    assert_eq!(twin["gc-pause"]["exclusion"], "violated outlived-lease");
    std::thread::scope(|scope| {
        for language in languages() {
            let twin = &twin;
            scope.spawn(move || as_its_twin(language, twin));
        }
    });
}

/// Additions to a language's example for the checks of a failing section and of releasing a refused lock: a file, the
/// text before which the methods are inserted, and the methods.
const OFFERS: [(&str, &str, &str, &str); 6] = [
    (
        "csharp",
        "MyLock.cs",
        "internal sealed class ExampleLock : IExtendable, ICancellable\n    {",
        "internal sealed class ExampleLock : IExtendable, ICancellable, IFailingSections, IUnheldRelease, ITerminating
    {
        public Task Terminate() => Console.Error.WriteLineAsync(\"cleaned up\");
        public Task<bool?> SectionFailed(string key, string token) => Release(key, token);
        public Task<bool?> ReleaseUnheld(string key) => Release(key, \"\");
",
    ),
    (
        "go",
        "my_lock.go",
        "func newToken()",
        "func (l *myLock) Terminate() { println(\"cleaned up\") }
func (l *myLock) SectionFailed(key, token string) (*bool, error) { return l.Release(key, token) }
func (l *myLock) ReleaseUnheld(key string) (*bool, error) { return l.Release(key, \"\") }
func newToken()",
    ),
    (
        "java",
        "MyLock.java",
        "implements PicklockAdapter.Extendable {",
        "implements PicklockAdapter.Extendable, PicklockAdapter.FailingSections, PicklockAdapter.UnheldRelease,
        PicklockAdapter.Terminating {
    public void terminate() { System.err.println(\"cleaned up\"); }
    public Boolean sectionFailed(String key, String token) throws Exception { return release(key, token); }
    public Boolean releaseUnheld(String key) throws Exception { return release(key, \"\"); }
",
    ),
    (
        "node",
        "my_lock.mjs",
        "  async release(",
        "  terminate() { console.error(\"cleaned up\"); }
  sectionFailed(key, token) { return this.release(key, token); }
  releaseUnheld(key) { return this.release(key, \"\"); }
  async release(",
    ),
    (
        "python",
        "my_lock.py",
        "    def release(",
        "    def terminate(self):
        import sys
        print(\"cleaned up\", file=sys.stderr)
    def section_failed(self, key, token):
        return self.release(key, token)
    def release_unheld(self, key):
        return self.release(key, \"\")
    def release(",
    ),
    (
        "rust",
        "src/main.rs",
        "    const CANCELS: bool = true;",
        "    const CANCELS: bool = true;\n    const FAILS_SECTIONS: bool = true;
    fn clean_up(&self) -> Option<picklock_adapter::CleanUp> {
        Some(Box::new(|| eprintln!(\"cleaned up\")))
    }",
    ),
];

/// A small library for each language whose module has extra features for libraries, with the command that fetches it.
const LIBRARIES: [(&str, &str, &str); 3] = [
    ("go", "--lib redislock", "go"),
    ("java", "--lib spring-data-redis", "mvn"),
    ("node", "--lib redis-semaphore", "npm"),
];

/// Asserts that all checks of the adapter pass. A slow reply or a connection that is not made in time is retried,
/// because the machine may be busy. A wrong reply is wrong every time.
pub(super) fn keeps_the_protocol(adapter: &Adapter, language: &str) {
    let line = format!("adapter check {}", adapter.lock());
    let check = || picklock(&line).within(&adapter.folder()).run();
    let mut checked = check();
    for _ in 1..ATTEMPTS {
        if checked.code == Some(0) {
            break;
        }
        checked = check();
    }
    assert_eq!(checked.code, Some(0), "{language}: {}", checked.all());
}

#[test]
fn the_adapter_of_a_library_keeps_the_protocol() {
    let here = languages();
    std::thread::scope(|scope| {
        for (language, library, fetches) in LIBRARIES {
            if !here.contains(&language) || !is_installed(fetches) {
                assert!(!is_ci(), "{fetches} is missing; scripts/test installs it");
                println!("not tried, because its tools are missing: {language} {library}");
                continue;
            }
            scope.spawn(move || {
                let adapter = Adapter::made(language, library);
                keeps_the_protocol(&adapter, language);
            });
        }
    });
}

/// Runs the lines in a shell, in an empty folder, and appends `code N` to each.
fn in_a_shell(script: &str) -> String {
    let folder = Path::new(env!("CARGO_BIN_EXE_picklock")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let home = tempfile::tempdir().unwrap();
    let lines = script
        .lines()
        .map(|line| format!("{line}\necho \"code $?\"\n"));
    let output = Command::new("sh")
        .args(["-c", &lines.collect::<String>()])
        .current_dir(home.path())
        .env("PATH", format!("{}:{path}", folder.display()))
        .output()
        .unwrap();
    let [text, errors] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    format!("{text}\n{errors}")
}

/// The README's section, verbatim.
#[test]
fn the_five_minutes_of_the_readme() {
    const README: &str = include_str!("../../../README.md");
    let (_, section) = README
        .split_once("## Your own lock in five minutes\n")
        .unwrap();
    let (_, script) = section.split_once("```sh\n").unwrap();
    let (script, _) = script.split_once("```").unwrap();
    assert!(script.lines().count() >= 3, "{script}");
    let mut text = in_a_shell(script);
    for _ in 1..ATTEMPTS {
        let codes = ["code 3", "code 4"].map(|code| text.contains(code));
        if !codes.contains(&true) && !is_not_judged(None, &text) {
            break;
        }
        text = in_a_shell(script);
    }
    // The holder outlives its lease, which is a violation that the gate expects.
    let codes: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("code "))
        .collect();
    assert_eq!(codes, ["code 0", "code 0", "code 1", "code 0"], "{text}");
    assert!(text.contains("outlived-lease"), "{text}");
    assert!(text.contains("gate passed"), "{text}");
}
