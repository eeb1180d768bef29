//! Runs every saved input through its target, so that bugs that fuzzing found stay fixed.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use picklock_fuzz_targets::corpus::{self, Input};
use picklock_fuzz_targets::{TARGETS, Target};

/// Maximum size of all corpora together, in bytes, because every clone contains them.
const MAX_BYTES: usize = 2 << 20;

/// Maximum number of inputs per target.
const MAX_INPUTS: usize = 500;

/// Returns the inputs that make a target panic, each with the command that reproduces the panic.
fn panics(target: &Target, inputs: &[Input]) -> Vec<String> {
    let mut found = Vec::new();
    for (index, input) in inputs.iter().enumerate() {
        if catch_unwind(|| (target.run)(&input.bytes)).is_err() {
            let (name, line) = (target.name, index + 1);
            found.push(format!(
                "{name} panics: lab/scripts/fuzz --line {line} {name}"
            ));
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

/// Generates one test per target, so that they run in parallel.
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
    assert_eq!(names, files());
}

#[test]
fn a_planted_panic_is_found() {
    let planted = Target {
        name: "planted",
        run: |input| assert!(!input.starts_with(b"name"), "planted"),
    };
    let inputs = of("scenario");
    let begins = |input: &&Input| input.bytes.starts_with(b"name");
    let expected = inputs.iter().filter(begins).count();
    assert!(expected > 0, "no scenario begins with its name");
    assert_eq!(panics(&planted, &inputs).len(), expected);
}

#[test]
fn the_inputs_stay_few_and_small() {
    let mut bytes = 0;
    for target in TARGETS {
        let inputs = of(target.name);
        assert!(
            inputs.len() <= MAX_INPUTS,
            "{}: {}",
            target.name,
            inputs.len()
        );
        bytes += inputs.iter().map(|input| input.bytes.len()).sum::<usize>();
    }
    assert!(bytes <= MAX_BYTES, "all inputs together have {bytes} bytes");
}

/// Returns the path of `lab/fuzz/`.
pub fn home() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("it lies in lab/fuzz/").to_owned()
}

/// Returns the inputs of a target, in the order of the lines: inputs that once broke something, and inputs that reach
/// different code.
pub fn of(target: &str) -> Vec<Input> {
    let path = home().join("corpus").join(format!("{target}.jsonl"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    corpus::read(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

/// Returns the names of the corpus files, without the extension.
pub fn files() -> Vec<String> {
    let entries = fs::read_dir(home().join("corpus")).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("the entry can be read").path());
    let name = |path: PathBuf| path.file_stem()?.to_str().map(str::to_owned);
    let mut names: Vec<String> = paths.filter_map(name).collect();
    names.sort();
    names
}
