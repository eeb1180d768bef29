//! The headline of a report: the lock, the scenario and the servers.

use picklock_verdicts::record::RunRecord;

use super::line::{FAINT, Line, STRONG, WARN, style};
use crate::cell_status::overall;
use crate::units::{count, span_ms};

/// Returns lock, scenario, backend and seed, then the scenario's summary, then the servers.
pub(super) fn lines(record: &RunRecord, width: usize) -> Vec<Line> {
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
    let backend = format!("  {}: ", record.backend);
    let paragraphs = [
        (&record.summary, Line::new().plain("  ")),
        (&circumstances(record), Line::new().plain("  ")),
        (&record.backend_reason, Line::new().styled(FAINT, &backend)),
    ];
    for (text, start) in paragraphs {
        if !text.is_empty() {
            lines.extend(start.styled(FAINT, text).wrap(width, 2));
        }
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
