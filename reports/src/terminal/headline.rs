//! The headline of a report: the lock, the scenario and the servers.

use picklock_verdicts::record::RunRecord;

use super::detail::Detail;
use super::line::{FAINT, Line, STRONG, WARN, style};
use crate::cell_status::overall;
use crate::units::{count, span_ms};

/// Maximum number of lines of the scenario's summary in a short report, unless its first sentence is longer.
const SUMMARY_LINES: usize = 2;

/// Returns lock, scenario, backend and seed, then the servers, then the scenario's summary. Unless `detail` asks for
/// everything, the summary has as many whole sentences as fit on two lines, and at least one.
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
        let wrap = |text: &str| Line::new().plain("  ").styled(FAINT, text).wrap(width, 2);
        let mut shown = text.as_str();
        while detail == Detail::Answer && wrap(shown).len() > SUMMARY_LINES {
            match shown.trim_end_matches('.').rfind(". ") {
                Some(end) => shown = &shown[..=end],
                None => break,
            }
        }
        lines.extend(wrap(shown));
    }
    if record.interrupted {
        let words = "  Interrupted: this report covers the run up to that point.";
        lines.push(Line::new().styled(WARN, words));
    }
    lines
}

fn circumstances(record: &RunRecord) -> String {
    let mut parts = vec![
        count(record.workers, "client"),
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
