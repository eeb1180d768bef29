//! The story of a problem as lines. The lines with numbers are the moments that the timeline numbers in the same way.

use picklock_verdicts::timeline::{Hold, Timeline};

use super::name::{Name, name, sentence};
use crate::problem::{Numbered, Problem, seconds_to_ms};
use crate::units::time_ns;

/// A story, shown once for all properties that share it.
pub(super) struct Story {
    pub(super) properties: String,
    pub(super) lines: Vec<StoryLine>,
}

/// A line of a story: its number if the timeline has it, its time, if it begins with one, and the rest.
pub(super) struct StoryLine {
    pub(super) number: Option<usize>,
    /// Time of the event in nanoseconds since the run began. Lines without a number have it in milliseconds.
    pub(super) at_ns: Option<u64>,
    pub(super) at: String,
    pub(super) text: Name,
}

/// Returns the lines of a problem's story in order of time, with the numbers of its deciding lines. With a timeline,
/// the ends of the leases that clients outlived become lines, too.
pub(super) fn story_lines(
    problem: &Problem<'_>,
    numbered: &[Numbered<'_>],
    timeline: Option<&Timeline<'_>>,
) -> Vec<StoryLine> {
    let mut lines: Vec<StoryLine> = Vec::new();
    let mut outlived: Vec<&Hold> = Vec::new();
    for text in problem.story() {
        let mut line = story_line(text);
        let number = numbered.iter().find(|it| it.line == text);
        line.number = number.map(|it| it.number);
        line.at_ns = number.and_then(|it| it.at_ns).or(line.at_ns);
        let grant = timeline.and_then(|timeline| granted_hold(text, line.at_ns?, timeline));
        if let Some(hold) = grant {
            line.at_ns = Some(hold.begin_ns);
            outlived.extend(Some(hold).filter(|it| it.deadline_ns < it.end_ns));
        }
        lines.push(line);
    }
    let last_ns = lines.iter().filter_map(|line| line.at_ns).max();
    for hold in outlived {
        let end_ns = hold.deadline_ns;
        if end_ns <= hold.begin_ns || Some(end_ns) > last_ns {
            continue;
        }
        let text = format!("the lease of client {} ended", hold.worker);
        let line = StoryLine {
            at_ns: Some(end_ns),
            ..story_line(&format!("{}  {text}", time_ns(end_ns)))
        };
        let is_known = |it: &StoryLine| it.at == line.at && it.text == line.text;
        if !lines.iter().any(is_known) {
            let at = lines.iter().position(|line| line.at_ns > Some(end_ns));
            lines.insert(at.unwrap_or(lines.len()), line);
        }
    }
    lines
}

/// Returns the hold that began with the grant in this line, which was at this time, up to a millisecond.
fn granted_hold<'a>(text: &str, at_ns: u64, timeline: &'a Timeline<'_>) -> Option<&'a Hold> {
    let (_, text) = text.split_once("  client ")?;
    let (worker, _) = text.split_once(" got ")?;
    let worker: usize = worker.parse().ok()?;
    let mut holds = timeline.holds().iter();
    holds.find(|hold| hold.worker == worker && hold.begin_ns.abs_diff(at_ns) < 1_000_000)
}

pub(super) fn story_line(line: &str) -> StoryLine {
    // Most lines begin with a time: `1.204 s  client 0 ...`.
    let (at, text) = match line.split_once("  ") {
        Some((at, text)) if at.ends_with('s') && at.len() < 16 => (at, text),
        _ => ("", line),
    };
    StoryLine {
        number: None,
        at_ns: seconds_to_ms(at).and_then(|ms| ms.checked_mul(1_000_000)),
        at: name(at).shown,
        text: sentence(text),
    }
}
