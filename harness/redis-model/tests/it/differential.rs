//! The model of Redis is held to a real server: random transcripts, every reply equal.
//!
//! `PICKLOCK_TRANSCRIPTS=100000 cargo test --release -p picklock-redis-model differential` runs longer;
//! `PICKLOCK_SEED` chooses other transcripts. What it finds belongs into `regressions.rs`.

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use picklock_redis_model::ServerVersion;

use crate::transcript::{Bench, Step};

/// The servers that `scripts/servers` brings, by the names of their directories.
const BROUGHT: [(ServerVersion, &str); 5] = [
    (ServerVersion::Redis62, "redis-6.2"),
    (ServerVersion::Redis70, "redis-7.0"),
    (ServerVersion::Redis80, "redis-8.0"),
    (ServerVersion::Valkey81, "valkey-8"),
    (ServerVersion::Valkey91, "valkey-9"),
];

/// Transcripts in an ordinary test run.
const TRANSCRIPTS: u32 = 4000;

fn number_from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

fn runner(ordinary: u32) -> TestRunner {
    let cases = number_from_environment("PICKLOCK_TRANSCRIPTS").map_or(ordinary, |count| {
        u32::try_from(count).expect("fewer transcripts")
    });
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Config::default()
    };
    // The same transcripts in every ordinary run: a red test must stay red until it is repaired.
    let mut seed = [0; 32];
    let number = number_from_environment("PICKLOCK_SEED").unwrap_or(1);
    seed[..8].copy_from_slice(&number.to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
}

#[test]
fn model_answers_as_redis_does() {
    let program = Path::new("redis-server");
    if let Err(difference) = compare(ServerVersion::Redis70, program, TRANSCRIPTS) {
        panic!("{difference}");
    }
}

/// The servers that are here: the system's, and those that `scripts/servers` has brought.
pub fn servers() -> Vec<(ServerVersion, PathBuf)> {
    let here =
        (BROUGHT.iter()).filter_map(|(version, name)| Some((*version, real::brought(name)?)));
    std::iter::once((ServerVersion::Redis70, PathBuf::from("redis-server")))
        .chain(here)
        .collect()
}

/// On the servers that `scripts/servers` has brought.
mod real {
    use std::path::{Path, PathBuf};

    use super::{BROUGHT, ServerVersion, compare};

    /// Transcripts on each server in an ordinary test run.
    const TRANSCRIPTS: u32 = 1000;

    /// The server that `scripts/servers` has brought into this directory; `None` if it has not.
    pub fn brought(name: &str) -> Option<PathBuf> {
        let family = name.split('-').next().unwrap_or(name);
        let servers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/servers");
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
        let left_out: Vec<_> = (ServerVersion::ALL.into_iter())
            .filter(|version| BROUGHT.iter().all(|(one, _)| one != version))
            .collect();
        assert_eq!(left_out, [ServerVersion::Redis84]);
    }
}

/// Compares random transcripts. The error is the smallest one that differs.
fn compare(version: ServerVersion, program: &Path, ordinary: u32) -> Result<(), String> {
    let start = || Bench::start(version, program);
    let bench = std::cell::RefCell::new(start());
    let outcome = runner(ordinary).run(&crate::grammar::transcripts(), |steps: Vec<Step>| {
        // A reply that does not come ends in a panic, and is a difference too.
        let compare = AssertUnwindSafe(|| bench.borrow_mut().compare(&steps));
        let compared = catch_unwind(compare);
        let compared = compared.unwrap_or_else(|_| Err("the server does not answer".into()));
        compared.map_err(|difference| {
            // Connections are in an unknown state after a difference.
            *bench.borrow_mut() = start();
            TestCaseError::fail(difference)
        })
    });
    let Bench {
        left_out,
        transcripts,
        ..
    } = bench.into_inner();
    match outcome {
        // Where the model leaves something out, the rest of the transcript proves nothing.
        Ok(()) if left_out * 20 < transcripts => Ok(()),
        Ok(()) => Err(format!(
            "{version:?}: {left_out} of {transcripts} transcripts came to what the model leaves out"
        )),
        Err(TestError::Fail(reason, steps)) => {
            let lines: Vec<String> = steps.iter().map(Step::to_string).collect();
            let (reason, lines) = (reason.message(), lines.join("\n"));
            Err(format!(
                "{version:?}: {reason}\n\nthe smallest transcript:\n{lines}"
            ))
        }
        Err(other) => Err(format!("{version:?}: {other}")),
    }
}
