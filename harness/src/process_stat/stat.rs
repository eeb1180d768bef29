//! What the kernel says about one process or thread, and which there are.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Longer than any text that is read here: a `stat` has about fifty numbers.
const LONGEST: usize = 4096;

/// A text of `/proc`, read in one call. Its length cannot be known before, and who does not know it asks six times.
pub(super) fn text_of(path: impl AsRef<Path>) -> io::Result<String> {
    let mut bytes = [0; LONGEST];
    let length = File::open(path)?.read(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

/// What `/proc/PID/stat` says about a process, or `/proc/PID/task/TID/stat` about a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    /// `R`, `S`, `T` (stopped), `Z` (ended, not waited for) and so on.
    pub state: char,
    /// The process that started it, or that adopted it when that one ended.
    pub parent: u32,
    /// Its process group; 0 if it has none any more.
    pub group: u32,
    /// When it started, in clock ticks since boot. Together with the process id it identifies one
    /// process for as long as the machine is up.
    pub started_ticks: u64,
    /// Processor time of all its threads so far, in clock ticks.
    pub cpu_ticks: u64,
}

impl ProcessStat {
    /// Of one process; `NotFound` if there is none.
    pub(crate) fn for_process(pid: u32) -> io::Result<ProcessStat> {
        Self::read(Path::new(&format!("/proc/{pid}/stat")))
    }

    /// Of one thread; `NotFound` if there is none.
    #[cfg(target_os = "linux")]
    pub(crate) fn of_thread(pid: u32, thread: u32) -> io::Result<ProcessStat> {
        Self::read(Path::new(&format!("/proc/{pid}/task/{thread}/stat")))
    }

    fn read(path: &Path) -> io::Result<ProcessStat> {
        let text = match text_of(path) {
            Ok(text) => text,
            // A process that ends between open and read answers with ESRCH.
            Err(e) if e.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
                return Err(io::ErrorKind::NotFound.into());
            }
            Err(e) => return Err(e),
        };
        if text.is_empty() {
            // So does one that ends a moment later.
            return Err(io::ErrorKind::NotFound.into());
        }
        Self::parse(&text).ok_or_else(|| {
            let what = format!("unexpected form of {}: {text:?}", path.display());
            io::Error::new(io::ErrorKind::InvalidData, what)
        })
    }

    /// The name is in parentheses and may contain any character, parentheses included: only the
    /// last one ends it.
    fn parse(text: &str) -> Option<ProcessStat> {
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(ProcessStat {
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            // A process that is just being reaped has no group any more, and the kernel writes -1.
            group: match *fields.get(2)? {
                "-1" => 0,
                group => group.parse().ok()?,
            },
            started_ticks: ticks(19)?,
            cpu_ticks: ticks(11)? + ticks(12)?,
        })
    }

    /// True when it has ended, even if it was not reaped.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// True when it does not run: it is stopped (perhaps by a debugger) or has ended.
    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self.state, 'T' | 't') || self.has_ended()
    }

    /// True when it is stopped, or in a sleep that only SIGKILL ends (`vfork`, a disk). A stop that was sent to it
    /// meanwhile takes effect before it runs again, so it starts no process.
    pub(crate) fn is_held(&self) -> bool {
        self.is_stopped() || self.state == 'D'
    }
}

/// How long the main thread of a process has run, in nanoseconds. `None`: the kernel does not say, or it has ended.
#[cfg(feature = "servers")]
pub(crate) fn ran_ns(pid: u32) -> Option<u64> {
    let text = text_of(format!("/proc/{pid}/schedstat")).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

/// How long the threads of a process have waited for a processor although they could run, together, in nanoseconds.
/// `None`: the kernel does not say, or it has ended.
#[cfg(feature = "servers")]
pub(crate) fn waited_ns(pid: u32) -> Option<u64> {
    let threads = numbered_entries(Path::new(&format!("/proc/{pid}/task"))).ok()?;
    let of_thread = |thread: u32| {
        let text = text_of(format!("/proc/{pid}/task/{thread}/schedstat")).ok()?;
        text.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()
    };
    let waited = threads.into_iter().filter_map(of_thread);
    waited.reduce(|all, one| all + one)
}

/// The process that traces this one, as a debugger does.
pub(crate) fn tracer_of_this_process() -> Option<u32> {
    let traces = |thread| number_in_status(thread, "TracerPid:").filter(|tracer| *tracer > 0);
    // It is one thread of that process.
    let thread = traces("self").or_else(|| traces("thread-self"))?;
    number_in_status(&thread.to_string(), "Tgid:")
}

fn number_in_status(process: &str, field: &str) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(field))?;
    value.trim().parse().ok()
}

/// The ids of all processes that can be seen.
pub(crate) fn all_processes() -> io::Result<Vec<u32>> {
    numbered_entries(Path::new("/proc"))
}

/// The ids of the threads of one process.
#[cfg(target_os = "linux")]
pub(crate) fn threads_of(pid: u32) -> io::Result<Vec<u32>> {
    numbered_entries(Path::new(&format!("/proc/{pid}/task")))
}

/// The entries of a directory that are named by a number.
fn numbered_entries(directory: &Path) -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let name = entry?.file_name();
        numbers.extend(name.to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_contain_parentheses_and_spaces() {
        let line = "17 (a) b (c) T 1 42 42 0 -1 4 0 0 0 0 30 12 0 0 20 0 1 0 98765 0 0";
        let expected = ProcessStat {
            state: 'T',
            parent: 1,
            group: 42,
            started_ticks: 98765,
            cpu_ticks: 42,
        };
        assert_eq!(ProcessStat::parse(line), Some(expected));
        assert_eq!(ProcessStat::parse("17 (cut off"), None);
        assert_eq!(ProcessStat::parse("17 (short) T 1 42"), None);
    }

    #[test]
    fn a_process_that_is_being_reaped_has_no_group() {
        let line = "9017 (bash) X 0 -1 -1 0 -1 4227084 254 0 0 0 0 0 0 0 20 0 0 0 919007 0 0";
        let stat = ProcessStat::parse(line).unwrap();
        assert!(stat.has_ended());
        assert_eq!((stat.parent, stat.group), (0, 0));
        assert_eq!(
            ProcessStat::parse(&line.replace(" X 0 -1", " X 0 -2")),
            None
        );
    }

    #[test]
    fn this_process_is_found_and_an_impossible_one_is_not() {
        assert!(
            !ProcessStat::for_process(std::process::id())
                .unwrap()
                .has_ended()
        );
        assert!(all_processes().unwrap().contains(&std::process::id()));
        let kind = ProcessStat::for_process(u32::MAX).unwrap_err().kind();
        assert_eq!(kind, io::ErrorKind::NotFound);
    }
}
