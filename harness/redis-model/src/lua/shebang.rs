//! The first line of a script: `#!lua flags=...`.

use super::super::ServerVersion;
use super::super::reply::{Refusal, refuse};

/// Splits off the first line of a script if it begins with `#!`. Returns whether that line has the flag `no-writes`
/// (`None` if there is no such line), and the rest of the script.
pub(super) fn read(version: ServerVersion, body: &[u8]) -> Result<(Option<bool>, &[u8]), Refusal> {
    if !body.starts_with(b"#!") {
        return Ok((None, body));
    }
    if !version.since_70() {
        return refuse(
            "ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'",
        );
    }
    let Some(end) = body.iter().position(|byte| *byte == b'\n') else {
        return refuse("ERR Invalid script shebang");
    };
    let line = String::from_utf8_lossy(&body[2..end]);
    let mut words = line.split(' ');
    let engine = words.next().unwrap_or_default();
    if engine != "lua" {
        return refuse(format!("ERR Unexpected engine in script shebang: {engine}"));
    }
    let mut no_writes = false;
    for word in words {
        let Some(flags) = word.strip_prefix("flags=") else {
            return refuse(format!("ERR Unknown lua shebang option: {word}"));
        };
        for flag in flags.split(',').filter(|flag| !flag.is_empty()) {
            match flag {
                "no-writes" => no_writes = true,
                "allow-oom" | "allow-stale" | "no-cluster" | "allow-cross-slot-keys" => {}
                _ => return refuse(format!("ERR Unexpected flag in script shebang: {flag}")),
            }
        }
    }
    // The rest begins with the line break, so that the line numbers in errors stay correct.
    Ok((Some(no_writes), &body[end..]))
}
