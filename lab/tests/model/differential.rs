//! Compares the Redis model with a real server: random transcripts, in which every reply must be equal.
//!
//! `PICKLOCK_TRANSCRIPTS=100000 cargo test --release -p picklock-lab --test model differential` runs longer;
//! `PICKLOCK_SEED` selects other transcripts. Add any difference that it finds to `regressions.rs`.

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use picklock_redis_model::ServerVersion;

use crate::transcript::{Bench, Step};

/// The servers that `scripts/servers` installs, with the names of their directories.
const BROUGHT: [(ServerVersion, &str); 5] = [
    (ServerVersion::Redis62, "redis-6.2"),
    (ServerVersion::Redis70, "redis-7.0"),
    (ServerVersion::Redis80, "redis-8.0"),
    (ServerVersion::Valkey81, "valkey-8"),
    (ServerVersion::Valkey91, "valkey-9"),
];

/// Server crashes that do not count as a difference: the version, and a function in the stack of the crash report.
/// The transcript is run again on a new server; a second crash fails the test.
///
/// Redis 8.0.2 sometimes crashes in FUNCTION FLUSH, about once in 3,000 transcripts, some of which flush with ASYNC.
/// Valkey fixed a similar crash (valkey#1826).
const KNOWN_CRASHES: [(ServerVersion, &str); 1] =
    [(ServerVersion::Redis80, "functionFlushCommand")];

/// Number of transcripts in a normal test run.
const TRANSCRIPTS: u32 = 4000;

/// Number of servers of a version that run in parallel, each with a part of the transcripts. They mostly wait for
/// keys to expire.
const PARTS: u32 = 8;

fn number_from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

/// Returns the number of transcripts to compare, which is `ordinary` by default.
fn transcripts_or(ordinary: u32) -> u32 {
    number_from_environment("PICKLOCK_TRANSCRIPTS").map_or(ordinary, |count| {
        u32::try_from(count).expect("fewer transcripts")
    })
}

fn runner(cases: u32, part: u32) -> TestRunner {
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Config::default()
    };
    // Normal runs always use the same transcripts, so that a failing test keeps failing until it is fixed.
    let mut seed = [0; 32];
    let number = number_from_environment("PICKLOCK_SEED").unwrap_or(1);
    seed[..8].copy_from_slice(&number.to_le_bytes());
    seed[8..12].copy_from_slice(&part.to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
}

#[test]
fn model_answers_as_redis_does() {
    let program = Path::new("redis-server");
    if let Err(difference) = compare(ServerVersion::Redis70, program, TRANSCRIPTS) {
        panic!("{difference}");
    }
}

/// Returns the available servers: the system's, and the ones that `scripts/servers` installed.
pub fn servers() -> Vec<(ServerVersion, PathBuf)> {
    let here =
        (BROUGHT.iter()).filter_map(|(version, name)| Some((*version, real::brought(name)?)));
    std::iter::once((ServerVersion::Redis70, PathBuf::from("redis-server")))
        .chain(here)
        .collect()
}

/// Comparisons with the servers that `scripts/servers` installed.
mod real {
    use std::path::{Path, PathBuf};

    use super::{BROUGHT, ServerVersion, compare};

    /// Number of transcripts per server in a normal test run.
    const TRANSCRIPTS: u32 = 1000;

    /// Returns the server that `scripts/servers` installed in this directory, or `None` if it did not.
    pub fn brought(name: &str) -> Option<PathBuf> {
        let family = name.split('-').next().unwrap_or(name);
        let servers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/servers");
        let program = servers.join(name).join(format!("{family}-server"));
        program.exists().then_some(program)
    }

    #[test]
    fn model_answers_as_each_version_does() {
        let here: Vec<_> = (BROUGHT.iter())
            .filter_map(|(version, name)| Some((*version, brought(name)?)))
            .collect();
        assert!(
            !here.is_empty(),
            "no server is in target/servers: run scripts/servers"
        );
        let compared =
            (here.iter()).map(|(version, program)| compare(*version, program, TRANSCRIPTS));
        let differences: Vec<String> = compared.filter_map(Result::err).collect();
        assert!(differences.is_empty(), "{}", differences.join("\n\n"));
    }

    #[test]
    fn every_version_but_one_has_a_server() {
        let omitted: Vec<_> = (ServerVersion::ALL.into_iter())
            .filter(|version| BROUGHT.iter().all(|(one, _)| one != version))
            .collect();
        assert_eq!(omitted, [ServerVersion::Redis84]);
    }
}

