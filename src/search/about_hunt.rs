//! The part of a hunt's record that states the request.

use picklock_harness::record::{Coverage, SearchKind, SearchSettings};
use picklock_scenarios::BackendName;

use super::cli::HuntArgs;
use super::report::About;

/// Returns a hunt's record, without the results.
pub fn about(args: &HuntArgs, nodes: usize, backend: BackendName, latencies: &str) -> About {
    let fixed = vec![
        format!("plans drawn from seed {}", args.search.seed),
        latencies.to_owned(),
        picklock_reports::units::count(nodes, "node"),
    ];
    About {
        kind: SearchKind::Hunt,
        depth: None,
        backend,
        settings: SearchSettings {
            runs: args.runs,
            uniform: args.uniform,
            ..SearchSettings::default()
        },
        coverage: Coverage {
            fixed,
            ..Coverage::default()
        },
        command: command(args),
        next: 0,
    }
}

/// Returns the command that repeats the hunt.
fn command(args: &HuntArgs) -> Vec<String> {
    let backend = args.backend.servers();
    let own = [
        ("runs", args.runs.map(|it| it.to_string())),
        ("for", args.time.map(|it| it.to_string())),
        ("backend", backend.map(|it| it.to_string())),
    ];
    let mut words = args.search.command("hunt", own);
    if args.unavoidable {
        words.push("--unavoidable".to_owned());
    }
    if args.uniform {
        words.push("--uniform".to_owned());
    }
    words
}
