use std::io;

/// What the kernel tells about a process in `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessStat {
    /// `R`, `S`, `T` (stopped), `Z` (ended, not waited for) and so on.
    pub state: char,
    /// Its process group.
    pub group: u32,
    /// When it started, in clock ticks since boot. Together with the process id it names one
    /// process for the whole time that the machine is up.
    pub started_ticks: u64,
}

impl ProcessStat {
    /// Asks about one process; `NotFound` where there is none.
    pub(super) fn of(pid: u32) -> io::Result<ProcessStat> {
        let text = match std::fs::read(format!("/proc/{pid}/stat")) {
            Ok(text) => text,
            // A process that ends between open and read answers with ESRCH.
            Err(e) if e.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
                return Err(io::ErrorKind::NotFound.into());
            }
            Err(e) => return Err(e),
        };
        Self::parse(&String::from_utf8_lossy(&text)).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                "unexpected form of /proc/PID/stat",
            )
        })
    }

    /// The name stands in parentheses and may itself hold any character, parentheses included:
    /// only the last one ends it.
    fn parse(text: &str) -> Option<ProcessStat> {
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        Some(ProcessStat {
            state: fields.first()?.chars().next()?,
            group: fields.get(2)?.parse().ok()?,
            started_ticks: fields.get(19)?.parse().ok()?,
        })
    }

    /// True when it only waits to be buried.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// The ids of all processes that can be seen.
pub(super) fn all_processes() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_blanks_is_no_trouble() {
        let line = "17 (a) b (c) T 1 42 42 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 98765 0 0";
        let expected = ProcessStat {
            state: 'T',
            group: 42,
            started_ticks: 98765,
        };
        assert_eq!(ProcessStat::parse(line), Some(expected));
        assert_eq!(ProcessStat::parse("17 (cut off"), None);
        assert_eq!(ProcessStat::parse("17 (short) T 1 42"), None);
    }

    #[test]
    fn this_process_is_found_and_the_impossible_one_is_not() {
        assert!(!ProcessStat::of(std::process::id()).unwrap().has_ended());
        let kind = ProcessStat::of(u32::MAX).unwrap_err().kind();
        assert_eq!(kind, io::ErrorKind::NotFound);
    }
}
