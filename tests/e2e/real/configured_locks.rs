//! A lock that `picklock.toml` defines, used with every command that takes a lock.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::running::{Outcome, picklock};

/// Creates a folder with a configuration and a lock that starts only in its own folder and with its own environment.
fn project() -> tempfile::TempDir {
    let project = tempfile::tempdir().unwrap();
    let adapters = Path::new(env!("CARGO_MANIFEST_DIR")).join("adapters/python");
    let folder = project.path().join("lock");
    fs::create_dir(&folder).unwrap();
    for file in ["my_lock.py", "resp_client.py", "picklock_adapter.py"] {
        fs::copy(adapters.join(file), folder.join(file)).unwrap();
    }
    let start = "#!/bin/sh\n\
                 [ -f my_lock.py ] || { echo 'another folder' >&2; exit 7; }\n\
                 [ \"$FLAVOUR\" = 'fresh mint' ] || { echo 'another environment' >&2; exit 8; }\n\
                 exec python3 \"$1\"\n";
    fs::write(folder.join("start"), start).unwrap();
    fs::set_permissions(folder.join("start"), fs::Permissions::from_mode(0o755)).unwrap();
    let configuration = "[impl.mine]\n\
                         command = \"./start my_lock.py\"\n\
                         directory = \"lock\"\n\
                         environment = { FLAVOUR = \"fresh mint\" }\n\
                         [[cells]]\nbackends = [\"process\"]\nlocks = [\"mine\"]\n\
                         scenarios = [\"lost-reply\"]\n\
                         [[expect]]\nexclusion = \"held\"\n";
    fs::write(project.path().join("picklock.toml"), configuration).unwrap();
    project
}

/// Repeats a run if the machine stalled and nothing could be judged.
fn judged(run: impl Fn() -> Outcome) -> Outcome {
    let mut outcome = run();
    for _ in 1..4 {
        if outcome.code != Some(3) {
            break;
        }
        outcome = run();
    }
    outcome
}

fn path(project: &tempfile::TempDir, name: &str) -> PathBuf {
    project.path().join(name)
}

#[test]
fn its_name_is_enough_for_every_command() {
    let project = project();
    let here = project.path();
    let line = "scenario lost-reply --impl mine --backend process --json";
    let run = judged(|| picklock(line).within(here).run()).exits(0);
    let document = run.document();
    assert_eq!(document["impl"]["name"], "mine", "{document:#}");
    let command = document["reproduce"].as_str().unwrap();
    assert!(!command.contains("--config"), "{command}");
    // From another directory, by the name of the file, as the documentation describes.
    let config = path(&project, "picklock.toml");
    let far = format!("{line} --config {}", config.display());
    let far = judged(|| picklock(&far).run()).exits(0).document();
    let command = far["reproduce"].as_str().unwrap();
    assert!(
        command.contains(&format!("--config {}", config.display())),
        "{command}"
    );
    judged(|| picklock(command.strip_prefix("picklock ").unwrap()).run()).exits(0);
    let matrix = "matrix --impl mine --backend process --scenario lost-reply --quiet";
    let matrix = judged(|| picklock(matrix).within(here).run()).exits(0);
    assert!(matrix.stdout.contains("mine"), "{}", matrix.all());
    let gate = judged(|| {
        picklock("gate --quiet")
            .within(here)
            .env("GITHUB_ACTIONS", "")
            .run()
    });
    assert!(gate.exits(0).stdout.contains("gate passed"));
}

#[test]
fn run_is_replayed_from_another_folder_without_configuration() {
    let project = project();
    let kept = path(&project, "kept");
    let line = format!(
        "scenario lost-reply --impl mine --backend process --out {}",
        kept.display()
    );
    let first = judged(|| {
        fs::remove_dir_all(&kept).ok();
        picklock(&line).within(project.path()).run()
    });
    let first = first.exits(0);
    fs::remove_file(path(&project, "picklock.toml")).unwrap();
    let replay = format!("replay {}", kept.display());
    let refused = picklock(&replay).run().exits(2);
    for part in [
        "a program: ./start my_lock.py",
        "its environment: FLAVOUR=fresh mint",
    ] {
        assert!(refused.stderr.contains(part), "{}", refused.all());
    }
    let again = judged(|| picklock(&format!("{replay} --trust --out again")).run());
    let again = again.exits(0);
    let said = "replay: same verdicts";
    assert!(
        again.stdout.contains(said),
        "{}\n{}",
        first.all(),
        again.all()
    );
    // A replayed run can be replayed again.
    let once_more = again.home().join("again");
    let once_more = format!("replay {} --trust", once_more.display());
    let once_more = judged(|| picklock(&once_more).run()).exits(0);
    assert!(once_more.stdout.contains(said), "{}", once_more.all());
}

/// `my_lock.py`, on every node.
const ON_EVERY_NODE: &str = r#"
import secrets
from picklock_adapter import Grant, serve, try_for
from resp_client import RespClient

class OnEveryNode:
    def __init__(self, nodes, timeout_ms, options):
        self.nodes = [RespClient(node, timeout_ms) for node in nodes]

    def acquire(self, key, ttl_ms, wait_ms):
        return try_for(wait_ms, lambda: self.take(key, secrets.token_hex(20), ttl_ms))

    def take(self, key, token, ttl_ms):
        try:
            if all(node("SET", key, token, "NX", "PX", ttl_ms) for node in self.nodes):
                return Grant(token)
        except OSError:
            pass
        self.release(key, token)

    def release(self, key, token):
        script = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
        removed = []
        for node in self.nodes:
            try:
                removed.append(node("EVAL", script, 1, key, token))
            except OSError:
                pass
        return sum(removed) == len(self.nodes)

serve(OnEveryNode, name="on-every-node", version="1")
"#;

/// Two of five nodes are unreachable: a majority lock must go on, and a lock that needs all nodes cannot.
#[test]
fn lock_that_needs_every_node_need_not_progress_without_one() {
    let project = project();
    fs::write(path(&project, "lock/every.py"), ON_EVERY_NODE).unwrap();
    let scenario = "name = \"two-away\"\nsummary = \"Two of five nodes cannot be reached.\"\n\
                    [topology]\nnodes = 5\n\
                    [workload]\nworkers = 2\nstock = 2\nttl = \"500ms\"\nsection = \"0.1ttl\"\nlimit = \"8s\"\n\
                    [[fault]]\nkind = \"partition\"\nat = \"0ms\"\nworkers = \"all\"\nnodes = [3, 4]\n";
    fs::write(path(&project, "two-away.toml"), scenario).unwrap();
    let progress = |claim: &str| {
        let table = format!(
            "[impl.mine]\ncommand = \"python3 every.py\"\ndirectory = \"lock\"\nnodes = 5\n{claim}\n"
        );
        fs::write(path(&project, "picklock.toml"), table).unwrap();
        let line = "scenario two-away.toml --impl mine --backend process --json --no-rerun";
        let document = picklock(line).within(project.path()).run().document();
        document["verdicts"]["progress"].clone()
    };
    // Repeats the run if the machine stalled.
    let mut tries = (1..4).map(|_| progress(""));
    let blamed = tries.find(|it| it["status"] != "unknown");
    let blamed = blamed.expect("a run in which the machine does not stand still");
    assert_eq!(blamed["status"], "violated", "{blamed:#}");
    assert_eq!(blamed["cause"], "waits-for-every-node", "{blamed:#}");
    let excused = progress("needs_every_node = true");
    assert_ne!(excused["status"], "violated", "{excused:#}");
}
