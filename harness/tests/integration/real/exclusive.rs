//! Mutual exclusion between tests, even in different processes.

use std::fs::{File, OpenOptions};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

/// The lock. It is held until this is dropped or the process exits for any reason.
pub struct Exclusive {
    /// The lock lasts as long as the file is open.
    _file: File,
}

impl Exclusive {
    /// Waits until no other test holds the lock of this name, in any thread or test binary of this workspace. Blocks
    /// the thread.
    pub fn take(name: &str) -> Exclusive {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.lock"));
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        flock(&file, FlockOperation::LockExclusive).unwrap();
        Exclusive { _file: file }
    }
}
