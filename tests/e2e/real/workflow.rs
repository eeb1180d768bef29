//! The workflow that `picklock init` writes, for GitHub and for GitLab, and for adapters in several languages: from an
//! empty folder to a green gate, and to a red gate whose artefacts lead to the story.
//!
//! The shell steps are executed as written. Other steps are replaced by their effects: `actions/checkout` (the
//! repository is present), `actions/cache` and `cache:` (they restore the Picklock that an earlier run has built, so
//! the part after `command -v picklock ||` is not executed), `actions/upload-artifact` and `artifacts:` (they copy the
//! path), `image:` (it is this machine). `apt-get` and `sudo` are stand-ins that change nothing and only check whether
//! the packages exist.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::is_long;
use crate::running::{REPEATS, picklock, was_too_busy};

/// The example of a language, and how to break it.
struct Example {
    language: &'static str,
    /// File of the lock.
    file: &'static str,
    /// The release, and a release that does not check the owner.
    safe: &'static str,
    broken: &'static str,
}

const PYTHON: Example = Example {
    language: "python",
    file: "my_lock.py",
    safe: "self.redis(\"EVAL\", script, 1, key, token) == 1",
    broken: "self.redis(\"DEL\", key) == 1",
};

const NODE: Example = Example {
    language: "node",
    file: "my_lock.mjs",
    safe: "this.redis.command(\"EVAL\", script, 1, key, token)",
    broken: "this.redis.command(\"DEL\", key)",
};

const JAVA: Example = Example {
    language: "java",
    file: "MyLock.java",
    safe: "redis.command(\"EVAL\", script, 1, key, token)",
    broken: "redis.command(\"DEL\", key)",
};

const GO: Example = Example {
    language: "go",
    file: "my_lock.go",
    safe: "l.redis.Command(\"EVAL\", ifMine+\"redis.call('DEL', KEYS[1])\", 1, key, token)",
    broken: "l.redis.Command(\"DEL\", key)",
};

/// A repository on a CI machine.
struct Machine {
    home: tempfile::TempDir,
    example: &'static Example,
    /// Variables of the job.
    environment: BTreeMap<String, String>,
}

/// The results of a job.
struct Job {
    passed: bool,
    /// All output of its steps.
    said: String,
    /// Directory to which its artefacts were copied.
    artefacts: PathBuf,
}

