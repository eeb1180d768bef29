//! Identifies the owner of a process, container or directory across PID reuse, reboots and containers.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::time::Duration;

use crate::process_stat::ProcessStat;

/// Identifies a process among all processes that have ever run on this machine. It is used to decide whether the owner
/// of a container or directory is dead. Written as `pid:start:boot:namespace`.
///
/// PIDs are reused, but together with the start time they are unique until the next boot. The PID namespace shows
/// whether the process would be visible to this process at all. Without it, a live process in another container that
/// uses the same engine would look dead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessIdentity {
    pid: u32,
    started_ticks: u64,
    boot: String,
    namespace: String,
}

impl ProcessIdentity {
    /// Returns the identity of the current process.
    ///
    /// # Errors
    /// Returns an error if `/proc` cannot be read.
    #[cfg(target_os = "linux")]
    pub fn this_process() -> io::Result<ProcessIdentity> {
        let pid = std::process::id();
        let namespace = std::fs::read_link("/proc/self/ns/pid")?;
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        let digits = |c: &char| c.is_ascii_digit();
        Ok(ProcessIdentity {
            pid,
            started_ticks: ProcessStat::for_process(pid)?.started_ticks,
            boot: boot.trim().to_owned(),
            namespace: namespace.to_string_lossy().chars().filter(digits).collect(),
        })
    }

    /// Returns the identity of the current process, which contains only the PID. Every process with the same PID counts
    /// as the same process, so the sweep may remove too little, but never too much.
    ///
    /// # Errors
    /// Never returns an error.
    #[cfg(not(target_os = "linux"))]
    pub fn this_process() -> io::Result<ProcessIdentity> {
        Ok(ProcessIdentity {
            pid: std::process::id(),
            started_ticks: 0,
            boot: std::env::consts::OS.to_owned(),
            namespace: String::new(),
        })
    }

    /// Returns `true` only if the owner is certainly dead. `made_at` is the creation time of the owned object, as the
    /// time since the Unix epoch. It decides in the case of another boot ID, because the process may have run before
    /// this machine was restarted, or on another machine.
    pub fn is_gone(&self, made_at: Duration) -> bool {
        let Ok(here) = ProcessIdentity::this_process() else {
            return false;
        };
        if self.boot != here.boot {
            return booted_at().is_some_and(|boot| made_at < boot);
        }
        self.namespace == here.namespace && !self.may_exist()
    }

    /// Returns `true` if the process was started since this machine was booted.
    pub fn is_of_this_boot(&self) -> bool {
        ProcessIdentity::this_process().is_ok_and(|here| here.boot == self.boot)
    }

    /// Returns `true` if the process exists, or if it is unknown whether it exists.
    fn may_exist(&self) -> bool {
        match ProcessStat::for_process(self.pid) {
            Ok(stat) => stat.started_ticks == self.started_ticks && !stat.has_ended(),
            // `/proc` may hide the processes of other users. Signal 0 still shows whether they exist.
            Err(e) if e.kind() == io::ErrorKind::NotFound => i32::try_from(self.pid)
                .ok()
                .and_then(rustix::process::Pid::from_raw)
                .is_some_and(|pid| {
                    rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
                }),
            Err(_) => true,
        }
    }
}

/// Returns when this machine was booted, as the time since the Unix epoch.
fn booted_at() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let seconds = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    Some(Duration::from_secs(seconds.trim().parse().ok()?))
}

impl fmt::Display for ProcessIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pid, started_ticks) = (self.pid, self.started_ticks);
        write!(f, "{pid}:{started_ticks}:{}:{}", self.boot, self.namespace)
    }
}

impl FromStr for ProcessIdentity {
    /// The text is malformed.
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let parts: Vec<&str> = text.trim().split(':').collect();
        let [pid, started_ticks, boot, namespace] = parts[..] else {
            return Err(());
        };
        Ok(ProcessIdentity {
            pid: pid.parse().map_err(drop)?,
            started_ticks: started_ticks.parse().map_err(drop)?,
            boot: boot.to_owned(),
            namespace: namespace.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG_AGO: Duration = Duration::from_secs(1);

    #[test]
    fn live_process_is_not_gone_and_its_identity_round_trips() {
        let here = ProcessIdentity::this_process().unwrap();
        assert!(!here.is_gone(LONG_AGO));
        assert_eq!(here.to_string().parse(), Ok(here));
    }

    #[test]
    fn reused_pid_and_older_boot_are_gone() {
        let here = ProcessIdentity::this_process().unwrap();
        let reused = ProcessIdentity {
            started_ticks: here.started_ticks - 1,
            ..here.clone()
        };
        assert!(reused.is_gone(crate::clock::wall_clock()));
        let rebooted = ProcessIdentity {
            boot: "another".into(),
            ..here
        };
        assert!(rebooted.is_gone(LONG_AGO));
    }

    #[test]
    fn process_of_another_container_or_machine_is_not_gone() {
        let here = ProcessIdentity::this_process().unwrap();
        let hidden = ProcessIdentity {
            started_ticks: 1,
            namespace: "1".into(),
            ..here.clone()
        };
        assert!(!hidden.is_gone(LONG_AGO), "another container's process");
        let elsewhere = ProcessIdentity {
            boot: "another".into(),
            ..here
        };
        assert!(
            !elsewhere.is_gone(crate::clock::wall_clock()),
            "another machine's process"
        );
    }

    #[test]
    fn malformed_text_is_rejected() {
        for text in ["", "1:2:3", "x:2:boot:4", "1:y:boot:4", "1:2:boot:4:5"] {
            assert!(text.parse::<ProcessIdentity>().is_err(), "{text}");
        }
    }
}
