//! Checks that each published crate is packaged with everything that it is compiled from, and that its address is
//! defined in one place.
//!
//! Tests are not packaged, because they need the whole repository. `cargo package` itself compiles each package, which
//! takes minutes; the release does that.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::sources::{below, root};

/// Placeholder for the owner until the project has an address.
const PLACEHOLDER: &str = "OWNER/picklock";

/// The variable that makes this test write the address of Cargo.toml into all files that name it.
const UPDATE: &str = "PICKLOCK_UPDATE_DOCS";

/// Returns the folders of the published crates, relative to the root.
fn published() -> Vec<PathBuf> {
    let workspace = manifest(Path::new(""));
    let members = workspace["workspace"]["members"]
        .as_array()
        .expect("members");
    let members = members
        .iter()
        .map(|member| member.as_str().expect("a folder").into());
    let is_published = |folder: &PathBuf| manifest(folder)["package"].get("publish").is_none();
    std::iter::once(PathBuf::new())
        .chain(members)
        .filter(is_published)
        .collect()
}

fn manifest(folder: &Path) -> toml::Table {
    let text = std::fs::read_to_string(root().join(folder).join("Cargo.toml"));
    text.expect("a manifest")
        .parse()
        .expect("a manifest is TOML")
}

/// Returns the files that cargo packages, relative to the folder of the crate.
fn packed(folder: &Path) -> BTreeSet<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "package",
        "--list",
        "--offline",
        "--allow-dirty",
        "--exclude-lockfile",
    ]);
    let output = cargo
        .current_dir(root().join(folder))
        .output()
        .expect("cargo starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", folder.display());
    let listed = String::from_utf8(output.stdout).expect("names are text");
    listed.lines().map(PathBuf::from).collect()
}

/// Returns the paths in `include_str!` and `include_bytes!` of a file without its tests, as written. For a path that a
/// macro completes, returns the folder.
fn included(text: &str) -> Vec<String> {
    let product = text.split("#[cfg(test)]").next().unwrap_or_default();
    let starts = ["include_str!(", "include_bytes!("];
    let calls = starts.iter().flat_map(|start| product.split(start).skip(1));
    let paths = calls.filter(|call| !call.starts_with("concat!(env!"));
    let first_string = |call: &str| Some(call.split('"').nth(1)?.to_owned());
    paths.filter_map(first_string).collect()
}

/// Returns the path with `..` resolved.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(plain.pop(), "{} leads out", path.display()),
            part => plain.push(part),
        }
    }
    plain
}

#[test]
fn packages_have_what_they_are_compiled_from() {
    let mut looked_at = 0;
    for folder in published() {
        let packed = packed(&folder);
        for file in ["README.md", "LICENSE-APACHE", "LICENSE-MIT"] {
            let path = Path::new(file);
            assert!(packed.contains(path), "{}: no {file}", folder.display());
        }
        let source = folder.join("src");
        for path in below(&source.to_string_lossy()) {
            // A test-only file is packaged but never compiled elsewhere.
            if path.ends_with("tests.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a source");
            let inside = path
                .strip_prefix(root().join(&folder))
                .expect("in the crate");
            assert!(packed.contains(inside), "{} is not packed", path.display());
            for include in included(&text) {
                let wanted = plain(&inside.with_file_name("").join(&include));
                // Cargo does not package a folder that contains a manifest.
                let is_there = packed.iter().any(|packed| packed.starts_with(&wanted));
                assert!(is_there, "{}: {include} is not packed", path.display());
                looked_at += 1;
            }
        }
    }
    assert!(
        looked_at > 20,
        "the macros were not found: only {looked_at}"
    );
}

/// Templates are assembled from parts, so the check above sees only their folder.
#[test]
fn no_folder_of_adapters_is_a_crate() {
    let mut folders = vec![root().join("adapters")];
    while let Some(folder) = folders.pop() {
        assert!(
            !folder.join("Cargo.toml").exists(),
            "{}: cargo packs no such folder; name the file Cargo.toml.template",
            folder.display()
        );
        let entries = std::fs::read_dir(folder).expect("a folder");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        folders.extend(paths.filter(|path| path.is_dir() && !path.ends_with("target")));
    }
}

