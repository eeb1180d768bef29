use std::path::Path;

use picklock_scenarios::Persistence;

use super::{Layout, WallShim, WorldError};

/// Where the servers' wall clocks are to be shifted, and can be: what it takes, in `dir`.
pub(super) fn walls(layout: Layout, dir: &Path) -> Result<Option<WallShim>, WorldError> {
    if layout.clocks_shift {
        WallShim::install(dir)
    } else {
        Ok(None)
    }
}

/// What every server of a run is told, in either world.
///
/// No configuration file of the host is read, and what is not named here stays at Redis's own
/// default, `hz` included: a lock's key expires exactly, because every access checks, and the
/// service under test should be the one that people run. The only deviation is that a replica's
/// first synchronisation starts at once instead of after five seconds.
pub(super) fn arguments(persistence: Persistence) -> Vec<String> {
    let mut arguments =
        words("--daemonize no --repl-diskless-sync yes --repl-diskless-sync-delay 0");
    arguments.extend(match persistence {
        Persistence::None => no_snapshots("--appendonly no"),
        // Redis's own default points, in the form that old servers know as well.
        Persistence::Rdb => words("--save 3600 1 --save 300 100 --save 60 10000 --appendonly no"),
        Persistence::AofEverysec => no_snapshots(
            // One file, never rewritten: its tail can be cut off.
            "--appendonly yes --appendfsync everysec --auto-aof-rewrite-percentage 0",
        ),
        Persistence::AofAlways => no_snapshots("--appendonly yes --appendfsync always"),
    });
    arguments
}

fn no_snapshots(others: &str) -> Vec<String> {
    let mut arguments = vec!["--save".to_owned(), String::new()];
    arguments.extend(words(others));
    arguments
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}
