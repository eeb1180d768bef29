//! The files of the project, and the modules of a crate as its `mod` lines make them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file of the project.
pub fn sources() -> Vec<PathBuf> {
    let folders = [
        "src",
        "tests",
        "harness",
        "impls",
        "scenarios",
        "reports",
        "lab",
    ];
    let found: Vec<PathBuf> = folders.iter().flat_map(|folder| below(folder)).collect();
    assert!(found.len() > 30, "the sources were not found");
    found
}

/// Every Rust file below a folder of the project.
pub fn below(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
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
    found
}

pub fn name_of(path: &Path) -> String {
    let relative = path.strip_prefix(root()).expect("below the root");
    relative.to_string_lossy().into_owned()
}

/// Where a module is in its crate: `["check", "judge"]`. The root of the crate is empty.
pub type ModulePath = Vec<String>;

/// The parsed files of a crate, by module.
pub fn modules(crate_folder: &str) -> BTreeMap<ModulePath, syn::File> {
    let source = Path::new(crate_folder).join("src");
    let files = below(&source.to_string_lossy());
    assert!(!files.is_empty(), "{crate_folder} has no sources");
    let parsed = files.iter().map(|path| {
        let inside = path.strip_prefix(root().join(&source)).expect("below src");
        let text = std::fs::read_to_string(path).expect("the file can be read");
        let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        (module_path(inside), file)
    });
    parsed.collect()
}

/// `check/judge.rs` is `check::judge`, `check/mod.rs` is `check`, `lib.rs` is the root.
fn module_path(inside: &Path) -> ModulePath {
    let mut path: ModulePath = inside
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let is_root = path.len() == 1 && ["lib", "main"].contains(&path[0].as_str());
    if is_root || path.last().is_some_and(|last| last == "mod") {
        path.pop();
    }
    path
}