#[test]
fn versions_of_the_crates_agree() {
    let workspace = manifest(Path::new(""));
    let version = workspace["workspace"]["package"]["version"].as_str();
    let wanted = format!("={}", version.expect("a version"));
    let crates = workspace["workspace"]["dependencies"]
        .as_table()
        .expect("crates");
    for folder in published().iter().filter(|folder| folder != &Path::new("")) {
        let name = manifest(folder)["package"]["name"].clone();
        let name = name.as_str().expect("a name");
        assert_eq!(crates[name]["version"].as_str(), Some(&*wanted), "{name}");
    }
    for file in WITH_VERSION {
        let text = std::fs::read_to_string(root().join(file)).expect("a file");
        let version = wanted.trim_start_matches('=');
        assert!(text.contains(version), "{file} does not name {version}");
    }
}

/// Workflows that name the release that they install, and packages that must have the version of their engine.
const WITH_VERSION: &[&str] = &[
    "docs/examples/github-actions.yml",
    "docs/examples/gitlab-ci.yml",
    "docs/examples/github-sweep.yml",
    "docs/examples/kubernetes-sweep.yaml",
    "integrations/csharp/Picklock.csproj",
    "integrations/csharp/src/Engine.cs",
    "integrations/go/picklock.go",
    "integrations/java/engine.xml",
    "integrations/java/pom.xml",
    "integrations/java/src/main/java/io/github/picklock/Engine.java",
    "integrations/node/package.json",
    "integrations/python/picklock/_engine.py",
    "integrations/python/pyproject.toml",
];

/// Files that contain the address of the project.
const WITH_ADDRESS: &[&str] = &[
    "README.md",
    "action.yml",
    "docs/examples/github-actions.yml",
    "docs/examples/gitlab-ci.yml",
    "docs/examples/github-sweep.yml",
    "docs/examples/kubernetes-sweep.yaml",
    "docs/go.md",
    "integrations/csharp/Picklock.csproj",
    "integrations/csharp/README.md",
    "integrations/examples/redsync/redsync_test.go",
    "integrations/go/README.md",
    "integrations/go/example/broken_lock_test.go",
    "integrations/go/example/my_lock_test.go",
    "integrations/go/go.mod",
    "integrations/java/README.md",
    "integrations/java/engine.xml",
    "integrations/java/pom.xml",
    "integrations/node/README.md",
    "integrations/node/package.json",
    "integrations/python/README.md",
    "scripts/install",
    "scripts/test-packages",
    "src/init/first_test.rs",
];

#[test]
fn the_address_is_that_of_the_manifest() {
    let workspace = manifest(Path::new(""));
    let address = workspace["workspace"]["package"]["repository"].as_str();
    let address = address.expect("an address");
    let path = address
        .strip_prefix("https://github.com/")
        .expect("on GitHub");
    for file in WITH_ADDRESS {
        let place = root().join(file);
        let mut text = std::fs::read_to_string(&place).expect("a file");
        if std::env::var_os(UPDATE).is_some() {
            text = text.replace(PLACEHOLDER, path);
            std::fs::write(&place, &text).expect("the file can be written");
        }
        assert!(text.contains(path), "{file} does not name {path}");
        let is_stale = path != PLACEHOLDER && text.contains(PLACEHOLDER);
        assert!(
            !is_stale,
            "{file} still names {PLACEHOLDER}; Cargo.toml says {path}: `{UPDATE}=1` writes it"
        );
    }
}

#[test]
fn a_file_outside_the_package_is_found() {
    let text = "x!(include_str!(\"a.md\"), include_bytes!(concat!(\"../b/\", $name)));\n\
        include_bytes!(concat!(env!(\"OUT_DIR\"), \"/c\"))\n#[cfg(test)] include_str!(\"d\")";
    assert_eq!(included(text), ["a.md", "../b/"]);
    assert_eq!(plain(Path::new("src/x/../../docs/")), Path::new("docs"));
    assert!(std::panic::catch_unwind(|| plain(Path::new("src/../../docs"))).is_err());
}

/// A module of Go cannot contain files from outside its folder, so this one has a copy of the adapter.
#[test]
fn adapter_of_the_go_module_is_a_copy() {
    let text = |path: &str| std::fs::read_to_string(root().join(path)).expect("a file");
    for (copy, original) in [
        ("adapter.go", "picklock_adapter.go"),
        ("lock_contract.go", "lock_contract.go"),
    ] {
        let adapter = text(&format!("adapters/go/{original}"));
        let adapter = adapter.replace("\npackage main\n", "\npackage picklock\n");
        let first = format!(
            "// Code generated from adapters/go/{original} by scripts/package; DO NOT EDIT."
        );
        assert!(
            text(&format!("integrations/go/{copy}")) == format!("{first}\n\n{adapter}"),
            "integrations/go/{copy} is not a copy of adapters/go/{original}; `scripts/package BINARY DIRECTORY go` writes it"
        );
    }
}
