//! Shifts the wall clocks of real processes while they run.
//!
//! A small library is preloaded (described in `shim/wall_clock.c`), and each process has a file with the offset of its
//! clock. The library is preloaded only in runs whose scenario has clock faults; all other runs use unmodified
//! processes.
//!
//! The library has no effect on programs that call the kernel directly instead of libc: static programs, and programs
//! written in Go. The harness checks the time of servers, and refuses a fault without effect. For workers, it can only
//! check that they have loaded the library.

use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::error::io_error;
use super::{BackendError, ServerAddress, server_queries};
use crate::process_stat::{ProcessStat, all_processes};

/// Number of checks after which a server counts as unaffected by the shift. Several checks are needed, because a server
/// may read its wall clock only ten times a second, and derive the time in between from its monotonic clock.
const LOOKS: u32 = 40;
/// Pause between two checks.
const LOOK: Duration = Duration::from_millis(10);

/// Environment variables, by name.
type Variables<'a> = [(&'static str, &'a str); 2];

/// Files of the host, and their paths in a container.
type Files<'a> = [(&'a Path, &'static str); 2];

/// The library. Empty if it could not be built.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/wall_clock.so"));

/// Environment variable from which the library reads the path of the offset file.
const FILE_VARIABLE: &str = "PICKLOCK_WALL_CLOCK";

/// Environment variable that makes the dynamic loader load the library first.
const PRELOAD_VARIABLE: &str = "LD_PRELOAD";

/// Path of the library in a container.
const LIBRARY_IN_CONTAINER: &str = "/picklock-wall-clock.so";
/// Path of the offset file in a container.
const FILE_IN_CONTAINER: &str = "/picklock-wall-clock";

/// The library that shifts wall clocks, in the directory of a run.
#[derive(Debug, Clone)]
pub struct WallClockShim {
    library: PathBuf,
    dir: PathBuf,
}

impl WallClockShim {
    /// Writes the library into `dir`, unless it is already there. Returns `None` if clocks cannot be shifted on this
    /// machine: the library exists only for Linux on x86_64 and aarch64, and the loader does not accept paths that
    /// contain spaces or colons.
    ///
    /// # Errors
    /// Returns an error if the directory is not writable.
    pub fn install(dir: &Path) -> Result<Option<WallClockShim>, BackendError> {
        let doing = format!("write into {}", dir.display());
        // Use the canonical path, which also appears in `/proc/PID/maps`.
        let dir = dir.canonicalize().map_err(io_error(doing.clone()))?;
        let library = dir.join("wall-clock.so");
        let separates = |byte: &u8| byte.is_ascii_whitespace() || *byte == b':';
        let has_separator = library.as_os_str().as_encoded_bytes().iter().any(separates);
        if LIBRARY.is_empty() || has_separator {
            return Ok(None);
        }
        match File::create_new(&library) {
            Ok(_) => write_for_all(&library, LIBRARY).map(drop),
            // The file is never rewritten. Truncating it would remove its pages from the programs that have loaded it,
            // and these programs would crash.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
        .map_err(io_error(doing))?;
        Ok(Some(WallClockShim { library, dir }))
    }

    /// Creates a clock with offset zero for the process of this name.
    ///
    /// # Errors
    /// Returns an error if its file cannot be written.
    pub fn clock(&self, name: &str) -> Result<ShiftedWallClock, BackendError> {
        let path = self.dir.join(format!("{name}.wall-clock"));
        let doing = format!("write {}", path.display());
        // All users may read the file, because a server in a container runs as another user.
        let file = write_for_all(&path, &[0; 24]).map_err(io_error(doing))?;
        let library = self.library.clone();
        let state = Mutex::new(OffsetFile {
            file,
            in_use: 0,
            off_ns: 0,
        });
        Ok(ShiftedWallClock {
            library,
            path,
            state,
        })
    }
}

fn write_for_all(path: &Path, bytes: &[u8]) -> std::io::Result<File> {
    std::fs::write(path, bytes)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644))?;
    std::fs::OpenOptions::new().write(true).open(path)
}

