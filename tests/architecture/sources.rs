//! The files of the project, and the parts of each that the rules check.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use syn::visit::Visit;

use crate::imports::Named;
use crate::messages::Readings;
use crate::{Functions, Stubs};

/// The parts of a file that the rules check. It is parsed once for all rules, because parsing takes the most time.
pub struct Source {
    /// Path relative to the root of the project.
    pub name: String,
    pub lines: usize,
    pub functions: Functions,
    pub stubs: Stubs,
    pub readings: Readings,
    pub named: Named,
}

impl Source {
    /// Parses the text of a Rust file.
    pub fn parse(name: String, text: &str) -> Source {
        let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut source = Source {
            name,
            lines: text.lines().count(),
            functions: Functions::default(),
            stubs: Stubs::default(),
            readings: Readings::default(),
            named: Named::default(),
        };
        source.functions.visit_file(&file);
        source.stubs.visit_file(&file);
        source.readings.visit_file(&file);
        source.named.visit_file(&file);
        source
    }

    fn read(path: &PathBuf) -> Source {
        let text = std::fs::read_to_string(path).expect("the file can be read");
        Source::parse(name_of(path), &text)
    }
}

/// The folders with the sources of the workspace.
pub const FOLDERS: [&str; 7] = [
    "src",
    "tests",
    "harness",
    "impls",
    "scenarios",
    "reports",
    "lab",
];

static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let paths: Vec<PathBuf> = FOLDERS.iter().flat_map(|folder| below(folder)).collect();
    assert!(paths.len() > 30, "the sources were not found");
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let parts = paths.chunks(paths.len().div_ceil(threads));
        let parts: Vec<_> = parts
            .map(|part| scope.spawn(|| part.iter().map(Source::read).collect::<Vec<_>>()))
            .collect();
        let joined = parts.into_iter().map(|part| part.join().expect("Rust"));
        joined.flatten().collect()
    })
});

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns every Rust file of the project.
pub fn sources() -> &'static [Source] {
    &SOURCES
}

/// Returns every Rust file below a folder of the project.
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

/// Path of a module in its crate: `["check", "judge"]`. Empty for the root.
pub type ModulePath = Vec<String>;

/// Returns the names that the files of a crate use, by module.
pub fn modules(crate_folder: &str) -> impl Iterator<Item = (ModulePath, &'static Named)> {
    let folder = root().join(crate_folder).join("src");
    sources().iter().filter_map(move |source| {
        let path = root().join(&source.name);
        let inside = path.strip_prefix(&folder).ok()?;
        Some((module_path(inside), &source.named))
    })
}

/// Converts a file's path: `check/judge.rs` is `check::judge`, `check/mod.rs` is `check`, `lib.rs` is the root.
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
