//! The model of Redis is held to a real server: random transcripts, every reply equal.
//!
//! `PICKLOCK_TRANSCRIPTS=100000 cargo test --release -p picklock-redis-model differential` runs longer;
//! `PICKLOCK_SEED` chooses other transcripts. What it finds belongs into `regressions.rs`.

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use crate::transcript::{Bench, Step};

/// Transcripts in an ordinary test run.
const TRANSCRIPTS: u32 = 4000;

fn number_from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

fn runner() -> TestRunner {
    let cases = number_from_environment("PICKLOCK_TRANSCRIPTS").map_or(TRANSCRIPTS, |count| {
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
    let bench = std::cell::RefCell::new(Bench::start());
    let outcome = runner().run(&crate::grammar::transcripts(), |steps: Vec<Step>| {
        let compared = bench.borrow_mut().compare(&steps);
        compared.map_err(|difference| {
            // Connections are in an unknown state after a difference.
            *bench.borrow_mut() = Bench::start();
            TestCaseError::fail(difference)
        })
    });
    let bench = bench.into_inner();
    match outcome {
        // Where the model leaves something out, the rest of the transcript proves nothing.
        Ok(()) => assert!(
            bench.left_out * 20 < bench.transcripts,
            "{} of {} transcripts came to what the model leaves out",
            bench.left_out,
            bench.transcripts
        ),
        Err(TestError::Fail(reason, steps)) => {
            let lines: Vec<String> = steps.iter().map(Step::to_string).collect();
            panic!(
                "{}\n\nthe smallest transcript:\n{}",
                reason.message(),
                lines.join("\n")
            );
        }
        Err(other) => panic!("{other}"),
    }
}
