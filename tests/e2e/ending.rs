//! How commands end when they are interrupted, and when their output is lost.

use rustix::process::Signal;

use crate::real::leftovers::becomes;
use crate::running::picklock;

/// A scenario that takes hours to simulate.
const ENDLESS: &str = r#"
name = "endless"
summary = "More units than anybody can wait for."
[topology]
[workload]
kind = "flash-sale"
workers = 3
stock = 1000000000
section = "1ms"
limit = "160h"
[judge]
"#;

fn is_interrupted_by(signal: Signal, line: &str) {
    let mut run = picklock(line).file("endless.toml", ENDLESS).start();
    run.hear("backend sim");
    run.signal(signal);
    let outcome = run.finish().exits(130);
    assert!(outcome.stderr.contains("interrupted"), "{}", outcome.all());
    outcome.left_no_directory();
}

const ENDLESS_RUN: &str = "scenario endless.toml --impl redlock --backend sim --json";

#[test]
fn ctrl_c_ends_a_simulation() {
    is_interrupted_by(Signal::INT, ENDLESS_RUN);
}

#[test]
fn a_request_to_terminate_ends_a_simulation() {
    is_interrupted_by(Signal::TERM, ENDLESS_RUN);
}

#[test]
fn ctrl_c_ends_a_matrix_of_simulations() {
    let line = "matrix --scenario endless.toml --impl redlock --backend sim --json";
    is_interrupted_by(Signal::INT, line);
}

/// The main thread waits for ever, because the pipe has no space for the report.
#[test]
fn second_request_ends_a_process_that_cannot_write() {
    let run = picklock("scenario calm --impl set-nx-px --backend sim")
        .with_full_pipe()
        .start();
    let place = format!("/proc/{}/wchan", run.pid());
    becomes("it waits for the pipe", || {
        let waits_in = std::fs::read_to_string(&place).unwrap();
        if waits_in.contains("pipe_write") {
            Ok(())
        } else {
            Err(waits_in)
        }
    });
    // The system delivers signals that follow each other closely as one, so the second one may have to be repeated.
    let state = format!("/proc/{}/stat", run.pid());
    becomes("signals end it", || {
        run.signal(Signal::TERM);
        let state = std::fs::read_to_string(&state).unwrap();
        let has_ended = state.contains(") Z ");
        has_ended.then_some(()).ok_or(state)
    });
    run.finish().exits(130);
}

/// A program that reads the output must not mistake half of it for all of it.
#[test]
fn output_that_is_lost_is_an_error() {
    let lines = [
        "scenario calm --impl set-nx-px --backend sim",
        "scenario calm --impl set-nx-px --backend sim --json",
        "scenario gc-pause --impl set-nx-px --backend sim",
        "matrix --scenario calm --impl set-nx-px --backend sim",
        "list",
        "explain lease",
        "completions bash",
        "man",
        "--help",
        "scenario --help",
        "--version",
    ];
    for line in lines {
        let outcome = picklock(line).with_full_disk().run().exits(4);
        let says = "cannot write to standard output";
        assert!(outcome.stderr.contains(says), "{line}: {}", outcome.all());
    }
}
