//! Formats the decision as Markdown for a job summary or a pull-request comment.

use picklock_scenarios::BackendName;

use super::cell_key::CellKey;
use super::decide::Decision;
use super::finding::{Finding, Kind, Proof};
use super::terminal::{counts, verdict};
use crate::escape::visible;
use crate::markdown::quoted::{code, prose};
use crate::matrix::Severity;
use crate::problem::capitalized;
use crate::units::count;

/// Maximum number of findings to list, because the size of a job summary is limited. The rest is counted.
const MAX_FINDINGS: usize = 50;

/// Number of findings that are shown in full. Further ones are folded.
const MAX_OPEN: usize = 3;

/// Maximum number of scenarios to list.
const MAX_SCENARIOS: usize = 20;

/// Formats the decision as Markdown: what happened, whose fault it is, the remedy and the command of each finding, and
/// then the rest.
pub fn markdown(decision: &Decision) -> String {
    let mut text = format!("### {}\n", title(decision));
    let shown = &decision.findings[..decision.findings.len().min(MAX_FINDINGS)];
    let is_alone = shown.len() == 1;
    for (index, finding) in shown.iter().enumerate() {
        if index < MAX_OPEN {
            if !is_alone {
                text.push_str(&format!("\n#### {}\n", finding_title(finding)));
            }
            text.push_str(&block(finding, decision));
        } else {
            let (title, block) = (finding_title(finding), block(finding, decision));
            text.push_str(&format!(
                "\n<details><summary>{title}</summary>\n{block}\n</details>\n"
            ));
        }
    }
    let more = decision.findings.len() - shown.len();
    if more > 0 {
        text.push_str(&format!("\n… and {more} more.\n"));
    }
    for known in &decision.accepted {
        text.push_str(&format!("\n- {}\n", prose(known)));
    }
    for warning in &decision.warnings {
        text.push_str(&format!("\n- **Warning:** {}\n", prose(warning)));
    }
    text.push_str(&limits(decision));
    if shown.iter().any(|one| one.proof.is_some()) {
        text.push_str(
            "\nThe timeline is in `report.html` of the job's artifacts, if it saves `--out`.\n",
        );
    }
    text.push_str(&format!("\n{}.\n", counts(decision)));
    text
}

/// Returns the answer in one line.
fn title(decision: &Decision) -> String {
    let sign = match decision.severity() {
        Severity::AsExpected if decision.unfinished > 0 => "?",
        Severity::AsExpected => "✔",
        Severity::Inconclusive => "?",
        Severity::Failed | Severity::NotRun => "✘",
    };
    let words = match &decision.findings[..] {
        [only] => finding_title(only),
        _ => verdict(decision),
    };
    format!("{sign} Picklock: {words}")
}

/// Returns whose fault a finding is and the cause, or its kind.
fn finding_title(finding: &Finding) -> String {
    match &finding.proof {
        Some(proof) => fault_and_cause(proof),
        None => finding.kind.title().to_owned(),
    }
}

/// Formats the fault, such as `the lock's fault: a release deleted another client's lock`.
fn fault_and_cause(proof: &Proof) -> String {
    match proof.causes.first() {
        Some(cause) => format!("{}: {}", proof.party, prose(cause.summary())),
        None => proof.party.to_owned(),
    }
}

/// Formats a finding: what happened and where, the remedy, the command, and folded the story and the other scenarios.
fn block(finding: &Finding, decision: &Decision) -> String {
    let mut text = String::new();
    let mut add = |paragraph: &str| text.push_str(&format!("\n{paragraph}\n"));
    match &finding.proof {
        Some(proof) => {
            let place = place(finding, decision);
            add(&format!("{}: {place}.", prose(&proof.headline)));
            // The first sentence is in the title.
            if let Some((_, more)) = proof.fault.split_once(". ") {
                add(&prose(more));
            }
            if let Some(remedy) = proof.remedy {
                add(&format!("**Remedy: {}.**", prose(remedy)));
            }
        }
        None => {
            let problem: Vec<String> = finding.problem.lines().map(prose).collect();
            let cell = finding.cell.as_ref();
            let cell = cell.map_or(String::new(), |_| format!("{}: ", place(finding, decision)));
            add(&format!("{cell}{}", problem.join("<br>")));
        }
    }
    if let Some(help) = &finding.help {
        add(&format!("{}.", capitalized(&prose(help))));
    }
    if let Some(command) = &finding.reproduce {
        add(&preformatted([command.as_str()]));
    }
    if !finding.story.is_empty() || !finding.also_in.is_empty() {
        add(&details(finding));
    }
    text
}

