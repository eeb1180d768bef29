//! Checks the README and the docs: every command in them is run, and its output compared. [`NOT_RUN`] lists the
//! exceptions with their reasons. A command that is neither run nor listed fails, and so does an entry of the list that
//! no document contains any more.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::running::{REPEATS, was_too_busy};

/// Prefix of the commands that need no installation.
const CARGO_RUN: &str = "cargo run -- ";

/// Returns the code blocks of a page in a language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let opening = format!("```{language}\n");
    let begins = page.match_indices(&opening);
    begins
        .filter_map(|(at, _)| page[at + opening.len()..].split("```").next())
        .collect()
}

/// Commands that begin with `cargo run -- ` must work before the program is installed.
#[test]
fn commands_before_the_installation_run() {
    let mut run = 0;
    for page in ["README.md", "docs/adapters.md"] {
        let page = fs::read_to_string(page).expect("a page");
        let lines = blocks(&page, "sh").into_iter().flat_map(str::lines);
        for line in lines {
            let Some(arguments) = line.strip_prefix(CARGO_RUN) else {
                continue;
            };
            let mut words = shell_words::split(arguments).expect("a command line");
            if let Some(python) = std::env::var_os("PICKLOCK_PYTHON") {
                let python = python.to_string_lossy();
                for word in &mut words {
                    *word = word.replace("exec:python3 ", &format!("exec:{python} "));
                }
            }
            let mut process = Command::new(env!("CARGO_BIN_EXE_picklock"));
            let [text, _] = ends_with(1, process.args(&words), line);
            assert!(
                text.starts_with("backend "),
                "{line}: the first line says where and why"
            );
            assert!(text.contains("outlived-lease"), "{line}\n{text}");
            run += 1;
        }
    }
    assert_eq!(run, 2, "two such runs are shown");
}

