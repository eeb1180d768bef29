use std::collections::BTreeMap;
use std::io;

use super::stat::{ProcessStat, all_processes};

/// Environment variable that marks a process and all its descendants. They inherit it also where
/// they leave their process group and their session, and where the process that started them has
/// ended.
pub(crate) const MARK_VARIABLE: &str = "PICKLOCK_WORKER";

/// All processes that could be seen at one time, with the marks that they inherited.
#[derive(Debug, Default)]
pub(crate) struct ProcessTable {
    processes: BTreeMap<u32, Entry>,
}

/// One process of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub stat: ProcessStat,
    /// The value of [`MARK_VARIABLE`] in its environment.
    pub mark: Option<String>,
}

impl ProcessTable {
    /// Reads the table on a thread of its own: with many processes it takes a while, and the harness
    /// must not stand still meanwhile. See [`ProcessTable::read`].
    pub(crate) async fn look(since_ticks: u64) -> io::Result<ProcessTable> {
        let reading = tokio::task::spawn_blocking(move || ProcessTable::read(since_ticks));
        reading.await.map_err(io::Error::other)?
    }

    /// Reads the table. A process that started before `since_ticks` cannot carry a mark that was
    /// given later, so its environment is not read.
    /// `Err`: `/proc` cannot be read, for example because there are no file descriptors left. A process
    /// that ends meanwhile is no error.
    pub(crate) fn read(since_ticks: u64) -> io::Result<ProcessTable> {
        let mut processes = BTreeMap::new();
        if cfg!(not(target_os = "linux")) {
            // There is no `/proc`. Only the process group is known.
            return Ok(ProcessTable { processes });
        }
        for pid in all_processes()? {
            let stat = match ProcessStat::for_process(pid) {
                Ok(stat) if stat.has_ended() => continue,
                Ok(stat) => stat,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let mark = match stat.started_ticks >= since_ticks {
                true => variable_of(pid, MARK_VARIABLE)?,
                false => None,
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

/// A variable in the environment of a process, as it was when its program started. `None`: it has none,
/// or is hidden from us.
///
/// # Errors
/// `/proc` cannot be read.
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
    // Where a variable stands twice, the programs read the first one.
    Ok(values.next())
}

/// True where the process has ended, or belongs to another user.
fn is_hidden(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
        || matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
        )
}
