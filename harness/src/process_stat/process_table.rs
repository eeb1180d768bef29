//! A snapshot of the processes in `/proc`, to find the descendants of a worker.

use std::collections::BTreeMap;
use std::io;

use super::stat::{ProcessStat, all_processes};

/// Environment variable that marks a process and all its descendants. Descendants keep the variable even if they leave
/// their process group and session, or if the process that started them exits.
pub(crate) const MARK_VARIABLE: &str = "PICKLOCK_WORKER";

/// All visible processes at one time, with the marks that they inherited.
#[derive(Debug, Default)]
pub(crate) struct ProcessTable {
    processes: BTreeMap<u32, Entry>,
}

/// One process of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub stat: ProcessStat,
    /// Value of [`MARK_VARIABLE`] in the process's environment.
    pub mark: Option<String>,
}

impl ProcessTable {
    /// Reads the table on another thread, because it takes a while on a machine with many processes and must not stall
    /// the harness. See [`ProcessTable::read`].
    pub(crate) async fn read_in_background(since_ticks: u64) -> io::Result<ProcessTable> {
        let reading = tokio::task::spawn_blocking(move || ProcessTable::read(since_ticks));
        reading.await.map_err(io::Error::other)?
    }

    /// Reads the table. A process that started before `since_ticks` cannot have a mark that was created later, so its
    /// environment is not read. Processes that exit in the meantime are skipped.
    ///
    /// # Errors
    /// Returns an error if `/proc` cannot be read, for example because no file descriptors are left.
    pub(crate) fn read(since_ticks: u64) -> io::Result<ProcessTable> {
        let mut processes = BTreeMap::new();
        if cfg!(not(target_os = "linux")) {
            // Without `/proc`, only the process group is known.
            return Ok(ProcessTable { processes });
        }
        for pid in all_processes()? {
            let stat = match ProcessStat::for_process(pid) {
                Ok(stat) if stat.has_ended() => continue,
                Ok(stat) => stat,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let mark = if stat.started_ticks >= since_ticks {
                variable_of(pid, MARK_VARIABLE)?
            } else {
                None
            };
            processes.insert(pid, Entry { stat, mark });
        }
        Ok(ProcessTable { processes })
    }

    pub(super) fn get(&self, pid: u32) -> Option<&Entry> {
        self.processes.get(&pid)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Entry)> {
        self.processes.iter().map(|(pid, entry)| (*pid, entry))
    }

    #[cfg(test)]
    pub(super) fn from_entries(entries: impl IntoIterator<Item = (u32, Entry)>) -> ProcessTable {
        ProcessTable {
            processes: entries.into_iter().collect(),
        }
    }
}

/// Returns a variable from the environment with which a process's program was started. Returns `None` if the variable
/// is not set or the environment is not accessible.
///
/// # Errors
/// Returns an error if `/proc` cannot be read.
pub(crate) fn variable_of(pid: u32, variable: &str) -> io::Result<Option<String>> {
    let text = match std::fs::read(format!("/proc/{pid}/environ")) {
        Ok(text) => text,
        Err(error) if is_hidden(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut values = text.split(|byte| *byte == 0).filter_map(|entry| {
        let (name, value) = std::str::from_utf8(entry).ok()?.split_once('=')?;
        (name == variable).then(|| value.to_owned())
    });
    // If a variable occurs twice, programs use the first one.
    Ok(values.next())
}

/// Returns `true` if the process has exited or belongs to another user.
fn is_hidden(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
        || matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
        )
}
