//! Tests that must not run at the same time as others of their kind, in whatever process these are.

use std::fs::{File, OpenOptions};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

/// Held until it is dropped, or until the process ends, however it ends.
pub struct Exclusive {
    /// The lock lasts as long as the file is open.
    _file: File,
}

impl Exclusive {
    /// Waits until no other test holds the lock of this name: neither another thread nor another
    /// test binary of this workspace. It blocks the thread.
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