/// Formats where a finding occurred.
fn place(finding: &Finding, decision: &Decision) -> String {
    let Some(cell) = &finding.cell else {
        return String::new();
    };
    let backend = match cell.backend {
        BackendName::Sim => String::new(),
        backend => format!(" ({backend})"),
    };
    let (lock, scenario) = (lock_of(cell), code(&cell.scenario) + &backend);
    match finding.also_in.len() {
        0 => format!("{lock} in {scenario}"),
        more => format!(
            "{lock} in {scenario} and {more} more of {}",
            count(decision.cells, "cell")
        ),
    }
}

/// Formats the lock with its options.
fn lock_of(cell: &CellKey) -> String {
    let options = cell.options.iter();
    let lock = options.fold(cell.lock.clone(), |lock, (name, value)| {
        format!("{lock} {name}={value}")
    });
    code(&lock)
}

/// Formats the story and the other scenarios of a finding, and how it is accepted, as a fold.
fn details(finding: &Finding) -> String {
    let title = match finding.also_in.len() {
        0 => "Story".to_owned(),
        more if finding.story.is_empty() => format!("The other {}", count(more, "scenario")),
        more => format!("Story, and the other {}", count(more, "scenario")),
    };
    let mut text = format!("<details><summary>{title}</summary>\n\n");
    text.push_str(&preformatted(finding.story.iter().map(AsRef::as_ref)));
    if !finding.also_in.is_empty() {
        let scenarios = finding.also_in.iter().take(MAX_SCENARIOS);
        let scenarios: Vec<String> = scenarios.map(|cell| code(&cell.scenario)).collect();
        let more = finding.also_in.len() - scenarios.len();
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        text.push_str(&format!("\n\nAlso in {}{more}.", scenarios.join(", ")));
    }
    if let (Kind::Verdict, Some(cell), Some(proof)) = (finding.kind, &finding.cell, &finding.proof)
        && let Some(property) = finding.properties.first()
        // In a code block nothing can be escaped, so a table is offered only for a name that needs no escapes.
        && !cell.lock.contains(['"', '\\', '<', '&'])
    {
        let cause = proof.causes.first().map(|cause| format!(": {cause}"));
        let cause = cause.unwrap_or_default();
        let table = [
            "[[accept]]".to_owned(),
            format!("lock = {:?}", cell.lock),
            format!("{property} = \"violated{cause}\""),
            "reason = \"…\"".to_owned(),
            "until = YYYY-MM-DD".to_owned(),
        ];
        text.push_str("\n\nTo accept this until a date, add to `picklock.toml`:\n\n");
        text.push_str(&preformatted(table.iter().map(String::as_str)));
    }
    text.push_str("\n\n</details>");
    text
}

/// Formats lines as a code block. Untrusted text cannot close a block that is indented by four blanks.
fn preformatted<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    let lines = lines
        .into_iter()
        .map(|line| format!("    {}", visible(line)));
    lines.collect::<Vec<_>>().join("\n")
}

/// Formats the limits before and now, broken limits first.
fn limits(decision: &Decision) -> String {
    let mut limits: Vec<_> = decision.limits.iter().collect();
    if limits.is_empty() {
        return String::new();
    }
    limits.sort_by_key(|one| one.kept);
    let mut text = "\n| | cell | limit | before | now |\n|---|---|---|---|---|\n".to_owned();
    for one in limits.iter().take(MAX_FINDINGS) {
        let mark = if one.kept { "✔" } else { "✘" };
        let [cell, limit] = [&one.cell.to_string(), &one.limit].map(|it| code(it));
        let before = one.before.as_deref().map_or("–".to_owned(), prose);
        let now = prose(&one.now);
        text.push_str(&format!(
            "| {mark} | {cell} | {limit} | {before} | {now} |\n"
        ));
    }
    let more = limits.len().saturating_sub(MAX_FINDINGS);
    if more > 0 {
        text.push_str(&format!("\n… and {more} more limits.\n"));
    }
    text
}
