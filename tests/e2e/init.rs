//! `picklock init` writes what it says, and overwrites nothing.

use std::path::PathBuf;

use crate::running::{Outcome, picklock};

/// Every language, as the help lists it.
pub const LANGUAGES: [&str; 7] = ["bash", "csharp", "go", "java", "node", "python", "rust"];

/// All files below the folder, with their paths in it.
fn files(folder: &str, outcome: &Outcome) -> Vec<PathBuf> {
    let root = outcome.home().join(folder);
    let (mut found, mut folders) = (Vec::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path.strip_prefix(&root).unwrap().to_owned()),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_language_writes_the_announced_files() {
    for language in LANGUAGES {
        let line = format!("init --lang {language} 'my lock'");
        let outcome = picklock(&line).run().exits(0);
        let (written, next) = outcome.stdout.split_once("\nnext:\n").unwrap();
        let mut said: Vec<PathBuf> = written
            .lines()
            .skip(1)
            .map(|line| line.trim().into())
            .collect();
        said.sort();
        assert_eq!(said, files("my lock", &outcome), "{}", outcome.all());
        for file in ["picklock.toml", ".github/workflows/picklock.yml"] {
            assert!(said.contains(&file.into()), "{language}: {said:?}");
        }
        let first = next.lines().next();
        assert_eq!(first, Some("  cd 'my lock'"), "{}", outcome.all());
        // The gate reads the configuration before it starts anything, and the lock that it names is
        // the one that is announced.
        let configuration = outcome.text_file("my lock/picklock.toml");
        let (_, name) = next.split_once("--impl ").unwrap();
        let table = format!("[impl.{}]\n", name.lines().next().unwrap());
        assert!(configuration.contains(&table), "{table}\n{configuration}");
    }
}

#[test]
fn init_lists_files_and_next_steps() {
    let outcome = picklock("init --lang java my-lock").run().exits(0);
    insta::assert_snapshot!(outcome.stdout);
}

#[test]
fn a_library_takes_the_place_of_the_example() {
    let outcome = picklock("init --lang python --lib pottery one").run();
    let outcome = outcome.exits(0);
    let written = files("one", &outcome);
    assert!(
        written.contains(&"pottery_redlock.py".into()),
        "{written:?}"
    );
    assert!(!written.contains(&"my_lock.py".into()), "{written:?}");
    let workflow = outcome.text_file("one/.github/workflows/picklock.yml");
    assert!(
        workflow.contains("pip install -r requirements.txt"),
        "{workflow}"
    );
}

#[test]
fn nothing_is_overwritten() {
    let call = picklock("init --lang python").file("my_lock.py", "mine");
    let outcome = call.file("picklock.toml", "mine too").run().exits(2);
    assert_eq!(outcome.text_file("my_lock.py"), "mine");
    assert!(!outcome.home().join("picklock_adapter.py").exists());
    insta::assert_snapshot!(outcome.stderr);
}

#[test]
fn unrelated_files_do_not_stop_init() {
    let call = picklock("init --lang bash .").file("LICENSE", "mine");
    let outcome = call.run().exits(0);
    assert!(!outcome.stdout.contains("cd "), "{}", outcome.all());
}

#[test]
fn unknown_languages_and_libraries_are_refused() {
    let refused = [
        "init --lang cobol",
        "init",
        "init --lang python --lib potery",
        "init --lang go --lib redsync",
        "init --lang go a-file",
    ];
    let said = refused.map(|line| {
        let outcome = picklock(line).file("a-file", "mine").run().exits(2);
        format!("$ picklock {line}\n{}", outcome.stderr)
    });
    insta::assert_snapshot!(said.join("\n"));
}
