//! `picklock list`: locks, scenarios and backends.

use picklock_impls::{
    BuiltInLock, CRON_LOCKS, LEADERS, LOCKS, MUTANTS, OptionSpec, RWLOCKS, SEMAPHORES,
};
use picklock_reports::listing::{Entry, Listing, json, text};
use picklock_scenarios::{BackendName, catalog};
use serde_json::{Value, json};

use crate::cli::{ListArgs, Listed};
use crate::exit::Failure;
use crate::print;

/// Prints the lists.
///
/// # Errors
/// Returns an error if a scenario of the catalog does not parse, which is a bug of this build.
pub fn run(args: &ListArgs) -> Result<(), Failure> {
    let wanted = |what: Listed| args.what.is_none_or(|only| only == what);
    let mut listings = Vec::new();
    if wanted(Listed::Impls) {
        listings.push(impls("impls", "", LOCKS));
        listings.push(impls("semaphores", "", SEMAPHORES));
        listings.push(impls("read/write locks", "", RWLOCKS));
        listings.push(impls("locks of scheduled jobs", "", CRON_LOCKS));
        listings.push(impls("leader elections", "", LEADERS));
        listings.push(options());
    }
    if args.what == Some(Listed::Mutants) {
        listings.push(impls("mutants", "broken on purpose", MUTANTS));
    }
    if wanted(Listed::Scenarios) {
        listings.push(scenarios()?);
    }
    if wanted(Listed::Backends) {
        listings.push(backends());
    }
    if args.json {
        print::document(&json(&listings));
    } else {
        print::out(&text(&listings, print::width()));
    }
    Ok(())
}

/// Creates a list. `note` is the text in brackets in its title.
pub fn listing(
    kind: &'static str,
    note: &'static str,
    entries: impl IntoIterator<Item = Entry>,
) -> Listing {
    Listing {
        kind,
        note,
        entries: entries.into_iter().collect(),
    }
}

/// Creates an entry without further details.
pub fn entry(name: &str, summary: impl Into<String>) -> Entry {
    Entry {
        name: name.to_owned(),
        summary: summary.into(),
        extra: Vec::new(),
    }
}

fn impls(kind: &'static str, note: &'static str, locks: &[BuiltInLock]) -> Listing {
    let entries = locks.iter().map(|lock| {
        let options = lock.options.iter().map(|spec| declared(spec)).collect();
        Entry {
            extra: vec![
                ("nodes".to_owned(), json!(lock.nodes)),
                ("options".to_owned(), options),
            ],
            ..entry(lock.name, lock.summary)
        }
    });
    listing(kind, note, entries)
}

fn declared(spec: &OptionSpec) -> Value {
    json!({
        "name": spec.name,
        "kind": spec.kind.as_str(),
        "default": spec.default.to_string(),
        "meaning": spec.meaning,
    })
}

/// Lists every option once, because an option has the same meaning for every lock.
fn options() -> Listing {
    let mut all: Vec<&OptionSpec> = Vec::new();
    for spec in LOCKS.iter().flat_map(|lock| lock.options) {
        if all.iter().all(|known| known.name != spec.name) {
            all.push(spec);
        }
    }
    let entries = all.into_iter().map(|spec| Entry {
        extra: vec![
            ("kind".to_owned(), json!(spec.kind.as_str())),
            ("default".to_owned(), json!(spec.default.to_string())),
        ],
        ..entry(spec.name, spec.meaning)
    });
    listing("options", "--impl-option NAME=VALUE", entries)
}

fn scenarios() -> Result<Listing, Failure> {
    let mut entries = Vec::new();
    for name in catalog::names() {
        let scenario = catalog::named(name)?;
        let source = scenario.source.into_iter();
        entries.push(Entry {
            extra: source.map(|it| ("source".to_owned(), json!(it))).collect(),
            ..entry(&scenario.name, scenario.summary)
        });
    }
    Ok(listing("scenarios", "", entries))
}

fn backends() -> Listing {
    let auto = entry(
        "auto",
        "Docker if an engine answers and the image is there or can be pulled; else a redis-server or valkey-server on PATH; else the simulation.",
    );
    let backends = BackendName::ALL.map(|backend| entry(backend.as_str(), about(backend)));
    listing("backends", "", std::iter::once(auto).chain(backends))
}

fn about(backend: BackendName) -> &'static str {
    match backend {
        BackendName::Sim => {
            "A simulation in virtual time: no server, no waiting, the same history for the same seed."
        }
        BackendName::Process => {
            "Real redis-server processes on loopback, started and stopped by the run."
        }
        BackendName::Docker => "Real Redis containers, their ports published on loopback only.",
        BackendName::External => {
            "Servers of your own, named by --redis: faults of clients and links only."
        }
    }
}
