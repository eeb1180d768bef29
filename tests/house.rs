//! The house rules, held by a test: who may import whom, how long files and functions may be, and
//! that nothing is left half done. ARCHITECTURE.md says the same in words.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use syn::visit::Visit;

/// Crate, and the crates of the workspace that it may depend on.
const CRATES: &[(&str, &[&str])] = &[
    ("impls", &[]),
    ("scenarios", &[]),
    ("harness/redis-model", &[]),
    ("harness/verdicts", &["scenarios"]),
    (
        "harness",
        &["impls", "redis-model", "scenarios", "verdicts"],
    ),
    ("reports", &["scenarios", "verdicts"]),
];

/// Room of the harness, and the rooms that it may import.
const ROOMS: &[(&str, &[&str])] = &[
    ("clock", &[]),
    ("entropy", &[]),
    ("process_stat", &[]),
    ("adapter", &["clock", "entropy", "process_stat"]),
    ("wire", &["clock", "entropy"]),
    ("world", &["adapter", "wire"]),
    ("context", &["clock", "history", "wire"]),
    ("nemesis", &["context", "history", "wire", "world"]),
    (
        "driver",
        &[
            "adapter", "clock", "context", "entropy", "history", "nemesis", "world",
        ],
    ),
    ("real", &["clock", "entropy", "process_stat", "record"]),
    ("real_world", &["adapter", "clock", "real", "wire", "world"]),
    (
        "sim",
        &[
            "adapter", "clock", "context", "driver", "entropy", "history", "model", "wire", "world",
        ],
    ),
    (
        "trial",
        &["check", "context", "expectation", "history", "sim"],
    ),
];

/// Files past 500 lines need a reason here.
const LONG_FILES: &[(&str, &str)] = &[];

const LONGEST_FILE: usize = 500;
const LONGEST_FUNCTION: usize = 70;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = ["src", "tests", "harness", "impls", "scenarios", "reports"]
        .iter()
        .map(|folder| root().join(folder))
        .collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("the entry can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(found.len() > 30, "the sources were not found");
    found
}

fn name_of(path: &Path) -> String {
    let relative = path.strip_prefix(root()).expect("below the root");
    relative.to_string_lossy().into_owned()
}

#[test]
fn crates_depend_only_where_an_arrow_is_drawn() {
    for (name, allowed) in CRATES {
        let manifest = std::fs::read_to_string(root().join(name).join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let tables = ["dependencies", "build-dependencies"];
        let dependencies = tables
            .iter()
            .filter_map(|table| manifest.get(*table)?.as_table());
        for dependency in dependencies.flat_map(|table| table.keys()) {
            if let Some(other) = dependency.strip_prefix("picklock-") {
                assert!(allowed.contains(&other), "{name} may not depend on {other}");
            }
        }
    }
}

/// The crate-internal rooms that a file of the harness names.
#[derive(Default)]
struct Imports(BTreeSet<String>);

impl<'ast> Visit<'ast> for Imports {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if let syn::UseTree::Path(path) = &item.tree
            && path.ident == "crate"
        {
            self.heads(&path.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let mut segments = path.segments.iter();
        if segments.next().is_some_and(|first| first.ident == "crate")
            && let Some(room) = segments.next()
        {
            self.0.insert(room.ident.to_string());
        }
        syn::visit::visit_path(self, path);
    }
}

impl Imports {
    fn heads(&mut self, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => drop(self.0.insert(path.ident.to_string())),
            syn::UseTree::Name(name) => drop(self.0.insert(name.ident.to_string())),
            syn::UseTree::Rename(rename) => drop(self.0.insert(rename.ident.to_string())),
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.heads(item)),
            syn::UseTree::Glob(_) => panic!("`use crate::*` hides who imports whom"),
        }
    }
}

