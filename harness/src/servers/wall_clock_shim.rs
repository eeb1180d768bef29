//! Shifts the wall clocks of real processes while they run.
//!
//! A small library is preloaded (`shim/wall_clock.c` says how it works), and each process has a
//! file with the offset of its clock. Only runs whose scenario has clock faults preload it; all
//! other runs use unmodified processes.
//!
//! It has no effect on programs that ask the kernel directly instead of libc: static programs, and
//! those written in Go. Servers are asked for their time, so a fault without effect is refused. For
//! workers only a check that they have loaded the library is possible.

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

/// A server may look at its wall clock only ten times a second, and answer from its monotonic clock in
/// between: it is asked so often, with this pause, before it counts as one that does not see the shift.
const LOOKS: u32 = 40;
const LOOK: Duration = Duration::from_millis(10);

/// Environment variables, by name.
type Variables<'a> = [(&'static str, &'a str); 2];

/// Files of the host, and their paths in a container.
type Files<'a> = [(&'a Path, &'static str); 2];

/// The library; empty if it could not be built.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/wall_clock.so"));

/// The variable from which the library reads the path of its file.
const FILE_VARIABLE: &str = "PICKLOCK_WALL_CLOCK";

/// The variable that makes the dynamic loader load it first.
const PRELOAD_VARIABLE: &str = "LD_PRELOAD";

/// Paths of the library and the file in a container.
const LIBRARY_IN_CONTAINER: &str = "/picklock-wall-clock.so";
const FILE_IN_CONTAINER: &str = "/picklock-wall-clock";

/// The library that shifts wall clocks, in the directory of a run.
#[derive(Debug, Clone)]
pub struct WallClockShim {
    library: PathBuf,
    dir: PathBuf,
}

impl WallClockShim {
    /// Writes the library into `dir`, or takes the one that is there. `None`: clocks cannot be shifted
    /// here. The library exists only for Linux on x86_64 and aarch64, and the loader does not accept
    /// paths that contain blanks or colons.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn install(dir: &Path) -> Result<Option<WallClockShim>, BackendError> {
        let doing = format!("write into {}", dir.display());
        // The path as it appears in `/proc/PID/maps`.
        let dir = dir.canonicalize().map_err(io_error(doing.clone()))?;
        let library = dir.join("wall-clock.so");
        let separates = |byte: &u8| byte.is_ascii_whitespace() || *byte == b':';
        let written_plainly = !library.as_os_str().as_encoded_bytes().iter().any(separates);
        if LIBRARY.is_empty() || !written_plainly {
            return Ok(None);
        }
        match File::create_new(&library) {
            Ok(_) => write_for_all(&library, LIBRARY).map(drop),
            // Never written again: a truncated file takes the pages of the programs that have loaded it,
            // with all that the loader had resolved in them, and they crash.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
        .map_err(io_error(doing))?;
        Ok(Some(WallClockShim { library, dir }))
    }

    /// A clock with offset zero for the process of this name.
    ///
    /// # Errors
    /// Its file cannot be written.
    pub fn clock(&self, name: &str) -> Result<ShiftedWallClock, BackendError> {
        let path = self.dir.join(format!("{name}.wall-clock"));
        let doing = format!("write {}", path.display());
        // All users may read it: in a container the server runs as another user.
        let file = write_for_all(&path, &[0; 24]).map_err(io_error(doing))?;
        let library = self.library.clone();
        let written = Mutex::new(Written {
            file,
            in_use: 0,
            off_ns: 0,
        });
        Ok(ShiftedWallClock {
            library,
            path,
            written,
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
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    file: File,
    /// Which of the two offsets in the file is in use.
    in_use: u8,
    off_ns: i64,
}

impl ShiftedWallClock {
    /// The environment with which the process must be started. Libraries that are already in the
    /// variable are preloaded after this one.
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

    /// The same for a container: its environment, and the files to mount.
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

    /// Sets the offset of the clock: forward by so many nanoseconds, or back if negative. Returns
    /// the offset before.
    ///
    /// # Errors
    /// Its file cannot be written.
    pub fn set_off(&self, off_ns: i64) -> Result<i64, BackendError> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let doing = format!("write {}", self.path.display());
        let other = 1 - written.in_use;
        let write = |bytes: &[u8], at| written.file.write_all_at(bytes, at);
        // First write the offset that is not in use, then the single byte that selects it.
        write(&off_ns.to_ne_bytes(), 8 + 8 * u64::from(other))
            .and_then(|()| write(&i64::from(other).to_ne_bytes(), 0))
            .map_err(io_error(doing))?;
        written.in_use = other;
        Ok(std::mem::replace(&mut written.off_ns, off_ns))
    }

    /// True when a process of the group that `leader` leads has loaded the library.
    pub fn is_loaded_by(&self, leader: u32) -> bool {
        let library = self.library.as_os_str().as_encoded_bytes();
        let of_the_group =
            |pid: &u32| ProcessStat::for_process(*pid).is_ok_and(|stat| stat.group == leader);
        let all = all_processes().unwrap_or_default();
        all.into_iter().filter(of_the_group).any(|pid| {
            let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
            memchr::memmem::find(&maps, library).is_some()
        })
    }
}

/// Shifts a server's clock, and checks that the server sees it.
/// `Err`: it has no clock that can be shifted, does not answer, or does not see the shift. The offset
/// stays written, so a dead server has it when it comes back.
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
        // The time must be nearer to the new offset than to the old one. So no bound on the time of an
        // answer is needed.
        if seen_ns.abs_diff(off_ns) <= seen_ns.abs_diff(before_ns) {
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
    Err(BackendError::ClockNotShifted(name.to_owned()))
}
