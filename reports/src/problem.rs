//! The problems of a run. Violations that share a story are one problem, with one cause, one party at fault and one
//! remedy, in every report.

use std::collections::HashSet;

use picklock_verdicts::check::{
    Cause, Moment, Property, Responsible, Status, Verdict, Verdicts, describe,
};

use crate::responsibility::{Blame, Party};

/// Maximum number of lines that a report shows as the deciding ones.
const MAX_DECIDING: usize = 4;

/// Maximum number of lines with numbers for the first two problems together, so that a run fits on a screen. The second
/// and each further one have at least [`MIN_LINES_OF_FURTHER_PROBLEM`].
const MAX_LINES: usize = 5;
const MIN_LINES_OF_FURTHER_PROBLEM: usize = 2;

/// Number of last lines that are shown if a record does not name the deciding lines.
const LAST_LINES: usize = 3;

/// Violations that share a story.
#[derive(Debug, Clone)]
pub struct Problem<'a> {
    /// The party at fault.
    pub party: Party,
    /// The violated properties, in reading order.
    pub properties: Vec<Property>,
    /// The causes, the one that decides the fault first.
    pub causes: Vec<Cause>,
    verdicts: Vec<&'a Verdict>,
}

/// A line of a story that decides a violation, with its time in nanoseconds since the run began, if it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deciding<'a> {
    /// Time of the event.
    pub at_ns: Option<u64>,
    /// The text of the line.
    pub line: &'a str,
}

/// A deciding line with its number, which is the same in every report of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbered<'a> {
    /// The number, from 1 for the first line of the run.
    pub(crate) number: usize,
    /// Time of the event.
    pub(crate) at_ns: Option<u64>,
    /// The text of the line.
    pub(crate) line: &'a str,
}

/// Returns the problems among these verdicts, those of the lock first, each with its numbered lines. The numbers are in
/// order of time over all problems. A line that decides two problems has one number.
pub(crate) fn numbered(verdicts: &Verdicts) -> Vec<(Problem<'_>, Vec<Numbered<'_>>)> {
    let mut most = usize::MAX;
    let mut parts = Vec::new();
    for problem in problems(verdicts) {
        let lines: Vec<Deciding<'_>> = problem.deciding().into_iter().take(most).collect();
        let rest = MAX_LINES.saturating_sub(lines.len());
        most = rest.clamp(MIN_LINES_OF_FURTHER_PROBLEM, most);
        parts.push((problem, lines));
    }
    let lines = parts
        .iter()
        .flat_map(|(_, lines)| timed(lines.iter(), |one| one.line));
    let mut lines: Vec<(u64, &str)> = lines.map(|(at_ms, one)| (at_ms, one.line)).collect();
    lines.sort_by_key(|(at_ms, _)| *at_ms);
    let mut lines: Vec<&str> = lines.into_iter().map(|(_, line)| line).collect();
    let mut known = HashSet::new();
    lines.retain(|line| known.insert(*line));
    let number = |line: &str| {
        lines
            .iter()
            .position(|it| *it == line)
            .map_or(0, |it| it + 1)
    };
    let mut numbered = Vec::new();
    for (problem, lines) in parts {
        let lines = lines.into_iter().map(|Deciding { at_ns, line }| Numbered {
            number: number(line),
            at_ns,
            line,
        });
        numbered.push((problem, lines.collect()));
    }
    numbered
}

/// Returns the problems among these verdicts, those of the lock first.
pub fn problems(verdicts: &Verdicts) -> Vec<Problem<'_>> {
    problems_among(verdicts, |_| true)
}

/// Returns the problems among the selected properties, those of the lock first.
pub fn problems_among(
    verdicts: &Verdicts,
    is_wanted: impl Fn(Property) -> bool,
) -> Vec<Problem<'_>> {
    let blame = Blame::from_verdicts(verdicts);
    let mut problems: Vec<Problem<'_>> = Vec::new();
    for (property, verdict) in verdicts {
        let Some(party) = blame.party(*property).filter(|_| is_wanted(*property)) else {
            continue;
        };
        let known = problems.iter().position(|it| it.tells(party, verdict));
        let index = known.unwrap_or_else(|| {
            problems.push(Problem {
                party,
                properties: Vec::new(),
                causes: Vec::new(),
                verdicts: Vec::new(),
            });
            problems.len() - 1
        });
        problems[index].properties.push(*property);
        problems[index].verdicts.push(verdict);
    }
    for problem in &mut problems {
        let verdicts = problem.properties.iter().zip(&problem.verdicts);
        let mut causes: Vec<(u8, Cause)> = verdicts
            .filter_map(|(property, verdict)| Some((describe(*property).severity, verdict.cause?)))
            .collect();
        causes.sort();
        for (_, cause) in causes {
            if !problem.causes.contains(&cause) {
                problem.causes.push(cause);
            }
        }
    }
    problems.sort_by_key(|problem| std::cmp::Reverse(problem.party));
    problems
}

