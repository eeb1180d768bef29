//! Lists processes and their owners from `/proc`, independently of the binary.

use std::fs;

/// A process. Its start time distinguishes it from a later process with the same PID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    parent: u32,
    born_ticks: u64,
    ended: bool,
}

impl Process {
    fn of(pid: u32) -> Option<Process> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name is in parentheses and may contain any characters, including parentheses.
        let (before, after) = stat.rsplit_once(')')?;
        let (_, name) = before.split_once('(')?;
        let fields: Vec<&str> = after.split_whitespace().collect();
        Some(Process {
            pid,
            name: name.to_owned(),
            parent: fields.get(1)?.parse().ok()?,
            born_ticks: fields.get(19)?.parse().ok()?,
            ended: matches!(*fields.first()?, "Z" | "X"),
        })
    }

    /// Returns `true` if it runs or is frozen. A zombie does not count.
    pub fn lives(&self) -> bool {
        Process::of(self.pid).is_some_and(|now| now.born_ticks == self.born_ticks && !now.ended)
    }

    /// Returns a variable of its environment.
    pub fn variable(&self, name: &str) -> Option<String> {
        let text = fs::read(format!("/proc/{}/environ", self.pid)).ok()?;
        let entries = text.split(|byte| *byte == 0);
        entries
            .filter_map(|entry| std::str::from_utf8(entry).ok()?.split_once('='))
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value.to_owned())
    }

    /// Returns `true` if a signal has stopped it.
    pub fn is_frozen(&self) -> bool {
        fs::read_to_string(format!("/proc/{}/stat", self.pid)).is_ok_and(|stat| {
            stat.rsplit_once(')')
                .is_some_and(|(_, rest)| rest.starts_with(" T"))
        })
    }
}

/// Returns all processes.
fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| Process::of(entry.file_name().to_str()?.parse().ok()?))
        .collect()
}

/// Returns the IPv4 ports on which a process listens.
pub fn listening_ports(pid: u32) -> Vec<u16> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten();
    let links = descriptors.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let links: Vec<String> = links
        .map(|link| link.to_string_lossy().into_owned())
        .collect();
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let listening = table.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_ours = links.contains(&format!("socket:[{}]", words.get(9)?));
        let port = words.get(1)?.rsplit_once(':')?.1;
        // State 0A means listening.
        (is_ours && words.get(3) == Some(&"0A")).then(|| u16::from_str_radix(port, 16).ok())?
    });
    listening.collect()
}

/// Returns all descendants of a process.
pub fn started_by(pid: u32) -> Vec<Process> {
    let all = all();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        for process in all.iter().filter(|process| process.parent == parent) {
            parents.push(process.pid);
            found.push(process.clone());
        }
    }
    found
}

/// Returns the workers among them, in the order of their start: processes that run this binary as `picklock worker`.
pub fn workers_of(pid: u32) -> Vec<Process> {
    let mut workers = started_by(pid);
    workers.retain(|process| {
        fs::read(format!("/proc/{}/cmdline", process.pid))
            .is_ok_and(|line| line.split(|byte| *byte == 0).nth(1) == Some(b"worker"))
    });
    workers
}
