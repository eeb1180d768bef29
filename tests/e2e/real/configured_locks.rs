//! A lock that `picklock.toml` names, through every command that takes one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::running::{Outcome, picklock};

/// A folder with a configuration, and below it a lock that starts only in its own folder and with its
/// own environment.
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
                         [[cells]]\nworlds = [\"process\"]\nsubjects = [\"mine\"]\n\
                         scenarios = [\"lost-reply\"]\n\
                         [[expect]]\nexclusion = \"held\"\n";
    fs::write(project.path().join("picklock.toml"), configuration).unwrap();
    project
}

/// Again, where the machine stood still and nothing could be judged.
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
    // From elsewhere, by the name of the file; and as the document says.
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
fn its_run_is_replayed_from_another_folder_without_the_configuration() {
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
    // What was replayed can be replayed.
    let once_more = again.home().join("again");
    let once_more = format!("replay {} --trust", once_more.display());
    let once_more = judged(|| picklock(&once_more).run()).exits(0);
    assert!(once_more.stdout.contains(said), "{}", once_more.all());
}
