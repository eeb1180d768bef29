use std::path::PathBuf;

use super::{engine, run_dir};

/// What earlier runs had left behind and is removed now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many containers.
    pub containers: usize,
    /// Which temporary directories.
    pub dirs: Vec<PathBuf>,
}

/// Removes what runs left behind whose process is certainly dead, and whose reaper could not do
/// it: containers with our label, and directories with our marker. Nothing of a living run, of
/// another container's or of another machine's is touched. What cannot be removed is left to the
/// next one: a sweep never fails a run.
pub async fn sweep() -> Swept {
    Swept {
        dirs: run_dir::sweep(&std::env::temp_dir()),
        containers: engine::sweep().await,
    }
}