impl Machine {
    /// Creates an empty repository and writes an adapter into its folder `my lock`.
    fn with_adapter(ci: &str, example: &'static Example) -> Machine {
        let home = tempfile::Builder::new().prefix("ci-").tempdir().unwrap();
        let repository = home.path().join("repository");
        // Go records the commit of the repository in the program that it builds.
        let mut init = Command::new("git");
        let init = init.args(["init", "--quiet"]).arg(&repository).status();
        assert!(init.unwrap().success());
        let bin = home.path().join(".cargo/bin");
        fs::create_dir_all(&bin).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_picklock"), bin.join("picklock")).unwrap();
        for (name, script) in [("sudo", "exec \"$@\""), ("apt-get", APT)] {
            let path = bin.join(name);
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let line = format!(
            "init --lang {} --ci {ci} --source https://example.org/picklock.git --rev v0.1.0 'my lock'",
            example.language
        );
        let outcome = picklock(&line).within(&repository).run().exits(0);
        assert!(
            outcome.stdout.contains("picklock gate"),
            "{}",
            outcome.all()
        );
        // The caches of a compiler, as `actions/setup-go` restores them.
        let real_home = std::env::var("HOME").unwrap();
        let cache = std::env::var("GOCACHE").unwrap_or(format!("{real_home}/.cache/go-build"));
        Machine {
            home,
            example,
            environment: BTreeMap::from([("GOCACHE".to_owned(), cache)]),
        }
    }

    fn repository(&self) -> PathBuf {
        self.home.path().join("repository")
    }

    fn workflow(&self, path: &str) -> Value {
        let text = fs::read_to_string(self.repository().join(path)).unwrap();
        assert!(!text.contains("{{prepare}}"), "{text}");
        serde_yaml_ng::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// Runs a script as the runner starts it.
    fn shell(&self, script: &str, folder: &Path) -> (bool, String) {
        let path = std::env::var("PATH").unwrap();
        let bin = self.home.path().join(".cargo/bin");
        // Paths that earlier steps have added.
        let added = fs::read_to_string(self.home.path().join("github-path")).unwrap_or_default();
        let path = added
            .lines()
            .fold(path, |path, line| format!("{line}:{path}"));
        let output = Command::new("bash")
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
            .current_dir(folder)
            .envs(&self.environment)
            .env("HOME", self.home.path())
            .env("PATH", format!("{}:{path}", bin.display()))
            .env_remove("GITHUB_ACTIONS")
            .env("GITHUB_STEP_SUMMARY", self.home.path().join("summary.md"))
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        (output.status.success(), format!("$ {script}\n{said}"))
    }

    /// Copies an artefact, as the service would.
    fn keep(&self, path: &str) -> PathBuf {
        let to = self.home.path().join("artefacts");
        fs::remove_dir_all(&to).ok();
        let from = self.repository().join(path);
        let copied = Command::new("cp").arg("-r").args([&from, &to]).status();
        assert!(copied.unwrap().success(), "{}", from.display());
        to
    }

    fn github(&mut self) -> Job {
        let workflow = self.workflow(".github/workflows/picklock-my-lock.yml");
        let job = &workflow["jobs"]["gate"];
        // A runner that is started by a push skips the hunt.
        assert_eq!(job["if"], "github.event_name != 'schedule'");
        let hunt = workflow["jobs"]["hunt"]["steps"].as_array().unwrap();
        let mut commands = hunt.iter().filter_map(|step| step["run"].as_str());
        assert!(
            commands.any(|it| it.starts_with("picklock hunt --impl my-lock --backend process"))
        );
        let paths = self.home.path().join("github-path").display().to_string();
        self.environment.insert("GITHUB_PATH".to_owned(), paths);
        for (name, value) in workflow["env"].as_object().unwrap() {
            self.environment
                .insert(name.clone(), value.as_str().unwrap().to_owned());
        }
        let folder = job["defaults"]["run"]["working-directory"]
            .as_str()
            .unwrap();
        let folder = self.repository().join(folder);
        let (mut passed, mut said, mut artefacts) = (true, String::new(), PathBuf::new());
        for step in job["steps"].as_array().unwrap() {
            let always = step["if"].as_str() == Some("always()");
            if !passed && !always {
                continue;
            }
            match (step["run"].as_str(), step["uses"].as_str()) {
                (Some(script), None) => {
                    let (ok, words) = self.shell(script, &folder);
                    passed &= ok;
                    said.push_str(&words);
                }
                (None, Some("actions/checkout@v4" | "actions/cache@v4")) => {}
                (None, Some("actions/upload-artifact@v4")) => {
                    artefacts = self.keep(step["with"]["path"].as_str().unwrap());
                }
                other => panic!("a step that this test does not know: {other:?}"),
            }
        }
        Job {
            passed,
            said,
            artefacts,
        }
    }

    fn gitlab(&mut self) -> Job {
        let file = self.workflow(".gitlab-ci.yml");
        let (setup, job) = (&file[".picklock-my-lock-setup"], &file["picklock-my-lock"]);
        assert_eq!(job["extends"], ".picklock-my-lock-setup");
        let project = self.repository().display().to_string();
        for (name, value) in setup["variables"].as_object().unwrap() {
            let value = value.as_str().unwrap();
            let value = value.replace("$CI_PROJECT_DIR", &project);
            self.environment.insert(name.clone(), value);
        }
        // GitLab runs all lines in one shell.
        let lines = [&setup["before_script"], &job["script"]].map(|part| part.as_array().unwrap());
        let lines = lines.into_iter().flatten();
        let script: Vec<&str> = lines.map(|line| line.as_str().unwrap()).collect();
        let (passed, said) = self.shell(&script.join("\n"), &self.repository());
        let artefacts = &job["artifacts"];
        assert_eq!(artefacts["when"], "always");
        let kept = self.keep(artefacts["paths"][0].as_str().unwrap());
        let junit = artefacts["reports"]["junit"].as_str().unwrap();
        assert!(self.repository().join(junit).exists(), "{junit}");
        Job {
            passed,
            said,
            artefacts: kept,
        }
    }

    /// Runs the job, and repeats it if the machine was too busy to judge.
    fn run(&mut self, job: fn(&mut Machine) -> Job) -> Job {
        let mut done = job(self);
        for _ in 0..REPEATS {
            if !was_too_busy(&done.said) {
                break;
            }
            done = job(self);
        }
        done
    }

    /// Makes the release delete any client's lock.
    fn break_lock(&self) {
        let file = self.repository().join("my lock").join(self.example.file);
        let text = fs::read_to_string(&file).unwrap();
        let broken = text.replace(self.example.safe, self.example.broken);
        assert_ne!(text, broken, "the example has changed:\n{text}");
        fs::write(file, broken).unwrap();
    }
}

/// Reports whether each package is installed or available.
const APT: &str = r#"[ "$1" = update ] && exit 0
for word; do
  case $word in install|-*) ;; *) dpkg -s "$word" >/dev/null 2>&1 || apt-cache show "$word" >/dev/null || exit 100 ;; esac
