//! Faults, and workers that broke the protocol.

use picklock_verdicts::record::{FiredFault, RunRecord};

use super::line::{FAINT, FAULT, Line, STRONG, WARN};
use crate::units::trigger_ns;

/// Further ones are only counted: the record has all of them.
const LISTED: usize = 12;

/// The faults, each with its time.
pub(super) fn struck(record: &RunRecord, width: usize) -> Vec<Line> {
    let times: Vec<String> = record.faults.iter().take(LISTED).map(when).collect();
    let column = times.iter().map(|t| t.chars().count()).max().unwrap_or(0) + 6;
    let mut lines = Vec::new();
    for (fault, time) in record.faults.iter().zip(times) {
        let words = match fault.detail.is_empty() {
            true => &fault.fault,
            false => &fault.detail,
        };
        let style = fault.began_ns.map_or(WARN, |_| FAULT);
        let line = Line::new().plain("    ").styled(style, &time);
        lines.extend(line.pad_to(column).plain(words).wrap(width, column));
    }
    titled("Faults", lines, record.faults.len())
}

/// Workers that broke the protocol, in words.
pub(super) fn trouble(record: &RunRecord, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for words in record.trouble.iter().take(LISTED) {
        let line = Line::new().plain("    ").styled(WARN, "! ");
        lines.extend(line.plain(words).wrap(width, 6));
    }
    titled("Trouble", lines, record.trouble.len())
}

fn when(fault: &FiredFault) -> String {
    match (fault.began_ns, fault.ended_ns) {
        (None, _) => "never struck".into(),
        (Some(began_ns), Some(ended_ns)) if ended_ns > began_ns => {
            format!("{} – {}", trigger_ns(began_ns), trigger_ns(ended_ns))
        }
        (Some(began_ns), Some(_)) => trigger_ns(began_ns),
        (Some(began_ns), None) => format!("from {} on", trigger_ns(began_ns)),
    }
}

fn titled(title: &str, listed: Vec<Line>, total: usize) -> Vec<Line> {
    if listed.is_empty() {
        return listed;
    }
    let mut lines = vec![Line::new().plain("  ").styled(STRONG, title)];
    lines.extend(listed);
    if total > LISTED {
        let more = format!("    … and {} more", total - LISTED);
        lines.push(Line::new().styled(FAINT, &more));
    }
    lines
}
