//! What was run, and on which servers.

use picklock_verdicts::check::Status;
use picklock_verdicts::record::RunRecord;

use super::line::{FAINT, Line, STRONG, WARN, style};
use crate::units::{count, span_ms};

/// Lock, scenario, backend and seed; the scenario's summary; the servers.
pub(super) fn lines(record: &RunRecord, width: usize) -> Vec<Line> {
    let status = overall(record);
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
    let said = [
        (&record.summary, Line::new().plain("  ")),
        (&circumstances(record), Line::new().plain("  ")),
        (&record.backend_reason, Line::new().styled(FAINT, &backend)),
    ];
    for (text, start) in said {
        if !text.is_empty() {
            lines.extend(start.styled(FAINT, text).wrap(width, 2));
        }
    }
    if record.interrupted {
        let words = "  Interrupted: this is what was seen until then.";
        lines.push(Line::new().styled(WARN, words));
    }
    lines
}

/// The status of the whole run: the worst of all properties.
pub(super) fn overall(record: &RunRecord) -> Status {
    let any = |status| record.verdicts.values().any(|v| v.status == status);
    if any(Status::Violated) {
        Status::Violated
    } else if any(Status::Unknown) || record.verdicts.is_empty() {
        Status::Unknown
    } else if any(Status::Held) {
        Status::Held
    } else {
        Status::NotApplicable
    }
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