#[test]
fn the_scenario_of_the_docs_is_valid() {
    let page = include_str!("../../../docs/scenarios.md");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("late-delete.toml");
    fs::write(&path, blocks(page, "toml")[0]).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_picklock"))
        .arg("scenario")
        .arg(&path)
        .args(["--impl", "set-nx-px", "--backend", "sim", "--seed", "1"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("pause-client of client 0"), "{text}");
}

const INSTALLED_LOCALLY: &str =
    "scripts/test-packages installs the same package from a local file, and runs its example";

/// Commands that no test runs: the document, the command's prefix, and the reason.
const NOT_RUN: &[(&str, &str, &str)] = &[
    (
        "README.md",
        "curl -fsSL",
        "tests/e2e/install.rs runs the script that it fetches",
    ),
    ("docs/python.md", "pip install", INSTALLED_LOCALLY),
    ("docs/node.md", "npm install", INSTALLED_LOCALLY),
    ("docs/go.md", "go get", INSTALLED_LOCALLY),
    ("docs/csharp.md", "dotnet add", INSTALLED_LOCALLY),
    (
        "docs/proxy.md",
        "picklock proxy",
        "tests/e2e/real/proxy.rs starts it with free ports",
    ),
    (
        "docs/proxy.md",
        "curl",
        "tests/e2e/real/proxy.rs runs each of these commands",
    ),
    (
        "README.md",
        "cargo install --locked --path .",
        "it takes minutes; the suite builds the same program",
    ),
    (
        "docs/adapters.md",
        "pip install",
        "scripts/test does it; it needs a network",
    ),
    (
        "docs/adapters.md",
        "scripts/libraries node",
        "it needs a network; tests/e2e/real/languages.rs builds one library a language",
    ),
    (
        "docs/adapters.md",
        "picklock matrix --config adapters/picklock.toml",
        "it needs what scripts/libraries builds",
    ),
    (
        "docs/servers.md",
        "picklock scenario gc-pause --impl set-nx-px --redis",
        "tests/e2e/real/external.rs does so with a server of its own",
    ),
    (
        "README.md",
        "cd my-lock",
        "tests/e2e/real/languages.rs follows this section word for word",
    ),
    (
        "README.md",
        "picklock scenario gc-pause --impl my-lock",
        "tests/e2e/real/languages.rs follows this section word for word",
    ),
    (
        "README.md",
        "picklock gate",
        "tests/e2e/real/languages.rs follows this section word for word",
    ),
    (
        "docs/matrix.md",
        "picklock matrix --impl my-lock",
        "tests/e2e/real/reference.rs does so with such a lock",
    ),
    (
        "adapters/python/README.md",
        "python3 -m venv",
        "scripts/test makes such an environment; it needs a network",
    ),
    (
        "adapters/python/README.md",
        ".venv/bin/pip install",
        "scripts/test does it; it needs a network",
    ),
    (
        "adapters/python/README.md",
        "picklock scenario gc-pause --impl \"exec:",
        "the command of docs/adapters.md is the same, and runs; this one names the environment",
    ),
    (
        "docs/search.md",
        "picklock sweep",
        "tests/e2e/search.rs runs smaller ones; a search ends as its finds are",
    ),
    (
        "docs/search.md",
        "picklock hunt",
        "tests/e2e/search.rs runs a smaller one; it finds something, and says so with its exit code",
    ),
    (
        "docs/search.md",
        "picklock merge",
        "tests/e2e/search.rs joins parts of its own",
    ),
    ("README.md", "scripts/test", "it is what runs this test"),
    (
        "CONTRIBUTING.md",
        "cargo publish",
        "it makes a release; tests/architecture/packages.rs looks at what it would publish",
    ),
    (
        "CONTRIBUTING.md",
        "cargo build --workspace",
        "it is what builds this test",
    ),
    (
        "CONTRIBUTING.md",
        "scripts/pictures.mjs",
        "it writes the pictures of the docs anew",
    ),
    (
        "CONTRIBUTING.md",
        "cargo run -p picklock-lab -- gallery",
        "a test of the lab compares what it would write",
    ),
    (
        "CONTRIBUTING.md",
        "cargo run -p picklock-lab -- site",
        "a test of the lab writes the site and checks its links",
    ),
    (
        "docs/sentinel.md",
        "picklock scenario sentinel-failover",
        "tests/e2e/real/sentinels.rs runs the scenario; the machine must be fast enough for a failover in time",
    ),
    (
        "docs/cluster.md",
        "picklock scenario gc-pause --impl set-nx-px --redis",
        "tests/e2e/real/external.rs does so with a server of its own",
    ),
    (
        "docs/application.md",
        "picklock scenario crowd --impl \"exec:python3 adapters/examples",
        "tests/e2e/real/web_servers.rs runs it with both examples",
    ),
    (
        "docs/extending.md",
        "cargo run -- scenario lost-reply-long-work --impl resuming",
        "the page's own lock is not in the binary; tests/contributing builds and runs it",
    ),
    (
        "docs/extending.md",
        "scripts/test --update",
        "it writes the files with which the tests of this tier compare",
    ),
    (
        "docs/gate.md",
        "cargo run -- gate --config lab/gate/picklock.toml --update-baseline",
        "it writes the project's baseline anew; tests/e2e/gate.rs does so with others",
    ),
    (
        "docs/simulation.md",
        "PICKLOCK_SEEDS=1000",
        "the test that it names runs, with fewer seeds",
    ),
];

/// Files that the commands of the docs expect in their directory, with their origin.
const AT_HAND: &[&str] = &[
    "scenario gc-pause --impl redlock --backend sim --seed 3 --out run-1",
    "scenario calm --impl redlock --backend sim --seed 3 --out run-2",
    "matrix --backend sim --impl redlock --scenario calm --quiet --out matrix-1",
    "matrix --backend sim --impl redlock --scenario calm --quiet --out before",
    "matrix --backend sim --impl redlock --scenario calm --seed 2 --quiet --out after",
];

/// A command of a document.
struct Shown {
    document: String,
    command: String,
    /// Whether its output is shown, in a block of the language `console`, which trycmd runs.
    with_output: bool,
    /// The expected output: the `text` block that follows a block with this command alone. A line `...` matches any
    /// lines.
    prints: Option<String>,
}

/// Returns every document with commands for users or contributors.
fn documents() -> Vec<PathBuf> {
    let mut found = vec!["README.md".into(), "CONTRIBUTING.md".into()];
    let mut folders: Vec<PathBuf> = vec!["docs".into(), "adapters".into()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).expect("a folder of the repository");
        for path in entries.map(|entry| entry.expect("an entry").path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Returns the commands of one document: all lines of `sh` blocks, and in other blocks the lines that begin with a
/// prompt. An attribute such as `console,ignore` is refused, because it would hide a command.
fn commands(path: &Path) -> Vec<Shown> {
    let text = fs::read_to_string(path).expect("a document");
    let document = path.display().to_string();
    let mut shown = Vec::new();
    let mut language: Option<String> = None;
    for line in text.lines() {
        let line = line.trim_start();
        if let Some(opening) = line.strip_prefix("```") {
            language = match language {
                Some(_) => None,
                None => Some(opening.trim().to_owned()),
            };
            let quiet = opening.contains(',') && !opening.starts_with("rust");
            assert!(
                !quiet,
                "{document}: ```{opening}: list what is not run in NOT_RUN instead"
            );
            continue;
        }
        let Some(language) = &language else { continue };
        let command = match (language.as_str(), line.strip_prefix("$ ")) {
            (_, Some(command)) => command,
            ("sh" | "bash" | "shell", None) if !line.is_empty() && !line.starts_with('#') => line,
            _ => continue,
        };
        // A trailing comment is for the reader.
        let command = command.split("  #").next().unwrap_or(command).trim();
        shown.push(Shown {
            document: document.clone(),
            command: command.to_owned(),
            with_output: language == "console",
            prints: output_shown(&text, command),
        });
    }
    shown
}

/// Returns the `text` block that follows a block of `sh` with this command alone.
fn output_shown(page: &str, command: &str) -> Option<String> {
    let (_, after) = page.split_once(&format!("```sh\n{command}\n```\n\n```text\n"))?;
    let (output, _) = after.split_once("```")?;
    Some(output.to_owned())
}

/// Returns `true` if these lines were printed, where `...` matches any number of lines.
fn reads_as(shown: &[&str], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((&"...", rest)) => (0..=printed.len()).any(|skip| reads_as(rest, &printed[skip..])),
        Some((line, rest)) => {
            printed.first() == Some(line) && reads_as(rest, printed.get(1..).unwrap_or_default())
        }
    }
}

#[test]
fn output_that_differs_from_the_page_is_found() {
    assert!(reads_as(&["a", "...", "c", "..."], &["a", "b", "b", "c"]));
    assert!(!reads_as(&["a", "...", "c"], &["a", "b", "c", "d"]));
    assert!(!reads_as(&["a", "c"], &["a", "b", "c"]));
    let page = "```sh\nls\n```\n\n```text\na\n```\n\n```sh\nls -l\n```\n";
    assert_eq!(output_shown(page, "ls").as_deref(), Some("a\n"));
    assert_eq!(output_shown(page, "ls -l"), None);
}

fn is_listed(shown: &Shown) -> bool {
    let mut listed = NOT_RUN.iter();
    listed.any(|(document, begins, _)| {
        shown.document == *document && shown.command.starts_with(begins)
    })
}

#[test]
fn docs_show_the_real_output() {
    let cases = trycmd::TestCases::new();
    cases.env("NO_COLOR", "1").env("COLUMNS", "100");
    for path in documents() {
        let shown = commands(&path);
        let (theirs, ours): (Vec<&Shown>, Vec<&Shown>) = shown
            .iter()
            .filter(|one| one.with_output)
            .partition(|one| is_listed(one));
        if ours.is_empty() {
            continue;
        }
        assert!(
            theirs.is_empty(),
            "{}: trycmd would run `{}` as well: put it into a block of sh",
            path.display(),
            theirs[0].command
        );
        cases.case(&path);
    }
}

#[test]
fn every_command_of_the_docs_is_run_or_listed() {
    let all: Vec<Shown> = documents().iter().flat_map(|path| commands(path)).collect();
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join(".local/share/bash-completion/completions")).unwrap();
    for line in AT_HAND {
        shell(dir.path(), "", &format!("picklock {line}"));
    }
    let mut run = 0;
    for shown in &all {
        let Shown {
            document,
            command,
            with_output,
            prints,
        } = shown;
        // Other tests run these: trycmd, and the test of the commands before the installation.
        let elsewhere = *with_output && command.starts_with("picklock ")
            || ["README.md", "docs/adapters.md"].contains(&document.as_str())
                && command.starts_with(CARGO_RUN);
        if elsewhere || is_listed(shown) {
            continue;
        }
        assert!(
            command.starts_with("picklock "),
            "{document}: nothing runs `{command}`: run it, or list it in NOT_RUN with the reason"
        );
        // The command behind a pipe is a foreign program.
        let ours = command.split(" | ").next().unwrap_or(command);
        let text = shell(dir.path(), document, ours);
        if let Some(shown) = prints {
            let [shown, printed] = [shown, &text].map(|it| it.trim_end().lines().collect());
            let (shown, printed): (Vec<&str>, Vec<&str>) = (shown, printed);
            assert!(reads_as(&shown, &printed), "{document}: {command}\n{text}");
        }
        run += 1;
    }
    assert!(run >= 7, "only {run} commands of the docs were found");
    for (document, begins, reason) in NOT_RUN {
        let is_shown = all
            .iter()
            .any(|one| one.document == *document && one.command.starts_with(begins));
        assert!(
            is_shown,
            "{document} does not show `{begins}` any more ({reason})"
        );
    }
}

/// Runs a command like a reader who has installed picklock, and checks its exit code against its purpose: a `scenario
/// gc-pause`, its replay, and the reproductions of the gallery end in a violation.
fn shell(dir: &Path, document: &str, command: &str) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_picklock"));
    let folder = binary.parent().expect("a folder").display();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut process = Command::new("sh");
    process
        .args(["-c", command])
        .current_dir(dir)
        .env("PATH", format!("{folder}:{path}"))
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100")
        .env("HOME", dir);
    let violates = ["picklock scenario gc-pause", "picklock replay run-1"];
    let is_reproduction = document == "docs/causes.md";
    let expected = i32::from(is_reproduction || violates.iter().any(|it| command.starts_with(it)));
    let [text, _] = ends_with(expected, &mut process, command);
    text
}

/// Runs a process that must exit with this code, and returns its stdout and stderr. Repeats a run in which the machine
/// stalled, as the output asks the reader to do.
fn ends_with(expected: i32, process: &mut Command, shown: &str) -> [String; 2] {
    for repeat in 0..=REPEATS {
        let output = process.output().expect("it can be started");
        let said =
            [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
        let code = output.status.code();
        if code == Some(expected) {
            return said;
        }
        let again = repeat < REPEATS && said.iter().any(|text| was_too_busy(text));
        assert!(
            again,
            "{shown}\n{code:?}, and not {expected}\n{}",
            said.join("\n")
        );
    }
    unreachable!("the last run returns or fails");
}
