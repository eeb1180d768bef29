//! Compares the column "may import" of ARCHITECTURE.md with the manifests and the `use` lines.

use std::collections::{BTreeMap, BTreeSet};

use crate::imports::Crate;
use crate::sources::{ModulePath, root};

/// Allowed imports, by name of the importer.
type Arrows = BTreeMap<String, BTreeSet<String>>;

/// Returns the first and the last column of the table below a heading.
fn table(heading: &str) -> Arrows {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the page is there");
    table_of(&page, heading)
}

fn table_of(page: &str, heading: &str) -> Arrows {
    let (_, below) = page
        .split_once(&format!("\n## {heading}\n"))
        .unwrap_or_else(|| panic!("ARCHITECTURE.md has no `## {heading}`"));
    let below = below.split("\n## ").next().unwrap_or_default();
    let rows = below.lines().filter(|line| line.starts_with("| `"));
    let arrows: Arrows = rows.map(row).collect();
    assert!(!arrows.is_empty(), "no table below `## {heading}`");
    arrows
}

fn row(line: &str) -> (String, BTreeSet<String>) {
    let columns: Vec<&str> = line.trim().trim_matches('|').split('|').collect();
    let names = |column: &str| -> Vec<String> {
        let quoted = column.split('`').skip(1).step_by(2);
        quoted
            .map(|name| name.trim_end_matches('/').to_owned())
            .collect()
    };
    let first = names(columns[0]).remove(0);
    let last = columns.last().copied().unwrap_or_default();
    (first, names(last).into_iter().collect())
}

/// Describes every difference in a sentence.
fn differences(of: &str, drawn: &Arrows, found: &Arrows) -> Vec<String> {
    let mut told = Vec::new();
    let none = BTreeSet::new();
    for name in drawn.keys().chain(found.keys()).collect::<BTreeSet<_>>() {
        if !drawn.contains_key(name) || !found.contains_key(name) {
            let place = if drawn.contains_key(name) {
                "ARCHITECTURE.md"
            } else {
                of
            };
            told.push(format!("{of}: `{name}` is only in {place}"));
            continue;
        }
        let (drawn, found) = (&drawn[name], found.get(name).unwrap_or(&none));
        for other in found.difference(drawn) {
            told.push(format!(
                "{of}: `{name}` imports `{other}`, and no arrow says so"
            ));
        }
        for other in drawn.difference(found) {
            told.push(format!(
                "{of}: an arrow leads from `{name}` to `{other}`, and nothing is imported"
            ));
        }
    }
    told
}

/// Returns the crates of the workspace that a crate depends on, without the prefix `picklock-`.
fn dependencies(folder: &str) -> BTreeSet<String> {
    let manifest = if folder == "src" {
        root()
    } else {
        root().join(folder)
    };
    let manifest = std::fs::read_to_string(manifest.join("Cargo.toml")).expect("a manifest");
    let manifest: toml::Table = manifest.parse().expect("a manifest is TOML");
    let tables = ["dependencies", "build-dependencies"].into_iter();
    let tables = tables.filter_map(|table| manifest.get(table)?.as_table());
    let names = tables.flat_map(|table| table.keys());
    names
        .filter_map(|name| Some(name.strip_prefix("picklock-")?.to_owned()))
        .collect()
}

#[test]
fn crates_depend_where_an_arrow_is_drawn_and_only_there() {
    let drawn = table("The crates");
    let folders = drawn.keys();
    let found = folders
        .map(|folder| (folder.clone(), dependencies(folder)))
        .collect();
    let told = differences("the workspace", &drawn, &found);
    assert!(told.is_empty(), "{}", told.join("\n"));
    let workspace = std::fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    let workspace: toml::Table = workspace.parse().expect("a manifest is TOML");
    for member in workspace["workspace"]["members"]
        .as_array()
        .expect("members")
    {
        let member = member.as_str().expect("a folder");
        assert!(
            drawn.contains_key(member),
            "ARCHITECTURE.md does not show {member}"
        );
    }
}

/// Crates that study the product and are not shipped.
const LABORATORY: &[&str] = &["lab", "fuzz-targets"];

