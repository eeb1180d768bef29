//! How much processor time a process has used.

/// Processor time of all threads of a process so far, in clock ticks; `None`: there is no such
/// process.
pub(crate) fn cpu_ticks(pid: u32) -> Option<u64> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(&String::from_utf8_lossy(&text))
}

fn parse(text: &str) -> Option<u64> {
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_system_time_are_added() {
        let line = "17 (a) b) S 1 42 42 0 -1 4 0 0 0 0 30 12 0 0 20 0 1 0 98765 0 0";
        assert_eq!(parse(line), Some(42));
        assert_eq!(parse("17 (short) T 1 42"), None);
        assert!(cpu_ticks(std::process::id()).is_some());
        assert_eq!(cpu_ticks(u32::MAX), None);
    }
}
