//! The README does not lie: every command in it is run, and every output is what comes out.

use std::process::Command;

const README: &str = include_str!("../README.md");

/// Blocks of the README in that language.
fn blocks(language: &str) -> Vec<&'static str> {
    let opening = format!("```{language}\n");
    let begins = README.match_indices(&opening);
    begins
        .filter_map(|(at, _)| README[at + opening.len()..].split("```").next())
        .collect()
}

#[test]
fn what_the_readme_shows_is_what_comes_out() {
    trycmd::TestCases::new()
        .env("NO_COLOR", "1")
        .case("README.md");
}

#[test]
fn the_commands_of_the_readme_run() {
    let lines = blocks("sh").into_iter().flat_map(str::lines);
    let mut run = 0;
    for line in lines {
        // `scripts/test` is what runs this test; `pip` is run by it.
        let Some(arguments) = line.strip_prefix("cargo run -- ") else {
            assert!(
                line == "scripts/test" || line.starts_with("pip install"),
                "{line}"
            );
            continue;
        };
        let mut words = shell_words::split(arguments).expect("a command line");
        if let Some(python) = std::env::var_os("PICKLOCK_PYTHON") {
            let python = python.to_string_lossy();
            for word in &mut words {
                *word = word.replace("exec:python3 ", &format!("exec:{python} "));
            }
        }
        let output = Command::new(env!("CARGO_BIN_EXE_picklock"))
            .args(&words)
            .output()
            .expect("the binary runs");
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}\n{text}\n{errors}");
        assert!(
            text.starts_with("backend "),
            "{line}: the first line says where and why"
        );
        assert!(text.contains("outlived-lease"), "{line}\n{text}");
        run += 1;
    }
    assert_eq!(run, 2, "the README shows two runs");
}

#[test]
fn the_scenario_of_the_readme_is_valid() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("late-delete.toml");
    std::fs::write(&path, blocks("toml")[0]).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_picklock"))
        .arg("scenario")
        .arg(&path)
        .args(["--impl", "set-nx-px", "--backend", "sim", "--seed", "1"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("pause-client of worker 0"), "{text}");
}