impl<'a> Problem<'a> {
    /// Returns `true` if `verdict` belongs to this problem: the same party is at fault, by the same cause or at the
    /// same time.
    fn tells(&self, party: Party, verdict: &Verdict) -> bool {
        let is_known = |cause: &Cause| *cause != Cause::Undetermined;
        let same = |other: &&Verdict| {
            let shares_cause =
                other.cause.filter(is_known).is_some() && other.cause == verdict.cause;
            let mut moments = other.moments.iter().filter(|one| !one.is_fault);
            let shares_moment = moments.any(|one| {
                let mut same = verdict.moments.iter();
                same.any(|it| !it.is_fault && it.at_ns == one.at_ns)
            });
            shares_cause
                || shares_moment
                || !verdict.story.is_empty() && other.story == verdict.story
        };
        self.party == party && self.verdicts.iter().any(same)
    }

    /// Returns the name of the cause that decides the fault, or the first violated property.
    pub fn name(&self) -> &'static str {
        let property = self.properties.first().map_or("", |it| it.as_str());
        self.causes.first().map_or(property, |cause| cause.as_str())
    }

    /// Returns one sentence that describes the violation, without a full stop.
    pub fn headline(&self) -> String {
        let mut summaries: Vec<&str> = Vec::new();
        for (property, verdict) in self.properties.iter().zip(&self.verdicts) {
            let is_overlap = |it: &Property| matches!(it, Property::Exclusion | Property::Lease);
            let has_overlap = self.properties.iter().any(is_overlap);
            let is_repeated = *property == Property::Lease
                && self.properties.contains(&Property::Exclusion)
                || *property == Property::Ownership && has_overlap;
            let summary = match verdict.summary.as_str() {
                "" => describe(*property).violated,
                summary => summary,
            };
            if !is_repeated && !summaries.contains(&summary) {
                summaries.push(summary);
            }
        }
        summaries.truncate(2);
        capitalized(&summaries.join(", and "))
    }

    /// Returns a few sentences about the party at fault and the reason.
    pub fn fault(&self, verdicts: &Verdicts) -> String {
        let blame = Blame::from_verdicts(verdicts);
        let cause = self.causes.first().copied().unwrap_or(Cause::Undetermined);
        let kept = if blame.is(Property::Lease, Status::Held) {
            " The lock kept its promise in this run."
        } else {
            ""
        };
        let mut text = match (self.party, cause.responsible()) {
            (Party::Lock, _) => format!("The lock's fault: {}.", cause.summary()),
            (Party::Redis, _) => {
                let summary = cause.summary();
                format!("Redis lost the lock, and the lock relied on it: {summary}.")
            }
            (Party::Client, Responsible::Client(action)) => {
                format!("The client's fault: {action}.{kept}")
            }
            (Party::Client, _) => {
                format!("The client's fault: it kept working after its lease had expired.{kept}")
            }
            (_, Responsible::Application(action)) => {
                format!("The application's fault, not the lock's: {action}.")
            }
            (_, Responsible::Resource(action)) => {
                format!("The resource's fault, not the lock's: {action}.")
            }
            (Party::Outside, _) => {
                "The application's fault, not the lock's: no two holds overlapped, but the stock does \
                 not add up. Check what happened outside of any hold."
                    .to_owned()
            }
            (Party::Undetermined, _) => {
                "The history does not show whether the lock, Redis or the client is at fault."
                    .to_owned()
            }
        };
        if let Some(damage) = self.damage(&blame) {
            text.push(' ');
            text.push_str(damage);
        }
        text
    }

    /// Returns a sentence about the damage to the stock if the problem is an overlap of holds.
    fn damage(&self, blame: &Blame) -> Option<&'static str> {
        if !self
            .properties
            .iter()
            .any(|it| matches!(it, Property::Exclusion | Property::Lease))
        {
            return None;
        }
        let is_damaged = self.properties.contains(&Property::Resource);
        let has_tokens = [Status::Held, Status::Violated]
            .iter()
            .any(|it| blame.is(Property::Fencing, *it));
        match (is_damaged, has_tokens) {
            (true, true) => Some("The stock was damaged although there are fencing tokens."),
            (true, false) if self.party == Party::Client => {
                Some("Only fencing would have protected the stock.")
            }
            (true, false) => None,
            (false, _) if !blame.is(Property::Resource, Status::Held) => None,
            (false, true) => Some("Fencing did its work: the stock was not damaged."),
            (false, false) => {
                Some("The stock was not damaged this time, but nothing would have prevented it.")
            }
        }
    }

    /// Returns the remedy, or `None` if the cause is unknown.
    pub fn remedy(&self) -> Option<&'static str> {
        self.causes.iter().find_map(|cause| cause.remedy())
    }

    /// Returns the lines of the story, each once, in order of time.
    pub fn story(&self) -> Vec<&'a str> {
        let mut lines: Vec<&str> = Vec::new();
        for line in self.verdicts.iter().flat_map(|verdict| &verdict.story) {
            if !lines.contains(&line.as_str()) {
                lines.push(line);
            }
        }
        in_order_of_time(lines, |line| line)
    }

    /// Returns the deciding lines of the violation with the most deciding lines, in order of time.
    pub fn deciding(&self) -> Vec<Deciding<'a>> {
        self.marked(|moment| !moment.is_fault)
    }

    /// Returns the line of the last fault that began before the first deciding line.
    pub fn last_fault(&self) -> Option<Deciding<'a>> {
        let first_ns = self.deciding().first().and_then(|one| one.at_ns);
        let faults = self.marked(|moment| moment.is_fault);
        let mut earlier = faults.into_iter();
        earlier.rfind(|one| one.at_ns.is_some() && one.at_ns <= first_ns)
    }

    /// Returns the deciding lines, preceded by the last fault that began before them.
    pub fn fault_and_deciding(&self) -> Vec<&'a str> {
        let lines = self.last_fault().into_iter().chain(self.deciding());
        lines.map(|one| one.line).collect()
    }

    fn marked(&self, is_wanted: impl Fn(&Moment) -> bool) -> Vec<Deciding<'a>> {
        let decisive = |verdict: &Verdict| verdict.moments.iter().filter(|it| !it.is_fault).count();
        let fullest = self.verdicts.iter().rev().max_by_key(|it| decisive(it));
        let Some(verdict) = fullest else {
            return Vec::new();
        };
        let at = |at_ns, line: &'a String| Deciding { at_ns, line };
        if decisive(verdict) == 0 {
            let skipped = verdict.story.len().saturating_sub(LAST_LINES);
            let last = verdict.story[skipped..].iter();
            return in_order_of_time(last.map(|line| at(None, line)).collect(), |one| one.line);
        }
        let wanted = verdict.moments.iter().filter(|moment| is_wanted(moment));
        let lines = wanted.filter_map(|it| Some(at(Some(it.at_ns), verdict.story.get(it.line)?)));
        let mut lines: Vec<Deciding<'a>> = lines.collect();
        if lines.len() > MAX_DECIDING {
            // The last line is kept, because it describes the damage.
            lines.drain(MAX_DECIDING - 1..lines.len() - 1);
        }
        in_order_of_time(lines, |one| one.line)
    }

    /// Returns the time of the first violation, in nanoseconds since the run began.
    pub fn at_ns(&self) -> Option<u64> {
        self.verdicts
            .iter()
            .filter_map(|verdict| verdict.at_ns)
            .min()
    }
}

