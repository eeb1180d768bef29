//! `picklock explain`: describes scenarios, properties, causes and locks in prose.
//!
//! Properties and causes have handwritten pages. The pages of scenarios and locks are generated from the catalog and
//! the table of locks.

use std::fmt::Write;

use picklock_harness::check::{Cause, Property, describe};
use picklock_harness::expectation::{Expectation, Expected, Tables};
use picklock_harness::spec::{Overrides, resolve_scenario};
use picklock_impls::BuiltInLock;
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use picklock_reports::listing::{Listing, text};
use picklock_reports::units::count;
use picklock_scenarios::{CAUSES, OTHERS, PROPERTIES, Scenario, Workload, catalog};

use crate::cli::ExplainArgs;
use crate::configuration::configured_locks::ConfiguredLocks;
use crate::exit::Failure;
use crate::listing::{entry, listing};
use crate::named_lock::NamedLock;
use crate::usage_hint::or_meant;
use crate::{lock, print};

/// Prints the pages of a name, or a list of all names.
///
/// # Errors
/// Returns an error if the name is unknown (with the nearest one), or if the catalog does not parse.
pub fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let text = match &args.name {
        None => text(&topics()?, print::width()),
        Some(name) => Inert::lines(&explain(name)?),
    };
    print::out(&text);
    Ok(())
}

/// Returns the pages of this name. A cause and a scenario may share a name.
fn explain(name: &str) -> Result<String, Failure> {
    let mut found: Vec<String> = Vec::new();
    found.extend(Property::named(name).map(|property| describe(property).page.to_owned()));
    found.extend(Cause::named(name).map(|cause| cause.page().to_owned()));
    if catalog::names().any(|known| known == name) {
        found.push(scenario_page(&catalog::named(name)?));
    }
    if let Some(lock) = picklock_impls::find(name) {
        found.push(lock_page(lock)?);
    }
    if found.is_empty() {
        return Err(unknown(name));
    }
    Ok(found.join("\n"))
}

fn locks() -> impl Iterator<Item = &'static BuiltInLock> {
    picklock_impls::all()
}

fn unknown(name: &str) -> Failure {
    let all = PROPERTIES.iter().chain(CAUSES).copied();
    let all = all
        .chain(catalog::names())
        .chain(locks().map(|lock| lock.name));
    let hint = or_meant(name, all);
    let shown: String = name.chars().take(60).collect();
    Failure::Usage(inert!(
        "`{}` is not a scenario, property, cause or lock{} (`picklock explain` lists them all)",
        shown,
        Inert::lines(&hint)
    ))
}

fn topics() -> Result<Vec<Listing>, Failure> {
    let page = |name: &str, page: &str| entry(name, first_sentence(page));
    let properties = Property::ALL.map(|one| page(one.as_str(), describe(one).page));
    let causes = Cause::ALL.map(|one| page(one.as_str(), one.page()));
    let mut scenarios = Vec::new();
    for name in catalog::names() {
        scenarios.push(entry(name, first_sentence(&catalog::named(name)?.summary)));
    }
    let locks = locks().map(|lock| entry(lock.name, lock.summary));
    Ok(vec![
        listing("properties", "", properties),
        listing("causes", "", causes),
        listing("scenarios", "", scenarios),
        listing("locks", "", locks),
    ])
}

/// Returns the first sentence below the title.
fn first_sentence(page: &str) -> String {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    let prose = lines.collect::<Vec<_>>().join(" ");
    let prose = prose.trim();
    match prose.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => prose.to_owned(),
    }
}

fn scenario_page(scenario: &Scenario) -> String {
    let summary = wrapped(&scenario.summary, "");
    let mut page = format!("# {} (scenario)\n\n{summary}", scenario.name);
    if let Some(source) = &scenario.source {
        page.push_str(&wrapped(&format!("\nSource: {source}"), "  "));
    }
    let workload = &scenario.workload;
    page.push('\n');
    page.push_str(&wrapped(&describe_workload(workload), ""));
    page.push_str("\nWhat goes wrong:\n");
    if scenario.faults.is_empty() {
        page.push_str("- nothing\n");
    }
    for fault in &scenario.faults {
        page.push_str(&wrapped(&format!("- {}", fault.sentence()), "  "));
    }
    page.push_str("\nWhat is expected (what is not named holds):\n");
    if scenario.expect.is_empty() {
        page.push_str("- nothing: the scenario only reports the results\n");
    }
    // `OTHERS` sorts first, but reads best last.
    let (others, named): (Vec<_>, Vec<_>) =
        scenario.expect.keys().partition(|name| *name == OTHERS);
    for lock in named.into_iter().chain(others) {
        let who = match (lock.as_str(), scenario.expect.len()) {
            (OTHERS, 1) => "everybody",
            (OTHERS, _) => "all other locks",
            (name, _) => name,
        };
        let expected = Expected::for_lock(scenario, lock, Tables::NamedOnly);
        let line = format!("- {who}: {}", expectation_text(&expected));
        page.push_str(&wrapped(&line, "  "));
    }
    page
}