#[test]
fn rooms_of_the_harness_import_only_where_an_arrow_is_drawn() {
    let source = root().join("harness/src");
    let mut seen = BTreeSet::new();
    for path in sources().iter().filter(|path| path.starts_with(&source)) {
        let inside = path.strip_prefix(&source).unwrap();
        let first = inside
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_string_lossy();
        let room = first.trim_end_matches(".rs").to_owned();
        if room == "lib" {
            continue;
        }
        let (_, allowed) = ROOMS
            .iter()
            .find(|(known, _)| *known == room)
            .unwrap_or_else(|| panic!("{room} is a room without a place in ARCHITECTURE.md"));
        let file = syn::parse_file(&std::fs::read_to_string(path).unwrap()).unwrap();
        let mut imports = Imports::default();
        imports.visit_file(&file);
        for imported in imports.0.iter().filter(|imported| **imported != room) {
            assert!(
                allowed.contains(&imported.as_str()),
                "{} imports `{imported}`; `{room}` may only import {allowed:?}",
                name_of(path)
            );
        }
        seen.insert(room);
    }
    for (room, _) in ROOMS {
        assert!(
            seen.contains(*room),
            "`{room}` is drawn, but there is no such room"
        );
    }
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for (room, _) in ROOMS {
        assert!(
            map.contains(&format!("`{room}`")),
            "ARCHITECTURE.md does not show `{room}`"
        );
    }
}

/// Functions with the number of lines of each.
#[derive(Default)]
struct Functions(Vec<(String, usize)>);

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.note(&item.sig, item.block.brace_token.span);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.note(&item.sig, item.block.brace_token.span);
        syn::visit::visit_impl_item_fn(self, item);
    }
}

impl Functions {
    fn note(&mut self, signature: &syn::Signature, braces: proc_macro2::extra::DelimSpan) {
        let lines = braces.close().end().line - braces.open().start().line + 1;
        self.0.push((signature.ident.to_string(), lines));
    }
}

#[test]
fn files_and_functions_stay_short() {
    let mut longest = 0;
    for path in sources() {
        let name = name_of(&path);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines = text.lines().count();
        let excused = LONG_FILES.iter().any(|(known, _)| *known == name);
        assert!(
            lines <= LONGEST_FILE || excused,
            "{name} has {lines} lines; split it, or give the reason in LONG_FILES"
        );
        let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut functions = Functions::default();
        functions.visit_file(&file);
        for (function, lines) in functions.0 {
            assert!(
                lines <= LONGEST_FUNCTION,
                "{name}: `{function}` has {lines} lines; the longest may have {LONGEST_FUNCTION}"
            );
            longest = longest.max(lines);
        }
    }
    assert!(longest > 20, "the functions were not measured");
}

/// Macros that stand for work not done.
#[derive(Default)]
struct Stubs(Vec<String>);

impl<'ast> Visit<'ast> for Stubs {
    fn visit_macro(&mut self, found: &'ast syn::Macro) {
        if let Some(last) = found.path.segments.last()
            && (last.ident == "todo" || last.ident == "unimplemented")
        {
            self.0.push(last.ident.to_string());
        }
        syn::visit::visit_macro(self, found);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if attribute.path().is_ident("ignore") {
            self.0.push("ignore".into());
        }
    }
}

#[test]
fn nothing_is_left_half_done() {
    for path in sources() {
        let file = syn::parse_file(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let mut stubs = Stubs::default();
        stubs.visit_file(&file);
        assert!(stubs.0.is_empty(), "{}: {:?}", name_of(&path), stubs.0);
    }
}

#[test]
fn names_that_say_nothing_are_not_used() {
    let empty = [
        "util", "utils", "common", "types", "helpers", "manager", "misc",
    ];
    for path in sources() {
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(
            !empty.contains(&stem.as_str()),
            "{}: name the thing",
            name_of(&path)
        );
    }
}

#[test]
fn the_rules_can_fail() {
    let text = "use crate::{driver::Run, wire};\nfn a() { crate::real::start(); todo!() }\n#[ignore] fn b() {}";
    let file = syn::parse_file(text).unwrap();
    let mut imports = Imports::default();
    imports.visit_file(&file);
    assert_eq!(
        imports.0,
        ["driver", "real", "wire"].map(String::from).into()
    );
    let mut stubs = Stubs::default();
    stubs.visit_file(&file);
    assert_eq!(stubs.0, ["todo", "ignore"]);
    let mut functions = Functions::default();
    functions.visit_file(&syn::parse_file("fn f() {\n\n\n}").unwrap());
    assert_eq!(functions.0, [("f".to_owned(), 4)]);
}