/// Sorts the lines of a story by time. Lines of the same millisecond stay in the order of the story.
fn in_order_of_time<T>(lines: Vec<T>, text: impl Fn(&T) -> &str) -> Vec<T> {
    let mut lines = timed(lines.into_iter(), text);
    lines.sort_by_key(|(at_ms, _)| *at_ms);
    lines.into_iter().map(|(_, line)| line).collect()
}

/// Returns the lines of a story with the times with which they begin, in milliseconds. A line without a time has the
/// time of its predecessor.
fn timed<T>(lines: impl Iterator<Item = T>, text: impl Fn(&T) -> &str) -> Vec<(u64, T)> {
    let mut last_ms = 0;
    let with_time = |line: T| {
        let time = text(&line).split_once("  ").map_or("", |(time, _)| time);
        last_ms = seconds_to_ms(time).unwrap_or(last_ms);
        (last_ms, line)
    };
    lines.map(with_time).collect()
}

/// Reads the time at the beginning of a line, such as `1.204 s`, in milliseconds.
pub(crate) fn seconds_to_ms(text: &str) -> Option<u64> {
    let (seconds, millis) = text.strip_suffix(" s")?.split_once('.')?;
    let number = |digits: &str| digits.parse::<u64>().ok();
    let millis = number(millis).filter(|_| millis.len() == 3)?;
    number(seconds)?.checked_mul(1_000)?.checked_add(millis)
}

/// Returns the text with a capital first letter.
pub(crate) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

#[cfg(test)]
mod tests;
