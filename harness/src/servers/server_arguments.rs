use std::path::Path;

use picklock_scenarios::Persistence;

use super::{BackendError, Layout, WallClockShim};

/// Installs the library that shifts wall clocks in `dir`, if the layout needs it and this machine
/// supports it.
pub(super) fn clock_shim(
    layout: Layout,
    dir: &Path,
) -> Result<Option<WallClockShim>, BackendError> {
    if layout.clocks_shift {
        WallClockShim::install(dir)
    } else {
        Ok(None)
    }
}

/// The arguments of every server of a run, in either backend.
///
/// No configuration file of the host is read. All other settings keep Redis's defaults, so that the
/// service under test is the one that people run. That includes `hz`: a lock's key expires exactly,
/// because every access checks it. The only deviation is that a replica's first synchronisation
/// starts at once instead of after five seconds.
pub(super) fn arguments(persistence: Persistence) -> Vec<String> {
    let mut arguments =
        words("--daemonize no --repl-diskless-sync yes --repl-diskless-sync-delay 0");
    arguments.extend(match persistence {
        Persistence::None => no_snapshots("--appendonly no"),
        // Redis's default save points, in the form that old servers also accept.
        Persistence::Rdb => words("--save 3600 1 --save 300 100 --save 60 10000 --appendonly no"),
        Persistence::AofEverysec => no_snapshots(
            // The file is never rewritten, so that its tail can be cut off.
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