/// The wall clock of one process and its descendants.
#[derive(Debug)]
pub struct ShiftedWallClock {
    library: PathBuf,
    path: PathBuf,
    state: Mutex<OffsetFile>,
}

#[derive(Debug)]
struct OffsetFile {
    file: File,
    /// Index of the offset in the file that is in use.
    in_use: u8,
    off_ns: i64,
}

impl ShiftedWallClock {
    /// Returns the environment with which the process must be started. Libraries that are already in the variable are
    /// preloaded after this library.
    pub fn environment(&self) -> [(&'static str, OsString); 2] {
        let mut preload = self.library.clone().into_os_string();
        if let Some(others) = std::env::var_os(PRELOAD_VARIABLE) {
            preload.push(":");
            preload.push(others);
        }
        [
            (PRELOAD_VARIABLE, preload),
            (FILE_VARIABLE, self.path.clone().into_os_string()),
        ]
    }

    /// Returns the environment for a container, and the files to mount.
    pub(super) fn in_container(&self) -> (Variables<'_>, Files<'_>) {
        (
            [
                (PRELOAD_VARIABLE, LIBRARY_IN_CONTAINER),
                (FILE_VARIABLE, FILE_IN_CONTAINER),
            ],
            [
                (&self.library, LIBRARY_IN_CONTAINER),
                (&self.path, FILE_IN_CONTAINER),
            ],
        )
    }

    /// Sets the offset of the clock in nanoseconds (negative: back). Returns the previous offset.
    ///
    /// # Errors
    /// Returns an error if its file cannot be written.
    pub fn set_off(&self, off_ns: i64) -> Result<i64, BackendError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let doing = format!("write {}", self.path.display());
        let other = 1 - state.in_use;
        let write = |bytes: &[u8], at| state.file.write_all_at(bytes, at);
        // First write the offset that is not in use, then the single byte that selects it.
        write(&off_ns.to_ne_bytes(), 8 + 8 * u64::from(other))
            .and_then(|()| write(&i64::from(other).to_ne_bytes(), 0))
            .map_err(io_error(doing))?;
        state.in_use = other;
        Ok(std::mem::replace(&mut state.off_ns, off_ns))
    }

    /// Returns `true` if a process of the group that `leader` leads has loaded the library.
    pub fn is_loaded_by(&self, leader: u32) -> bool {
        let library = self.library.as_os_str().as_encoded_bytes();
        let is_member =
            |pid: &u32| ProcessStat::for_process(*pid).is_ok_and(|stat| stat.group == leader);
        let all = all_processes().unwrap_or_default();
        all.into_iter().filter(is_member).any(|pid| {
            let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
            memchr::memmem::find(&maps, library).is_some()
        })
    }
}

/// Shifts a server's clock, and checks that the server sees it.
///
/// # Errors
/// Returns an error if the clock cannot be shifted, or the server does not answer or does not see the shift. The offset
/// is written in any case, so a dead server has it after its restart.
pub(super) async fn set_off(
    name: &str,
    address: ServerAddress,
    wall_clock: Option<&ShiftedWallClock>,
    off_ns: i64,
) -> Result<(), BackendError> {
    let Some(wall_clock) = wall_clock else {
        return Err(BackendError::FixedClock(name.to_owned()));
    };
    let before_ns = wall_clock.set_off(off_ns)?;
    for _ in 0..LOOKS {
        let seen_ns = server_queries::lead_of_wall_clock(address).await?;
        // The server's time must be nearer to the new offset than to the old one. With this criterion, no limit on the
        // duration of an answer is needed.
        if seen_ns.abs_diff(off_ns) <= seen_ns.abs_diff(before_ns) {
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
    Err(BackendError::ClockNotShifted(name.to_owned()))
}
