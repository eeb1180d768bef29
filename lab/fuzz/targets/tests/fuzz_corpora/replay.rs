//! Plays the kept inputs.

use std::fs;
use std::panic::catch_unwind;
use std::path::PathBuf;

use picklock_fuzz_targets::{TARGETS, Target};

use crate::inputs::{folders, home, of};

/// All corpora together, bytes: they are in every clone.
const MOST_BYTES: u64 = 2 << 20;

/// Inputs of one target.
const MOST_INPUTS: usize = 500;

/// The inputs that make a target panic, each with the command that repeats it.
fn panics(target: &Target, inputs: &[PathBuf]) -> Vec<String> {
    let mut found = Vec::new();
    for path in inputs {
        let input = fs::read(path).expect("the input can be read");
        if catch_unwind(|| (target.run)(&input)).is_err() {
            let (name, path) = (target.name, path.display());
            found.push(format!("{name} panics: scripts/fuzz --input {path} {name}"));
        }
    }
    found
}

fn replay(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name);
    let target = target.expect("there is such a target");
    let inputs = of(name);
    assert!(inputs.len() >= 10, "{name}: where are its inputs?");
    let found = panics(target, &inputs);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// One test for each target, so that they run at the same time.
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                replay(stringify!($name));
            }
        )*

        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

tests! {
    adapter_protocol,
    configuration,
    history,
    lua_script,
    resp_replies,
    resp_requests,
    run_record,
    scenario,
    transcript,
}

#[test]
fn every_target_is_replayed_and_is_a_program() {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(names, TESTED);
    let manifest = fs::read_to_string(home().join("Cargo.toml")).expect("a manifest");
    let manifest: toml::Table = manifest.parse().expect("a manifest is TOML");
    let programs = manifest["bin"].as_array().expect("programs");
    let programs = programs.iter().map(|program| program["name"].as_str());
    let mut programs: Vec<&str> = programs.flatten().collect();
    programs.sort_unstable();
    assert_eq!(names, programs);
    for kind in ["corpus", "kept"] {
        for folder in folders(kind) {
            assert!(
                names.contains(&folder.as_str()),
                "fuzz/{kind}/{folder}: of what?"
            );
        }
    }
}

#[test]
fn a_planted_panic_is_found() {
    let planted = Target {
        name: "planted",
        run: |input| assert!(!input.starts_with(b"name"), "planted"),
    };
    let inputs = of("scenario");
    let begins = |path: &PathBuf| fs::read(path).is_ok_and(|input| input.starts_with(b"name"));
    let expected = inputs.iter().filter(|path| begins(path)).count();
    assert!(expected > 0, "no scenario begins with its name");
    assert_eq!(panics(&planted, &inputs).len(), expected);
}

#[test]
fn the_inputs_stay_few_and_small() {
    let mut bytes = 0;
    for target in TARGETS {
        let inputs = of(target.name);
        assert!(
            inputs.len() <= MOST_INPUTS,
            "{}: {}",
            target.name,
            inputs.len()
        );
        let sizes = inputs
            .iter()
            .map(|path| fs::metadata(path).map_or(0, |it| it.len()));
        bytes += sizes.sum::<u64>();
    }
    assert!(
        bytes <= MOST_BYTES,
        "all inputs together have {bytes} bytes"
    );
}
