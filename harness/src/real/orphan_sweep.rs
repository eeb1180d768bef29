use std::path::PathBuf;

use super::{engine, run_dir};

/// What earlier runs left behind and was removed now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many containers.
    pub containers: usize,
    /// Which temporary directories.
    pub dirs: Vec<PathBuf>,
}

/// Removes what earlier runs left behind if their reaper could not: containers with the label of a
/// run, and directories with its marker. Their process must certainly be dead, so live runs, and
/// runs in other containers or on other machines, are not touched. A sweep never fails a run: what
/// cannot be removed is left to the next one.
pub async fn sweep() -> Swept {
    Swept {
        dirs: run_dir::sweep(&std::env::temp_dir()),
        containers: engine::sweep().await,
    }
}
