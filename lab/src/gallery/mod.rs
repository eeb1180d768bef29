//! The gallery of causes: for each cause the smallest reproduction in the catalog, its timeline as a picture, and the
//! remedy. [`examples`] runs them, so the page and the pictures cannot become stale.

mod picture;

use std::fmt::Write;

use picklock_harness::history::History;
use picklock_impls::find;
use picklock_reports::problem::{Problem, problems};
use picklock_reports::remedy::anchor;
use picklock_reports::units::time_ns;
use picklock_scenarios::catalog;
use picklock_verdicts::check::{Cause, Responsible, judge};

use crate::simulated::simulate;

/// The seed of every run.
const SEED: u64 = 1;

/// A cause, and the lock and the scenario that show it.
#[derive(Debug, Clone, Copy)]
struct Row(Cause, &'static str, &'static str);

/// The causes that a simulated run of a lock in the catalog shows. The order is that of the page.
const ROWS: &[Row] = &[
    Row(Cause::OutlivedLease, "set-nx-px", "gc-pause"),
    Row(Cause::ExpiredGrant, "setnx-lua", "late-grant"),
    Row(Cause::LateWrite, "set-nx-px", "late-write"),
    Row(Cause::StolenRelease, "setnx-expire", "finally-unlock"),
    Row(Cause::Race, "get-then-del", "stale-delete"),
    Row(Cause::FalseRelease, "pubsub", "lost-release"),
    Row(Cause::OwnRemoval, "inner-release-frees", "reentrant"),
    Row(Cause::NoTtl, "setnx-expire", "crash-mid-acquire"),
    Row(Cause::SharedToken, "set-nx-px", "same-seed"),
    Row(Cause::WrongExpiry, "seconds-as-millis", "calm"),
    Row(Cause::SharedKey, "truncated-key", "two-keys"),
    Row(Cause::SplitKey, "split-key", "calm"),
    Row(Cause::AmbiguousAcquire, "refused-but-won", "late-winner"),
    Row(Cause::StaleReply, "reads-old-replies", "eviction"),
    Row(Cause::PhantomExtend, "getset", "late-extend"),
    Row(Cause::ForeignRenewal, "renews-any-value", "cut-off-holder"),
    Row(
        Cause::LateExtension,
        "waiters-take-the-pool",
        "exhausted-pool",
    ),
    Row(Cause::RefusedExtension, "encoded-release", "extend"),
    Row(
        Cause::RenewedAfterRelease,
        "watchdog-outlives-unlock",
        "lost-release",
    ),
    Row(
        Cause::RenewedAfterEnd,
        "renews-for-the-dead",
        "ended-client",
    ),
    Row(Cause::LostWakeUp, "subscribes-too-late", "late-subscribe"),
    Row(Cause::LateTimeout, "waits-for-reply", "lost-reply"),
    Row(Cause::UnbackedGrant, "redlock-no-quorum", "split-vote"),
    Row(
        Cause::WaitsForEveryNode,
        "needs-every-node",
        "quorum-erosion",
    ),
    Row(
        Cause::NotExclusive,
        "semaphore-one-too-many",
        "permits-lost-release",
    ),
    Row(
        Cause::PermitMinted,
        "semaphore-counter",
        "permits-finally-unlock",
    ),
    Row(
        Cause::PermitLeaked,
        "semaphore-counter",
        "permits-holder-crash",
    ),
    Row(Cause::LostOnFailover, "set-nx-px", "master-failover"),
    Row(Cause::LostOnRestart, "set-nx-px", "node-restart"),
    Row(Cause::QuorumErosion, "redlock", "quorum-erosion"),
    Row(Cause::Evicted, "set-nx-px", "eviction"),
    Row(Cause::ClockJump, "set-nx-px", "clock-jump"),
    Row(Cause::ClockSkew, "getset", "clock-skew"),
    Row(Cause::ReleasedBeforeCommit, "set-nx-px", "late-commit"),
    Row(Cause::UncheckedWrite, "set-nx-px", "unchecked-write"),
    Row(Cause::StaleRead, "set-nx-px", "stale-read"),
];

/// A cause with its page section and its picture.
#[derive(Debug)]
pub struct Example {
    /// The cause.
    pub cause: Cause,
    /// Its section of the page, as Markdown.
    pub section: String,
    /// Its timeline, as SVG.
    pub picture: String,
}

/// Runs every reproduction.
///
/// # Errors
/// Returns an error if a run no longer shows its cause, so that its row needs another lock or scenario.
pub fn examples() -> Result<Vec<Example>, String> {
    ROWS.iter().map(example).collect()
}

/// Returns the generated part of the page.
pub fn page(examples: &[Example]) -> String {
    let mut text: String = examples
        .iter()
        .map(|it| format!("{}\n", it.section))
        .collect();
    text.push_str("## Other causes\n\n");
    text.push_str(
        "No built-in lock shows these causes in the simulation. `picklock explain` describes them.\n\n",
    );
    for cause in Cause::ALL {
        if !examples.iter().any(|it| it.cause == cause) {
            text.push_str(&format!("- {}: {}\n", explained(cause), cause.summary()));
        }
    }
    text
}

