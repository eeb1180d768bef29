//! Edge cases of `cjson`, `table.insert` and script conversions, on the model and on each real server.
//!
//! `json.txt` and `interface.txt` contain one script per line.

use crate::differential::servers;
use crate::transcript::{Bench, Step};

/// Converts scripts, one per line, to steps of one client.
fn steps(scripts: &[u8]) -> Vec<Step> {
    let scripts = scripts.split(|byte| *byte == b'\n');
    scripts
        .filter(|script| !script.is_empty())
        .map(|script| Step {
            client: 0,
            words: vec![b"EVAL".to_vec(), script.to_vec(), b"0".to_vec()],
        })
        .collect()
}

/// Runs these steps on each server and on the model.
fn compare_on_each_server(steps: &[Step]) {
    for (version, program) in servers() {
        let mut bench = Bench::start(version, &program);
        if let Err(difference) = bench.compare(steps) {
            let lines: Vec<&str> = difference.lines().collect();
            let end = &lines[lines.len().saturating_sub(3)..];
            panic!("{version:?}: {}", end.join("\n"));
        }
        assert_eq!(bench.omitted, 0, "{version:?}");
    }
}

#[test]
fn libraries_answer_as_on_each_server() {
    compare_on_each_server(&steps(include_bytes!("json.txt")));
}

#[test]
fn scripts_convert_and_complain_as_on_each_server() {
    let plain = steps(include_bytes!("interface.txt"));
    compare_on_each_server(&plain);
    let hello = vec![Step::parse("0: HELLO 3")];
    compare_on_each_server(&[hello, plain].concat());
}
