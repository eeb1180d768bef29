//! Wall clocks of real processes that can be set wrong while the processes run.
//!
//! A small library is preloaded (`shim/wall_clock.c` says how it works), and each process has a
//! file that says by how much its clock is off. Only runs whose scenario has a fault of clocks do
//! this to their servers and workers; all others run what people run.
//!
//! What asks the kernel itself instead of libc is out of reach: static programs, and those written
//! in Go. Servers are asked for their time, so that a fault that does not take hold is refused;
//! of a worker it can only be seen whether it has loaded the library.

use std::ffi::OsString;
use std::fs::File;
use std::net::SocketAddr;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::error::io_error;
use super::{WorldError, probe};
use crate::process_stat::{ProcessStat, all_processes};

/// Environment variables, by name.
type Variables<'a> = [(&'static str, &'a str); 2];

/// Files of ours, and where a container finds them.
type Files<'a> = [(&'a Path, &'static str); 2];

/// The library; empty where it could not be built.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/wall_clock.so"));

/// Where the library reads the name of its file.
const FILE_VARIABLE: &str = "PICKLOCK_WALL_CLOCK";

/// The variable by which the dynamic loader is told to load it first.
const PRELOAD_VARIABLE: &str = "LD_PRELOAD";

/// Where library and file are in a container.
const LIBRARY_IN_CONTAINER: &str = "/picklock-wall-clock.so";
const FILE_IN_CONTAINER: &str = "/picklock-wall-clock";

/// The library that shifts wall clocks, in the directory of a run.
#[derive(Debug, Clone)]
pub struct WallShim {
    library: PathBuf,
    dir: PathBuf,
}

impl WallShim {
    /// Writes the library into `dir`. `None`: clocks cannot be shifted here. The library is built
    /// for Linux on x86_64 and aarch64 only, and the loader knows no way to write a path with a
    /// blank or a colon in it.
    ///
    /// # Errors
    /// Where the directory cannot be written.
    pub fn install(dir: &Path) -> Result<Option<WallShim>, WorldError> {
        let doing = format!("write into {}", dir.display());
        // As the kernel names it when it tells what a process has loaded.
        let dir = dir.canonicalize().map_err(io_error(doing.clone()))?;
        let library = dir.join("wall-clock.so");
        let separates = |byte: &u8| byte.is_ascii_whitespace() || *byte == b':';
        let written_plainly = !library.as_os_str().as_encoded_bytes().iter().any(separates);
        if LIBRARY.is_empty() || !written_plainly {
            return Ok(None);
        }
        write_for_all(&library, LIBRARY).map_err(io_error(doing))?;
        Ok(Some(WallShim { library, dir }))
    }

    /// A clock that is right, for the process of this name.
    ///
    /// # Errors
    /// Where its file cannot be written.
    pub fn clock(&self, name: &str) -> Result<ShiftedWall, WorldError> {
        let path = self.dir.join(format!("{name}.wall-clock"));
        let doing = format!("write {}", path.display());
        // Everybody may read it: in a container the server is somebody else.
        let file = write_for_all(&path, &[0; 24]).map_err(io_error(doing))?;
        let library = self.library.clone();
        let written = Mutex::new(Written {
            file,
            in_use: 0,
            off_ns: 0,
        });
        Ok(ShiftedWall {
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

/// The wall clock of one process, or of all that it starts.
#[derive(Debug)]
pub struct ShiftedWall {
    library: PathBuf,
    path: PathBuf,
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    file: File,
    /// Which of the two offsets in the file counts.
    in_use: u8,
    off_ns: i64,
}

impl ShiftedWall {
    /// What the process must find in its environment when it starts. A library that was to be
    /// preloaded anyway comes after ours.
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

    /// The same for a container: its environment, and which file of ours is where in it.
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

    /// From now on the clock is ahead by so many nanoseconds, or behind. Returns by how many it
    /// was before.
    ///
    /// # Errors
    /// Where its file cannot be written.
    pub fn set_off(&self, off_ns: i64) -> Result<i64, WorldError> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let doing = format!("write {}", self.path.display());
        let other = 1 - written.in_use;
        let write = |bytes: &[u8], at| written.file.write_all_at(bytes, at);
        // First the offset that nobody reads, then the one byte that makes it count.
        write(&off_ns.to_ne_bytes(), 8 + 8 * u64::from(other))
            .and_then(|()| write(&i64::from(other).to_ne_bytes(), 0))
            .map_err(io_error(doing))?;
        written.in_use = other;
        Ok(std::mem::replace(&mut written.off_ns, off_ns))
    }

    /// True when a process of the group that `leader` leads has loaded the library.
    pub fn is_loaded_by(&self, leader: u32) -> bool {
        let library = self.library.as_os_str().as_encoded_bytes();
        let of_the_group = |pid: &u32| ProcessStat::of(*pid).is_ok_and(|stat| stat.group == leader);
        let mut members = all_processes()
            .unwrap_or_default()
            .into_iter()
            .filter(of_the_group);
        members.any(|pid| {
            let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
            memchr::memmem::find(&maps, library).is_some()
        })
    }
}

/// Sets a server's clock off, and makes sure that the server sees it.
///
/// # Errors
/// Where it has no clock that can be shifted, does not answer, or does not see the shift. What
/// was written stays: it counts when a dead server comes back.
pub(super) async fn set_off(
    name: &str,
    address: SocketAddr,
    wall: Option<&ShiftedWall>,
    off_ns: i64,
) -> Result<(), WorldError> {
    let Some(wall) = wall else {
        return Err(WorldError::FixedClock(name.to_owned()));
    };
    let before_ns = wall.set_off(off_ns)?;
    let seen_ns = probe::lead_of_wall_clock(address).await?;
    // Nearer to what it should be now than to what it was: that needs no bound for how long an
    // answer may take.
    if seen_ns.abs_diff(off_ns) <= seen_ns.abs_diff(before_ns) {
        Ok(())
    } else {
        Err(WorldError::ClockNotShifted(name.to_owned()))
    }
}
