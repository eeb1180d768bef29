//! Lists the faults, the warnings and the incidents of a run.

use picklock_verdicts::record::{FiredFault, RunRecord};

use super::line::{FAINT, FAULT, Line, STRONG, WARN};
use crate::units::time_ns;

/// Maximum number of entries. The rest is counted; the record has all of them.
const MAX_ENTRIES: usize = 12;

/// Lists the faults, each with its time.
pub(super) fn faults(record: &RunRecord, width: usize) -> Vec<Line> {
    let times: Vec<String> = record.faults.iter().take(MAX_ENTRIES).map(when).collect();
    let column = times.iter().map(|t| t.chars().count()).max().unwrap_or(0) + 6;
    let mut lines = Vec::new();
    for (fault, time) in record.faults.iter().zip(times) {
        let words = if fault.detail.is_empty() {
            &fault.fault
        } else {
            &fault.detail
        };
        let style = fault.began_ns.map_or(WARN, |_| FAULT);
        let line = Line::new().plain("    ").styled(style, &time);
        lines.extend(line.pad_to(column).plain(words).wrap(width, column));
    }
    titled("Faults", lines, record.faults.len())
}

/// Lists the faults without their times, for a run in which nothing was violated.
pub(super) fn brief(record: &RunRecord, width: usize) -> Vec<Line> {
    let mut texts: Vec<String> = Vec::new();
    for fault in &record.faults {
        let words = if fault.detail.is_empty() {
            &fault.fault
        } else {
            &fault.detail
        };
        let text = match fault.began_ns {
            Some(began_ns) => format!("{words} at {}", time_ns(began_ns)),
            None => format!("never fired: {words}"),
        };
        texts.push(text);
    }
    let Some(first) = texts.first() else {
        return Vec::new();
    };
    let more = match texts.len() {
        1 => String::new(),
        all => format!(" … and {} more", all - 1),
    };
    let line = Line::new().plain("  ").styled(FAULT, "fault ").plain(first);
    line.styled(FAINT, &more).wrap(width, 8)
}

/// Lists the warnings, in a report of any length.
pub(super) fn warnings(record: &RunRecord, width: usize) -> Vec<Line> {
    let lines = record.warnings.iter().flat_map(|warning| {
        let line = Line::new().plain("  ").styled(WARN, "! ");
        line.plain(&warning.text).wrap(width, 4)
    });
    lines.collect()
}

/// Lists incidents, such as workers that broke the protocol.
pub(super) fn trouble(record: &RunRecord, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for words in record.trouble.iter().take(MAX_ENTRIES) {
        let line = Line::new().plain("    ").styled(WARN, "! ");
        lines.extend(line.plain(words).wrap(width, 6));
    }
    titled("Trouble", lines, record.trouble.len())
}

fn when(fault: &FiredFault) -> String {
    match (fault.began_ns, fault.ended_ns) {
        (None, _) => "never fired".into(),
        (Some(began_ns), Some(ended_ns)) if ended_ns > began_ns => {
            format!("{} – {}", time_ns(began_ns), time_ns(ended_ns))
        }
        (Some(began_ns), Some(_)) => time_ns(began_ns),
        (Some(began_ns), None) => format!("from {} on", time_ns(began_ns)),
    }
}

fn titled(title: &str, listed: Vec<Line>, total: usize) -> Vec<Line> {
    if listed.is_empty() {
        return listed;
    }
    let mut lines = vec![Line::new().plain("  ").styled(STRONG, title)];
    lines.extend(listed);
    if total > MAX_ENTRIES {
        let more = format!("    … and {} more", total - MAX_ENTRIES);
        lines.push(Line::new().styled(FAINT, &more));
    }
    lines
}
