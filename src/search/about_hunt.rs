//! What the record of a hunt says of how it was asked for.

use picklock_harness::record::SearchKind;
use picklock_scenarios::BackendName;

use super::cli::HuntArgs;
use super::report::About;

/// What the record of a hunt says besides what was tried.
pub fn about(args: &HuntArgs, nodes: usize, backend: BackendName, latencies: &str) -> About {
    About {
        kind: SearchKind::Hunt,
        depth: None,
        workload: None,
        scenario_hash: None,
        runs: args.runs,
        plain: args.plain,
        vocabulary: Vec::new(),
        patterns: 0,
        backend,
        unrepeated: 0,
        fixed: vec![
            format!("plans drawn from seed {}", args.search.seed),
            latencies.to_owned(),
            picklock_reports::units::count(nodes, "node"),
        ],
        command: command(args),
    }
}

/// The command that repeats it.
fn command(args: &HuntArgs) -> Vec<String> {
    let mut words = vec!["hunt".to_owned()];
    words.extend(args.search.words());
    if let Some(runs) = args.runs {
        words.extend(["--runs".to_owned(), runs.to_string()]);
    }
    if let Some(time) = args.time {
        words.extend(["--for".to_owned(), time.to_string()]);
    }
    if let Some(word) = args.backend.word() {
        words.extend(["--backend".to_owned(), word.to_owned()]);
    }
    if args.plain {
        words.push("--plain".to_owned());
    }
    words
}