fn explained(cause: Cause) -> String {
    format!(
        "[`{cause}`](../scenarios/explain/{cause}.md)",
        cause = cause.as_str()
    )
}

fn example(Row(cause, lock, scenario): &Row) -> Result<Example, String> {
    let failed = |reason: &str| format!("{}: {lock} in {scenario}: {reason}", cause.as_str());
    let built_in = find(lock).ok_or_else(|| failed("there is no such lock"))?;
    let loaded = catalog::named(scenario).map_err(|error| failed(&error.to_string()))?;
    let run = simulate(built_in, loaded, SEED).ok_or_else(|| failed("it does not fit"))?;
    let verdicts = judge(&run.history);
    let all = problems(&verdicts);
    let shown = all.iter().find(|problem| problem.causes.contains(cause));
    let shown = shown.ok_or_else(|| failed("the run does not have this cause"))?;
    let command = format!("picklock scenario {scenario} --impl {lock} --backend sim --seed {SEED}");
    Ok(Example {
        cause: *cause,
        section: section(*cause, shown, &command),
        picture: picture_of(shown, &run.history, *cause),
    })
}

fn picture_of(problem: &Problem<'_>, history: &History, cause: Cause) -> String {
    let moments: Vec<u64> = problem
        .deciding()
        .iter()
        .filter_map(|it| it.at_ns)
        .collect();
    picture::svg(
        history,
        &moments,
        &format!("{}: {}", cause.as_str(), cause.summary()),
    )
}

fn section(cause: Cause, problem: &Problem<'_>, command: &str) -> String {
    let name = cause.as_str();
    let mut text = format!("## `{name}`\n\n");
    let mut put = |line: &str| writeln!(text, "{line}").unwrap_or_default();
    put(&format!(
        "{}. {}.\n",
        capitalised(cause.summary()),
        at_fault(cause)
    ));
    put(&format!(
        "![Timeline of {name}](pictures/causes/{name}.svg)\n"
    ));
    let deciding = problem.deciding();
    let lines = problem.fault_and_deciding();
    for fault in &lines[..lines.len() - deciding.len()] {
        put(&format!("- {}\n", escaped(&fault.replace("  ", ": "))));
    }
    for (index, one) in deciding.iter().enumerate() {
        let time = one
            .at_ns
            .map_or(String::new(), |at_ns| format!("{}: ", time_ns(at_ns)));
        let line = escaped(without_time(one.line));
        put(&format!("{}. {time}{line}", index + 1));
    }
    put(&format!("\n```sh\n{command}\n```\n"));
    let remedy = cause
        .remedy()
        .map_or("None is known for all locks".to_owned(), capitalised);
    let code = anchor(cause).map_or(String::new(), |code| {
        format!(" ([code](remedies.md#{code}))")
    });
    put(&format!(
        "Remedy: {remedy}{code}. More: {}.",
        explained(cause)
    ));
    text
}

fn escaped(line: &str) -> String {
    line.replace('*', "\\*").replace('_', "\\_")
}

/// Returns a story's line without its time, which the page already shows in front of the line.
fn without_time(line: &str) -> &str {
    let is_time =
        |time: &str| time.ends_with(" s") && time.starts_with(|c: char| c.is_ascii_digit());
    match line.split_once("  ").or_else(|| line.split_once(": ")) {
        Some((time, rest)) if is_time(time) => rest.trim_start(),
        _ => line,
    }
}

fn at_fault(cause: Cause) -> String {
    match cause.responsible() {
        Responsible::Client(act) => format!("This is the client's fault: {act}"),
        Responsible::Lock => "This is the lock's fault".to_owned(),
        Responsible::Redis => "Redis lost the lock, and the lock relied on it".to_owned(),
        Responsible::Application(act) => format!("This is the application's fault: {act}"),
        Responsible::Resource(act) => format!("This is the resource's fault: {act}"),
        Responsible::Undetermined => "The history does not show whose fault it is".to_owned(),
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::generated_part::replaced_between;

    /// `picklock-lab gallery` writes the files that this test compares.
    #[test]
    fn page_and_pictures_are_up_to_date() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        let read = |path: &str| std::fs::read_to_string(docs.join(path)).unwrap();
        let all = examples().unwrap();
        let shown = read("causes.md");
        assert!(
            replaced_between(&shown, &page(&all)).unwrap() == shown,
            "docs/causes.md is stale: cargo run -p picklock-lab -- gallery"
        );
        for one in &all {
            let name = format!("pictures/causes/{}.svg", one.cause.as_str());
            assert!(read(&name) == one.picture, "{name} is stale");
            assert!(one.picture.len() < 8_000, "{name}: {}", one.picture.len());
        }
        let pictures = std::fs::read_dir(docs.join("pictures/causes")).unwrap();
        assert_eq!(pictures.count(), all.len());
    }
}
