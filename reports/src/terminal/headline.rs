//! The headline of a report: the lock, the scenario and the servers.

use picklock_verdicts::record::RunRecord;

use super::line::{FAINT, Line, STRONG, WARN, style};
use super::run::Detail;
use crate::cell_status::overall;
use crate::units::{count, span_ms};

/// Maximum number of lines of the scenario's summary in a short report.
const SUMMARY_LINES: usize = 2;

/// Returns lock, scenario, backend and seed, then the scenario's summary, then the servers. The summary has at most two
/// lines unless `detail` asks for everything.
pub(super) fn lines(record: &RunRecord, width: usize, detail: Detail) -> Vec<Line> {
    let status = overall(&record.verdicts);
    let title = Line::new()
        .styled(style(status), status.sign())
        .plain(" ")
        .styled(STRONG, &record.lock.name)
        .plain(" × ")
        .styled(STRONG, &record.scenario)
        .plain(" × ")
        .styled(STRONG, record.backend.as_str())
        .plain(&format!("   seed {}", record.seed));
    let mut lines = title.wrap(width, 2);
    let mut paragraphs = vec![circumstances(record), record.summary.clone()];
    if detail == Detail::Everything && !record.backend_reason.is_empty() {
        paragraphs.insert(1, format!("{}: {}", record.backend, record.backend_reason));
    }
    for text in paragraphs.iter().filter(|text| !text.is_empty()) {
        let mut wrapped = Line::new().plain("  ").styled(FAINT, text).wrap(width, 2);
        if detail == Detail::Answer && wrapped.len() > SUMMARY_LINES {
            wrapped.truncate(SUMMARY_LINES);
            let last = wrapped.pop().unwrap_or_default();
            wrapped.push(last.styled(FAINT, " …").cut(width));
        }
        lines.extend(wrapped);
    }
    if record.interrupted {
        let words = "  Interrupted: this report covers the run up to that point.";
        lines.push(Line::new().styled(WARN, words));
    }
    lines
}

fn circumstances(record: &RunRecord) -> String {
    let mut parts = vec![
        count(record.workers, "worker"),
        count(record.nodes, "node"),
        format!("ttl {}", span_ms(record.ttl_ms)),
    ];
    if !record.redis.server.is_empty() {
        let server = format!("{} {}", record.redis.server, record.redis.version);
        parts.push(server.trim_end().to_owned());
    }
    if !record.lock.version.is_empty() {
        parts.push(format!("{} {}", record.lock.name, record.lock.version));
    }
    parts.join(" · ")
}