fn describe_workload(workload: &Workload) -> String {
    let clients = count(workload.workers, "client");
    let stock = count(workload.stock, "unit");
    let what = match (&workload.arrivals, &workload.duration) {
        (Some(arrivals), Some(duration)) => format!(
            "{clients} serve {arrivals} buyers for {}; {stock}",
            duration.describe()
        ),
        _ => format!("{clients} buy {stock}"),
    };
    let each = match workload.keys {
        1 => String::new(),
        keys => format!(" of each of {keys} locks"),
    };
    let extend = match &workload.extend {
        Some(extend) => format!(", extended every {}", extend.describe()),
        None => String::new(),
    };
    format!(
        "{what}{each}; lease {}{extend}, critical section {}.",
        workload.ttl.describe(),
        workload.section.describe()
    )
}

/// Wraps `text` to 100 columns, like the handwritten pages, and indents every line but the first.
fn wrapped(text: &str, indent: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        let wide = word.chars().count();
        if column > 0 && column + 1 + wide > 100 {
            write!(out, "\n{indent}").ok();
            column = indent.len();
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += wide;
    }
    out.push('\n');
    out
}

/// Describes which properties may be violated and why, grouping properties with the same expectation.
fn expectation_text(expected: &Expected) -> String {
    let mut groups: Vec<(&Expectation, Vec<&str>)> = Vec::new();
    let expected = expected.iter();
    for (property, one) in expected.filter(|(_, one)| **one != Expectation::Held) {
        match groups.iter_mut().find(|(known, _)| *known == one) {
            Some((_, properties)) => properties.push(property.as_str()),
            None => groups.push((one, vec![property.as_str()])),
        }
    }
    let words = groups.into_iter().map(|(one, properties)| {
        let properties = properties.join(", ");
        match one {
            Expectation::Held => format!("{properties} held"),
            Expectation::Violated { cause: None } => format!("{properties} violated"),
            Expectation::Violated { cause: Some(cause) } => {
                format!("{properties} violated ({cause})")
            }
            Expectation::Any { reason: None } => format!("{properties} held or violated"),
            Expectation::Any { reason: Some(why) } => {
                format!("{properties} held or violated ({why})")
            }
        }
    });
    let words: Vec<String> = words.collect();
    match words.as_slice() {
        [] => "everything held".to_owned(),
        words => words.join("; "),
    }
}

fn lock_page(lock: &BuiltInLock) -> Result<String, Failure> {
    let (name, summary, nodes) = (lock.name, lock.summary, lock.nodes);
    let mut page = format!("# {name} (lock)\n\n{summary}.\n\nRequires {nodes} independent Redis ");
    page.push_str(if nodes == 1 { "node.\n" } else { "nodes.\n" });
    if picklock_impls::MUTANTS
        .iter()
        .any(|mutant| mutant.name == name)
    {
        page.push_str("\nIt is broken on purpose, so the catalog expects nothing of it.\n");
        return Ok(page);
    }
    let spec = lock::named(&NamedLock::plain(name), &[], &ConfiguredLocks::default())?;
    page.push_str("\nWhat the catalog expects of it (what is not named holds):\n");
    for scenario in catalog::names() {
        let scenario = catalog::named(scenario)?;
        let given = scenario.topology.nodes.unwrap_or(nodes);
        let resolved = resolve_scenario(scenario.clone(), &spec, Overrides::default());
        let words = match (scenario.topology.lacks_nodes(given), resolved) {
            (Some(lacking), _) => format!("not applicable: {lacking}"),
            (None, Ok(_)) => {
                expectation_text(&Expected::for_lock(&scenario, name, Tables::NamedOrAll))
            }
            (None, Err(refused)) => format!("not applicable: {}", refused.error.problem),
        };
        let only: Vec<&str> = scenario.backends.iter().map(|one| one.as_str()).collect();
        let only = match only.as_slice() {
            [] => String::new(),
            only => format!(" (only {})", only.join(", ")),
        };
        let line = format!("- {}{only}: {words}", scenario.name);
        page.push_str(&wrapped(&line, "  "));
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_its_title_and_fits_a_terminal() {
        let properties = Property::ALL.map(|one| (one.as_str(), describe(one).page, 40));
        let causes = Cause::ALL.map(|one| (one.as_str(), one.page(), 32));
        for (name, page, most) in properties.into_iter().chain(causes) {
            assert!(page.starts_with(&format!("# {name}")), "{name}: the title");
            let lines = page.lines().count();
            assert!((10..=most).contains(&lines), "{name} has {lines} lines");
            let prose = page.lines().all(|line| line.chars().count() <= 100);
            assert!(prose, "{name}: a line is too long");
        }
    }

    #[test]
    fn every_page_of_a_cause_says_what_to_do_and_names_its_sources() {
        for cause in Cause::ALL
            .into_iter()
            .filter(|cause| *cause != Cause::Undetermined)
        {
            for part in [
                "Whose fault",
                "How it comes about",
                "What to do",
                "https://",
            ] {
                assert!(cause.page().contains(part), "{cause}: {part}");
            }
        }
    }
}
