//! The first line of a script: `#!lua flags=...`.

use super::super::ServerVersion;
use super::super::reply::{Refusal, refuse};

/// Splits off the first line of a script. Returns the rest, and whether the line promises not to write, or `None` if
/// there is no such line.
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
    // The line break stays, so that error texts count lines from the shebang.
    Ok((Some(no_writes), &body[end..]))
}
