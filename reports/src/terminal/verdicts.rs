//! The verdicts: as a table, as one line, and as the answer that ends a report.

use picklock_verdicts::check::{Property, Status, Verdict};
use picklock_verdicts::record::RunRecord;

use super::line::{BAD, FAINT, Line, STRONG, WARN, style, style_of_party};
use crate::cell_status::{overall, verdict_line};
use crate::matrix::NOT_APPLICABLE;
use crate::problem::{Numbered, Problem, numbered, problems};

/// Minimum width for a separate column of causes.
const MIN_WIDTH_FOR_CAUSES: usize = 93;
const PROPERTY_COLUMN: usize = 2;
const STATUS_COLUMN: usize = 12;
const CAUSE_COLUMN: usize = 30;

/// Maximum number of problems in an answer.
const MAX_PROBLEMS: usize = 3;

/// Column in which the text of a deciding line begins, after its number.
const LINE_COLUMN: usize = 5;

/// Returns the problems that the answer names, each with its numbered lines.
pub(super) fn shown(record: &RunRecord) -> Vec<(Problem<'_>, Vec<Numbered<'_>>)> {
    let mut parts = numbered(&record.verdicts);
    parts.truncate(MAX_PROBLEMS);
    parts
}

/// Returns one row per property: status, cause and meaning.
pub(super) fn table(record: &RunRecord, width: usize) -> Vec<Line> {
    let causes = record.verdicts.values().filter_map(|v| v.cause);
    let widest = causes.map(|cause| cause.as_str().len()).max().unwrap_or(0);
    let meaning_column = match widest {
        0 => CAUSE_COLUMN,
        _ if width < MIN_WIDTH_FOR_CAUSES => CAUSE_COLUMN,
        widest => CAUSE_COLUMN + widest + 2,
    };
    let mut lines = Vec::new();
    for (property, verdict) in &record.verdicts {
        lines.extend(row(*property, verdict, width, meaning_column));
    }
    lines
}

fn row(property: Property, verdict: &Verdict, width: usize, meaning_column: usize) -> Vec<Line> {
    let (sign, style) = (verdict.status.sign(), style(verdict.status));
    let word = match verdict.status {
        Status::NotApplicable => NOT_APPLICABLE,
        status => status.as_str(),
    };
    let mut line = Line::new()
        .pad_to(PROPERTY_COLUMN)
        .plain(property.as_str())
        .pad_to(STATUS_COLUMN)
        .styled(style, &format!("{sign} {word}"))
        .pad_to(CAUSE_COLUMN);
    if let Some(cause) = verdict.cause {
        line = line.styled(STRONG, cause.as_str());
        // Without a separate column, the cause is the beginning of the sentence.
        if meaning_column == CAUSE_COLUMN {
            line = line.plain(": ");
        }
    }
    let text = verdict_line(property, verdict);
    let line = line.pad_to(meaning_column);
    let line = match verdict.status {
        Status::Held | Status::NotApplicable => line.styled(FAINT, &text),
        _ => line.plain(&text),
    };
    line.wrap(width, meaning_column)
}

/// Returns the answer of a run: the violation, whose fault it was, the remedy, the deciding lines, and the properties
/// in one line.
pub(super) fn answer(record: &RunRecord, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut known_fault = None;
    for (problem, deciding) in shown(record) {
        let fault = problem.last_fault().filter(|it| known_fault != Some(*it));
        known_fault = fault.or(known_fault);
        let fault = fault.map(|fault| fault.line);
        lines.extend(answer_for(&problem, fault, &deciding, record, width));
    }
    let hidden = problems(&record.verdicts)
        .len()
        .saturating_sub(MAX_PROBLEMS);
    if hidden > 0 {
        let more = format!("  and {hidden} more (-v shows every story)");
        lines.push(Line::new().styled(FAINT, &more));
    }
    let status = overall(&record.verdicts);
    if status == Status::Unknown {
        lines.extend(inconclusive(record, width));
    }
    lines.extend(compact(record, status == Status::Held, width));
    lines
}

/// Returns the lines about one problem. `fault` is the line of the last fault before it, if it is not known yet.
fn answer_for(
    problem: &Problem<'_>,
    fault: Option<&str>,
    deciding: &[Numbered<'_>],
    record: &RunRecord,
    width: usize,
) -> Vec<Line> {
    let style = style_of_party(problem.party);
    let head = Line::new().styled(style, "✘ ");
    let mut lines = head
        .styled(STRONG, &problem.headline())
        .plain(".")
        .wrap(width, 2);
    let blame = problem.fault(&record.verdicts);
    // The first half sentence names the party.
    let (party, rest) = blame.split_at(blame.find(':').unwrap_or(0));
    lines.extend(
        Line::new()
            .plain("  ")
            .styled(style, party)
            .plain(rest)
            .wrap(width, 2),
    );
    let explain = format!("picklock explain {}", problem.name());
    let line = match problem.remedy() {
        Some(remedy) => Line::new()
            .plain("  ")
            .styled(STRONG, &format!("Remedy: {remedy}"))
            .styled(FAINT, &format!(" ({explain})")),
        None => Line::new().plain("  ").styled(FAINT, &explain),
    };
    lines.extend(line.wrap(width, 2));
    let fault = fault.map(|line| (Line::new(), line));
    let numbered = deciding.iter().map(|one| {
        let number = Line::new().plain("  ");
        (number.styled(STRONG, &one.number.to_string()), one.line)
    });
    for (number, text) in fault.into_iter().chain(numbered) {
        let line = number.pad_to(LINE_COLUMN).plain(text);
        lines.extend(line.wrap(width, LINE_COLUMN + 9));
    }
    lines
}

/// Returns the reasons of the inconclusive properties, each once.
fn inconclusive(record: &RunRecord, width: usize) -> Vec<Line> {
    let unknown = record.verdicts.iter();
    let unknown = unknown.filter(|(_, verdict)| verdict.status == Status::Unknown);
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for (property, verdict) in unknown {
        let reason = verdict_line(*property, verdict);
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, properties)) => properties.push(property.as_str()),
            None => reasons.push((reason, vec![property.as_str()])),
        }
    }
    let line = |(reason, properties): (String, Vec<&str>)| {
        let head = format!("? Inconclusive ({}): ", properties.join(", "));
        Line::new()
            .styled(WARN, &head)
            .plain(&reason)
            .wrap(width, 2)
    };
    reasons.into_iter().flat_map(line).collect()
}

/// Returns the properties on one line, after `✔ Held:` if all of them held.
fn compact(record: &RunRecord, is_held: bool, width: usize) -> Vec<Line> {
    let mut line = Line::new();
    if is_held {
        line = line.styled(style(Status::Held), "✔ Held:");
    } else {
        line = line.plain(" ");
    }
    // Non-breaking spaces keep a sign and its word on one line.
    for (property, verdict) in &record.verdicts {
        let (sign, style) = match verdict.status {
            Status::Violated => (verdict.status.sign(), BAD),
            status => (status.sign(), style(status)),
        };
        let words = if is_held && verdict.status == Status::Held {
            property.to_string()
        } else {
            format!("{sign}\u{a0}{property}")
        };
        let style = if is_held && verdict.status == Status::Held {
            anstyle::Style::new()
        } else {
            style
        };
        line = line.plain(" ").styled(style, &words);
        line = line.plain(if is_held { "" } else { " " });
    }
    line.wrap(width, 2)
}
