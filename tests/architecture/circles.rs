//! Finds files that import each other, directly or indirectly.

use std::collections::{BTreeMap, BTreeSet};

use crate::imports::Crate;
use crate::sources::ModulePath;

/// All crates of the project; the first is the binary.
const CRATES: [&str; 8] = [
    ".",
    "harness",
    "harness/redis-model",
    "harness/verdicts",
    "impls",
    "lab",
    "reports",
    "scenarios",
];

/// Returns the groups of two or more files in which each file can reach every other.
pub fn circles<T: Ord + Clone>(imports: &BTreeMap<T, BTreeSet<T>>) -> BTreeSet<BTreeSet<T>> {
    let reached: BTreeMap<&T, BTreeSet<&T>> = imports
        .keys()
        .map(|from| (from, reached(imports, from)))
        .collect();
    let group = |of: &T| {
        let others = reached[of].iter().copied();
        let back = others.filter(|other| reached.get(other).is_some_and(|set| set.contains(of)));
        back.cloned().collect::<BTreeSet<T>>()
    };
    let groups = imports.keys().map(group);
    groups.filter(|group| group.len() > 1).collect()
}

fn reached<'a, T: Ord>(imports: &'a BTreeMap<T, BTreeSet<T>>, from: &'a T) -> BTreeSet<&'a T> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        for next in imports.get(at).into_iter().flatten() {
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    seen
}

/// Tables that name their rows, while the rows use types that are defined next to the table. Crate, the file of the
/// table, how the files of its rows begin, and the reason.
const TABLES: &[(&str, &str, &[&str], &str)] = &[(
    "harness/redis-model",
    "command",
    &["commands"],
    "the table of commands names the function of each; the functions take its types",
)];

/// Known circles: crate, files, and the reason. This list may only shrink.
const KNOWN: &[(&str, &[&str], &str)] = &[
    (
        "harness",
        &[
            "server_backend",
            "server_backend::data",
            "server_backend::replication",
            "server_backend::sentinels",
        ],
        "one type with its parts: it owns their state, and each file implements one trait for it",
    ),
    (
        "harness/redis-model",
        &[
            "command",
            "dispatch",
            "lua",
            "lua::call",
            "lua::fuse",
            "lua::json",
            "lua::pool",
            "lua::scripts",
            "lua::table_insert",
            "server",
        ],
        "scripts call commands, and a command runs scripts",
    ),
    (
        "harness/verdicts",
        &["timeline::attempt", "timeline::grant_order"],
        "one type and a rule of its own: an attempt keeps what the rule says about it",
    ),
    (
        "scenarios",
        &["fault::kind", "fault::plan"],
        "a plan names its kind by reference to its row, and the functions in the row take plans",
    ),
];

/// Returns the imports of a crate by module name, without imports from a table to its rows.
fn without_tables(
    folder: &str,
    tables: &[&(&str, &str, &[&str], &str)],
) -> BTreeMap<String, BTreeSet<String>> {
    let all = Crate::read(folder).imports().into_iter();
    let kept = |from: &str, to: &str| {
        !tables.iter().any(|(of, table, rows, _)| {
            let is_row = |row: &&str| to == *row || to.starts_with(&format!("{row}::"));
            *of == folder && from == *table && rows.iter().any(is_row)
        })
    };
    let name = |module: &ModulePath| {
        if module.is_empty() {
            "lib".to_owned()
        } else {
            module.join("::")
        }
    };
    all.map(|(from, targets)| {
        let from = name(&from);
        let targets = targets.iter().map(name).filter(|to| kept(&from, to));
        let targets = targets.collect();
        (from, targets)
    })
    .collect()
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let mut told = Vec::new();
    for folder in CRATES {
        let found = circles(&without_tables(folder, &TABLES.iter().collect::<Vec<_>>()));
        let known = KNOWN.iter().filter(|(of, ..)| *of == folder);
        let known: BTreeSet<BTreeSet<String>> = known
            .map(|(_, files, _)| files.iter().map(|&file| file.to_owned()).collect())
            .collect();
        for circle in found.difference(&known) {
            told.push(format!("{folder}: a circle of files: {circle:?}"));
        }
        for circle in known.difference(&found) {
            told.push(format!(
                "{folder}: no circle any more, take it out of KNOWN: {circle:?}"
            ));
        }
        for table in TABLES.iter().filter(|(of, ..)| *of == folder) {
            let others: Vec<_> = TABLES.iter().filter(|other| *other != table).collect();
            let (_, name, _, reason) = table;
            if circles(&without_tables(folder, &others)) == found {
                told.push(format!(
                    "{folder}: `{name}` makes no circle, take it out of TABLES ({reason})"
                ));
            }
        }
    }
    assert!(told.is_empty(), "{}", told.join("\n"));
}

#[test]
fn a_circle_is_found_through_re_exports() {
    let files = [
        ("", "mod a; mod b; mod c;"),
        ("a", "mod part; pub use part::Part; use crate::b::B;"),
        ("a::part", "pub struct Part;"),
        ("b", "use crate::c::C;"),
        (
            "c",
            "fn f() -> crate::a::Part { todo!() } fn g() { super::a::h() }",
        ),
    ];
    let found = circles(&Crate::from_texts(&files).imports());
    let names = ["a", "b", "c"].map(|name| vec![name.to_owned()]);
    assert_eq!(found, [BTreeSet::from(names)].into());
}