done"#;

/// Runs the job with a sound lock, then with a broken one. `scenarios`: those of the gate, in place of its profile.
fn from_green_to_red(
    ci: &str,
    example: &'static Example,
    scenarios: Option<&str>,
    job: fn(&mut Machine) -> Job,
) {
    let mut machine = Machine::with_adapter(ci, example);
    if let Some(scenarios) = scenarios {
        let path = machine.repository().join("my lock/picklock.toml");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("profile = \"quick\"", scenarios)).unwrap();
    }
    let green = machine.run(job);
    assert!(green.passed, "{}", green.said);
    assert!(green.said.contains("✔ gate passed"), "{}", green.said);
    machine.break_lock();
    let red = machine.run(job);
    assert!(!red.passed, "{}", red.said);
    let page = fs::read_to_string(red.artefacts.join("report.html")).unwrap();
    let comment = fs::read_to_string(red.artefacts.join("gate.md")).unwrap();
    // The page unpacks the story when a cell is opened.
    assert!(page.contains("stolen-release"), "the violation is missing");
    assert!(
        comment.contains("DEL that client"),
        "the story is missing:\n{comment}"
    );
    // The run in the message can be inspected and repeated in the directory of the artefacts.
    let kept = red
        .said
        .lines()
        .find_map(|line| line.split_once(": the run of "));
    let (dir, _) = kept.unwrap_or_else(|| panic!("no run was kept:\n{}", red.said));
    let dir = dir.trim().strip_prefix("picklock-results/").unwrap();
    let log = picklock(&format!("log {dir}"))
        .within(&red.artefacts)
        .run()
        .exits(0);
    assert!(log.stdout.contains("DEL"), "{}", log.all());
    assert!(red.artefacts.join(dir).join("repro.toml").exists());
}

/// Few scenarios, of which the last shows that a release deletes any client's lock.
const FEW: Option<&str> = Some("scenarios = [\"calm\", \"gc-pause\"]");

/// Runs the whole profile of the gate in the longer tier.
#[test]
fn workflow_for_github_goes_green_and_red() {
    let scenarios = FEW.filter(|_| !is_long());
    from_green_to_red("github", &PYTHON, scenarios, Machine::github);
}

#[test]
fn workflow_for_gitlab_goes_green_and_red() {
    from_green_to_red("gitlab", &PYTHON, FEW, Machine::gitlab);
}

#[test]
fn workflow_for_node_goes_green_and_red() {
    from_green_to_red("github", &NODE, FEW, Machine::github);
}

#[test]
fn workflow_for_java_goes_green_and_red() {
    from_green_to_red("github", &JAVA, FEW, Machine::github);
}

#[test]
fn workflow_for_go_goes_green_and_red() {
    from_green_to_red("github", &GO, FEW, Machine::github);
}