/// Compares one transcript, and repeats it after a known crash of the server.
fn compare_one(
    bench: &RefCell<Bench>,
    (version, program): (ServerVersion, &Path),
    steps: &[Step],
) -> Result<(), String> {
    let mut has_crashed = false;
    loop {
        // A missing reply results in a panic.
        let compared = catch_unwind(AssertUnwindSafe(|| bench.borrow_mut().compare(steps)));
        if let Ok(Ok(())) = compared {
            if bench.borrow().is_spoilt {
                let next = bench.borrow().restart(version, program);
                bench.replace(next);
            }
            return Ok(());
        }
        // After a difference, the state of the connections is unknown.
        let next = bench.borrow().restart(version, program);
        let log = bench.replace(next).end();
        if let Ok(Err(difference)) = compared {
            return Err(difference);
        }
        if has_crashed || !is_known_crash(version, &log) {
            return Err(format!(
                "the server does not answer; the end of its log:\n{log}"
            ));
        }
        has_crashed = true;
    }
}

/// Returns `true` if the log of an exited server contains the report of a known crash.
fn is_known_crash(version: ServerVersion, log: &str) -> bool {
    let mut known = KNOWN_CRASHES.iter();
    known.any(|(one, function)| {
        *one == version
            && log.contains(" crashed by signal: ")
            && log.contains(&format!("({function}+"))
    })
}

#[test]
fn only_a_known_crash_is_no_difference() {
    let report = |function: &str| {
        format!(
            "# Redis 8.0.2 crashed by signal: 11, si_code: 1\nredis-server({function}+0x41) [0x7f]\n"
        )
    };
    let flush = report("functionFlushCommand");
    assert!(is_known_crash(ServerVersion::Redis80, &flush));
    assert!(!is_known_crash(ServerVersion::Redis70, &flush));
    assert!(!is_known_crash(
        ServerVersion::Redis80,
        &report("setCommand")
    ));
    assert!(!is_known_crash(
        ServerVersion::Redis80,
        "functionFlushCommand"
    ));
}

/// The result of a comparison without a difference.
#[derive(Default)]
struct Compared {
    transcripts: usize,
    /// Number of transcripts that use something the model leaves out.
    omitted: usize,
}

/// Compares random transcripts. The error describes the smallest transcript that differs.
fn compare(version: ServerVersion, program: &Path, ordinary: u32) -> Result<(), String> {
    let cases = transcripts_or(ordinary).div_ceil(PARTS);
    let parts: Vec<Result<Compared, String>> = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..PARTS)
            .map(|part| scope.spawn(move || compare_part(version, program, cases, part)))
            .collect();
        let ended = parts.into_iter().map(std::thread::ScopedJoinHandle::join);
        ended
            .map(|part| part.expect("a comparison does not panic"))
            .collect()
    });
    let mut whole = Compared::default();
    for part in parts {
        let part = part?;
        whole.transcripts += part.transcripts;
        whole.omitted += part.omitted;
    }
    let Compared {
        transcripts,
        omitted,
    } = whole;
    // After a command that the model leaves out, the rest of a transcript proves nothing.
    if omitted * 20 < transcripts {
        return Ok(());
    }
    Err(format!(
        "{version:?}: {omitted} of {transcripts} transcripts came to what the model leaves out"
    ))
}

/// Compares one part of the transcripts, on a separate server.
fn compare_part(
    version: ServerVersion,
    program: &Path,
    cases: u32,
    part: u32,
) -> Result<Compared, String> {
    let bench = RefCell::new(Bench::start(version, program));
    let transcripts = crate::grammar::transcripts();
    let outcome = runner(cases, part).run(&transcripts, |steps: Vec<Step>| {
        compare_one(&bench, (version, program), &steps).map_err(TestCaseError::fail)
    });
    let Bench {
        omitted,
        transcripts,
        ..
    } = bench.into_inner();
    match outcome {
        Ok(()) => Ok(Compared {
            transcripts,
            omitted,
        }),
        Err(TestError::Fail(reason, steps)) => {
            let lines: Vec<String> = steps.iter().map(Step::to_string).collect();
            let (reason, lines) = (reason.message(), lines.join("\n"));
            Err(format!(
                "{version:?}, part {part}: {reason}\n\nthe smallest transcript:\n{lines}"
            ))
        }
        Err(other) => Err(format!("{version:?}, part {part}: {other}")),
    }
}
