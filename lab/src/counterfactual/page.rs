//! The results as Markdown.

use std::fmt::Write;

use picklock_scenarios::FaultKind;
use picklock_verdicts::check::Cause;

use super::examine::Outcome;
use super::needs::needs;
use super::study::Study;

/// Formats the table of the faults that each cause needs.
pub fn needs_table() -> String {
    let mut text = "| cause | names | may need | because |\n|---|---|---|---|\n".to_owned();
    for cause in Cause::ALL {
        let row = needs(cause);
        // Writing to a string cannot fail.
        writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            cause.as_str(),
            list(row.names),
            list(
                &FaultKind::all()
                    .filter(|it| row.may_need(*it))
                    .collect::<Vec<_>>()
            ),
            row.because,
        )
        .unwrap_or_default();
    }
    text
}

fn list(kinds: &[FaultKind]) -> String {
    if kinds.is_empty() {
        return "no fault".to_owned();
    }
    if kinds.len() == FaultKind::all().count() {
        return "any fault".to_owned();
    }
    let words: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    words.join(", ")
}

/// Formats the results: one row per cause, the circumstances that were needed, and the disagreements.
pub fn page(study: &Study) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    write_page(&mut text, study).unwrap_or_default();
    text
}

fn write_page(text: &mut String, study: &Study) -> std::fmt::Result {
    writeln!(
        text,
        "| cause | violations | confirmed | with a neighbouring seed | redundant | preempted | ended | excused | shifted \
         | disagreements |"
    )?;
    writeln!(text, "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")?;
    let mut sums = [0; 9];
    for cause in Cause::ALL {
        let row = [
            study.causes.get(&cause).copied().unwrap_or_default(),
            study.count(cause, Outcome::Confirmed),
            study.count(cause, Outcome::ConfirmedNearby),
            study.count(cause, Outcome::Redundant),
            study.count(cause, Outcome::Preempted),
            study.count(cause, Outcome::Ended),
            study.count(cause, Outcome::Excused),
            study.count(cause, Outcome::Shifted),
            study.count(cause, Outcome::Disagreement),
        ];
        let cells = row.map(|count| count.to_string()).join(" | ");
        writeln!(text, "| `{}` | {cells} |", cause.as_str())?;
        sums.iter_mut().zip(row).for_each(|(sum, it)| *sum += it);
    }
    writeln!(
        text,
        "| all | {} |",
        sums.map(|it| it.to_string()).join(" | ")
    )?;
    writeln!(
        text,
        "\n{} of {} runs had a violation. {} removals changed the run before their fault fired.",
        study.violated, study.runs, study.too_early
    )?;
    write_circumstances(text, study)
}

fn write_circumstances(text: &mut String, study: &Study) -> std::fmt::Result {
    writeln!(
        text,
        "\nFaults that a cause may need: how many removals it did not survive.\n"
    )?;
    writeln!(
        text,
        "| cause | fault | needed | removed |\n|---|---|---:|---:|"
    )?;
    for ((cause, kind), (needed, tried)) in &study.circumstances {
        writeln!(
            text,
            "| `{}` | {kind} | {needed} | {tried} |",
            cause.as_str()
        )?;
    }
    writeln!(
        text,
        "\nPreempted: the lock's own mistake would have had the effect of the named fault.\n"
    )?;
    writeln!(
        text,
        "| lock | cause | without the fault | checks |\n|---|---|---|---:|"
    )?;
    for ((lock, cause, instead), count) in &study.preempted {
        let (cause, instead) = (cause.as_str(), instead.as_str());
        writeln!(text, "| `{lock}` | `{cause}` | `{instead}` | {count} |")?;
    }
    if !study.disagreements.is_empty() {
        writeln!(text, "\nDisagreements:\n")?;
    }
    for one in &study.disagreements {
        writeln!(text, "- {one}")?;
    }
    Ok(())
}