#[test]
fn nothing_outside_the_laboratory_imports_it() {
    let folders = table("The crates").into_keys();
    let outside = folders.filter(|folder| !folder.starts_with("lab"));
    let mut looked_at = 0;
    for folder in outside {
        let folder = if folder == "src" {
            ".".to_owned()
        } else {
            folder
        };
        let manifest = root().join(&folder).join("Cargo.toml");
        let text = std::fs::read_to_string(manifest).expect("a manifest");
        // The workspace's own dependency table names its members; it does not import them.
        let manifest: toml::Table = text.parse().expect("a manifest is TOML");
        for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let names = manifest.get(table).and_then(toml::Value::as_table);
            for name in names.into_iter().flat_map(|table| table.keys()) {
                let name = name.strip_prefix("picklock-").unwrap_or(name);
                assert!(!LABORATORY.contains(&name), "{folder}: {table}: {name}");
            }
        }
        looked_at += 1;
    }
    assert!(looked_at > 5, "the manifests were not found");
}

/// Returns the modules of a crate, each with the other modules that it imports.
fn modules(of: &Crate) -> Arrows {
    let mut arrows = Arrows::new();
    for (path, imported) in of.top_modules() {
        if let Some(module) = path.first() {
            let others = imported.into_iter().filter(|other| other != module);
            arrows.entry(module.clone()).or_default().extend(others);
        }
    }
    arrows
}

/// Returns the modules inside the module `parent` of a crate, each with the others inside it that it imports.
fn modules_inside(of: &Crate, parent: &str) -> Arrows {
    let inside = |path: &ModulePath| match path.as_slice() {
        [first, second, ..] if first == parent => Some(second.clone()),
        _ => None,
    };
    let mut arrows = Arrows::new();
    for (path, imported) in of.imports() {
        let Some(module) = inside(&path) else {
            continue;
        };
        let others = imported.iter().filter_map(inside);
        let others = others.filter(|other| *other != module).collect::<Vec<_>>();
        arrows.entry(module).or_default().extend(others);
    }
    arrows
}

/// Returns the modules that import the module `name`.
fn importers_of(name: &str, arrows: &Arrows) -> BTreeSet<String> {
    let importers = arrows.iter().filter(|(_, others)| others.contains(name));
    importers.map(|(importer, _)| importer.clone()).collect()
}

#[test]
fn modules_import_where_an_arrow_is_drawn_and_only_there() {
    for folder in [
        "harness/verdicts",
        "harness/redis-model",
        "harness",
        "reports",
    ] {
        let drawn = table(&format!("The modules of `{folder}/`"));
        let mut found = modules(&Crate::read(folder));
        if folder == "reports" {
            // `reports` does not re-export the modules of the verdicts, because they belong to another crate.
            let own: BTreeSet<String> = found.keys().cloned().collect();
            for others in found.values_mut() {
                others.retain(|other| own.contains(other));
            }
            // "Every format" in the row of `formats`: a new format needs only a row of its own.
            let formats = importers_of("format", &found);
            let table = found.get_mut("formats").expect("the table of formats");
            table.retain(|other| !formats.contains(other));
        }
        let problems = differences(folder, &drawn, &found);
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }
}

#[test]
fn inner_modules_import_only_along_drawn_arrows() {
    for (folder, parent) in [("harness/verdicts", "check"), ("harness", "proxy")] {
        let drawn = table(&format!("The modules of `{folder}/src/{parent}/`"));
        let found = modules_inside(&Crate::read(folder), parent);
        let problems = differences(parent, &drawn, &found);
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }
}

#[test]
fn import_without_arrow_and_arrow_without_import_are_found() {
    let page = "\n## Modules\n\n| module | what | may import |\n|---|---|---|\n| `a` | `x` | `b`, `c` |\n| `b` | y | |\n";
    let drawn = table_of(page, "Modules");
    let files = [
        ("", "mod a; mod b; pub use b::deep::Thing;"),
        ("a", "use crate::Thing;"),
        ("b", "pub mod deep;"),
        (
            "b::deep",
            "fn f() { crate::a::g() }\n#[cfg(test)] mod tests { use crate::d; }",
        ),
    ];
    let found = modules(&Crate::from_texts(&files));
    assert_eq!(
        differences("it", &drawn, &found),
        [
            "it: an arrow leads from `a` to `c`, and nothing is imported",
            "it: `b` imports `a`, and no arrow says so",
        ]
    );
}

#[test]
fn imports_inside_a_module_are_found() {
    let files = [
        ("", "mod check;"),
        ("check", "mod a; mod b;"),
        ("check::a", "use super::b::Thing;"),
        ("check::b", "use crate::check::b::c::Other; mod c;"),
        ("check::b::c", ""),
    ];
    let found = modules_inside(&Crate::from_texts(&files), "check");
    assert_eq!(found["a"], BTreeSet::from(["b".to_owned()]));
    assert_eq!(found["b"], BTreeSet::new());
}
