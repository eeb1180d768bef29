//! `picklock explain`: describes scenarios, properties, causes and locks in prose.
//!
//! Properties and causes have written pages. The pages of scenarios and locks are generated from
//! the catalog and the table of locks.

use std::fmt::Write;

use picklock_harness::check::{Cause, Property, describe};
use picklock_impls::{BuiltInLock, LOCKS, MUTANTS};
use picklock_reports::listing::{Entry, Listing, text};
use picklock_scenarios::{CAUSES, Expectation, PROPERTIES, Scenario, Workload, catalog, nearest};

use crate::cli::ExplainArgs;
use crate::exit::Failure;
use crate::print;

/// Prints the pages of a name, or a list of all names.
///
/// # Errors
/// The name is unknown (the error gives the nearest one), or the catalog does not parse.
pub fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let said = match &args.name {
        None => text(&topics()?, print::width()),
        Some(name) => explain(name)?,
    };
    print::out(&said);
    Ok(())
}

/// The pages of this name. A cause and a scenario may share a name.
fn explain(name: &str) -> Result<String, Failure> {
    let mut found: Vec<String> = Vec::new();
    found.extend(Property::named(name).map(|property| describe(property).page.to_owned()));
    found.extend(Cause::named(name).map(|cause| cause.page().to_owned()));
    if catalog::names().any(|known| known == name) {
        found.push(scenario_page(&named(name)?));
    }
    if let Some(lock) = picklock_impls::find(name) {
        found.push(lock_page(lock)?);
    }
    if found.is_empty() {
        return Err(unknown(name));
    }
    Ok(found.join("\n"))
}

fn named(name: &str) -> Result<Scenario, Failure> {
    catalog::named(name).map_err(|error| Failure::Usage(error.to_string()))
}

fn locks() -> impl Iterator<Item = &'static BuiltInLock> {
    LOCKS.iter().chain(MUTANTS)
}

fn unknown(name: &str) -> Failure {
    let all = PROPERTIES.iter().chain(CAUSES).copied();
    let all = all
        .chain(catalog::names())
        .chain(locks().map(|lock| lock.name));
    let hint =
        nearest(name, all).map_or(String::new(), |meant| format!("; did you mean `{meant}`?"));
    let shown: String = name.chars().take(60).collect();
    let shown = picklock_reports::escape::visible(&shown);
    Failure::Usage(format!(
        "`{shown}` is not a scenario, property, cause or lock{hint} (`picklock explain` lists them all)"
    ))
}

fn topics() -> Result<Vec<Listing>, Failure> {
    let entry = |name: &str, summary: String| Entry {
        name: name.to_owned(),
        summary,
        extra: Vec::new(),
    };
    let page = |name: &str, page: &str| entry(name, first_sentence(page));
    let properties = Property::ALL.map(|one| page(one.word(), describe(one).page));
    let causes = Cause::ALL.map(|one| page(one.word(), one.page()));
    let mut scenarios = Vec::new();
    for name in catalog::names() {
        scenarios.push(entry(name, first_sentence(&named(name)?.summary)));
    }
    let listing = |kind, entries| Listing {
        kind,
        note: "",
        entries,
    };
    Ok(vec![
        listing("properties", properties.into()),
        listing("causes", causes.into()),
        listing("scenarios", scenarios),
        listing(
            "locks",
            locks()
                .map(|lock| entry(lock.name, lock.summary.to_owned()))
                .collect(),
        ),
    ])
}

/// The first sentence below the title.
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
    page.push_str(&wrapped(&workload_in_words(workload), ""));
    page.push_str("\nWhat goes wrong:\n");
    if scenario.faults.is_empty() {
        page.push_str("- nothing\n");
    }
    for fault in &scenario.faults {
        page.push_str(&wrapped(&format!("- {}", fault.in_words()), "  "));
    }
    page.push_str("\nWhat is expected:\n");
    if scenario.expect.is_empty() {
        page.push_str("- nothing: the scenario only shows what happens\n");
    }
    // "*" sorts first, but reads best last.
    let (others, named): (Vec<_>, Vec<_>) =
        scenario.expect.iter().partition(|(name, _)| *name == "*");
    for (lock, expected) in named.into_iter().chain(others) {
        let who = match (lock.as_str(), scenario.expect.len()) {
            ("*", 1) => "everybody",
            ("*", _) => "all other locks",
            (name, _) => name,
        };
        let in_order = PROPERTIES
            .iter()
            .filter_map(|property| expected.get_key_value(*property));
        let words =
            in_order.map(|(property, outcome)| format!("{property} {}", expectation(outcome)));
        let line = format!("- {who}: {}", words.collect::<Vec<_>>().join(", "));
        page.push_str(&wrapped(&line, "  "));
    }
    page
}

fn workload_in_words(workload: &Workload) -> String {
    let (workers, stock) = (workload.workers, workload.stock);
    let what = match (&workload.arrivals, &workload.duration) {
        (Some(arrivals), Some(duration)) => format!(
            "{workers} workers serve {arrivals} buyers for {}; {stock} units",
            duration.in_words()
        ),
        _ => format!("{workers} workers buy {stock} units"),
    };
    let each = match workload.keys {
        1 => String::new(),
        keys => format!(" of each of {keys} locks"),
    };
    let extend = match &workload.extend {
        Some(extend) => format!(", extended every {}", extend.in_words()),
        None => String::new(),
    };
    format!(
        "{what}{each}; lease {}{extend}, critical section {}.",
        workload.ttl.in_words(),
        workload.section.in_words()
    )
}

/// `text` broken at blanks to 100 columns, as the pages are; every line but the first is indented.
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

fn expectation(expected: &Expectation) -> String {
    match expected {
        Expectation::Held => "holds".to_owned(),
        Expectation::Violated { cause: None } => "is violated".to_owned(),
        Expectation::Violated { cause: Some(cause) } => format!("is violated ({cause})"),
        Expectation::Any => "may hold or be violated".to_owned(),
    }
}

fn lock_page(lock: &BuiltInLock) -> Result<String, Failure> {
    let BuiltInLock {
        name,
        summary,
        nodes,
        ..
    } = lock;
    let mut page = format!("# {name} (lock)\n\n{summary}.\n\nRequires {nodes} independent Redis ");
    page.push_str(if *nodes == 1 { "node.\n" } else { "nodes.\n" });
    page.push_str("\nWhat the catalog expects of it:\n");
    for scenario in catalog::names() {
        let scenario = named(scenario)?;
        let Some(expected) = scenario
            .expect
            .get(*name)
            .or_else(|| scenario.expect.get("*"))
        else {
            continue;
        };
        let broken = expected
            .iter()
            .filter(|(_, outcome)| matches!(outcome, Expectation::Violated { .. }));
        let broken: Vec<String> = broken
            .map(|(property, outcome)| format!("{property} {}", expectation(outcome)))
            .collect();
        let words = match broken.is_empty() {
            true => "nothing is violated".to_owned(),
            false => broken.join(", "),
        };
        page.push_str(&wrapped(&format!("- {}: {words}", scenario.name), "  "));
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_its_title_and_fits_a_terminal() {
        let properties = Property::ALL.map(|one| (one.word(), describe(one).page));
        let causes = Cause::ALL.map(|one| (one.word(), one.page()));
        for (name, page) in properties.into_iter().chain(causes) {
            assert!(page.starts_with(&format!("# {name}")), "{name}: the title");
            let lines = page.lines().count();
            assert!((10..=30).contains(&lines), "{name} has {lines} lines");
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
