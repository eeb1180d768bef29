//! `picklock list`: locks, scenarios and worlds.

use picklock_impls::{MUTANTS, OptionSpec, STRATEGIES, Strategy};
use picklock_reports::listing::{Entry, Listing, json, text};
use picklock_scenarios::{WorldName, catalog};
use serde_json::{Value, json};

use crate::cli::{ListArgs, Listed};
use crate::exit::Failure;
use crate::print;

/// Prints the lists.
///
/// # Errors
/// A scenario of the catalog does not parse: a bug of this build.
pub fn run(args: &ListArgs) -> Result<(), Failure> {
    let wanted = |what: Listed| args.what.is_none_or(|only| only == what);
    let mut listings = Vec::new();
    if wanted(Listed::Impls) {
        listings.push(impls("impls", STRATEGIES));
        listings.push(impls("mutants (broken on purpose)", MUTANTS));
        listings.push(options());
    }
    if wanted(Listed::Scenarios) {
        listings.push(scenarios()?);
    }
    if wanted(Listed::Backends) {
        listings.push(backends());
    }
    if args.json {
        print::out(&format!("{}\n", json(&listings)));
    } else {
        print::out(&text(&listings, print::width()));
    }
    Ok(())
}

fn impls(kind: &str, strategies: &[Strategy]) -> Listing {
    let entries = strategies.iter().map(|strategy| Entry {
        name: strategy.name.to_owned(),
        summary: strategy.summary.to_owned(),
        extra: vec![
            ("nodes".to_owned(), json!(strategy.nodes)),
            (
                "options".to_owned(),
                strategy.options.iter().map(|spec| declared(spec)).collect(),
            ),
        ],
    });
    Listing {
        kind: kind.to_owned(),
        entries: entries.collect(),
    }
}

fn declared(spec: &OptionSpec) -> Value {
    json!({
        "name": spec.name,
        "kind": spec.kind.word(),
        "default": spec.default.to_string(),
        "meaning": spec.meaning,
    })
}

/// Every option once: an option means the same for every lock that has it.
fn options() -> Listing {
    let mut all: Vec<&OptionSpec> = Vec::new();
    for spec in STRATEGIES.iter().flat_map(|strategy| strategy.options) {
        if all.iter().all(|known| known.name != spec.name) {
            all.push(spec);
        }
    }
    let entries = all.into_iter().map(|spec| Entry {
        name: spec.name.to_owned(),
        summary: spec.meaning.to_owned(),
        extra: vec![
            ("kind".to_owned(), json!(spec.kind.word())),
            ("default".to_owned(), json!(spec.default.to_string())),
        ],
    });
    Listing {
        kind: "options (--impl-option NAME=VALUE)".to_owned(),
        entries: entries.collect(),
    }
}

fn scenarios() -> Result<Listing, Failure> {
    let mut entries = Vec::new();
    for name in catalog::names() {
        let scenario = catalog::named(name).map_err(|error| Failure::Usage(error.to_string()))?;
        let source = scenario
            .source
            .map(|source| ("source".to_owned(), json!(source)));
        entries.push(Entry {
            name: scenario.name,
            summary: scenario.summary,
            extra: source.into_iter().collect(),
        });
    }
    Ok(Listing {
        kind: "scenarios".to_owned(),
        entries,
    })
}

fn backends() -> Listing {
    let entry = |name: &str, summary: &str| Entry {
        name: name.to_owned(),
        summary: summary.to_owned(),
        extra: Vec::new(),
    };
    let auto = entry(
        "auto",
        "Docker if an engine answers and the image is there or can be pulled; else a redis-server or valkey-server on PATH; else the simulation.",
    );
    let worlds = WorldName::ALL.map(|world| entry(world.word(), about(world)));
    Listing {
        kind: "backends".to_owned(),
        entries: std::iter::once(auto).chain(worlds).collect(),
    }
}

fn about(world: WorldName) -> &'static str {
    match world {
        WorldName::Sim => {
            "A simulation in virtual time: no server, no waiting, the same history for the same seed."
        }
        WorldName::Process => {
            "Real redis-server processes on loopback, started and stopped by the run."
        }
        WorldName::Docker => "Real Redis containers, their ports published on loopback only.",
    }
}
