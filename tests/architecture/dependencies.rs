//! Checks that the build uses only what deny.toml allows: licences, sources, and duplicate versions.
//!
//! This test does for this machine what `cargo deny check licenses sources bans` does for every target, without
//! requiring that program or a network.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde::Deserialize;

use crate::sources::root;

#[derive(Deserialize)]
struct Rules {
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    skip: Vec<Skipped>,
}

/// An allowed older version of a package. `base64@0.22` matches any 0.22.
#[derive(Deserialize)]
struct Skipped {
    #[serde(rename = "crate")]
    name_and_version: String,
    reason: String,
}

fn rules() -> Rules {
    let text = std::fs::read_to_string(root().join("deny.toml")).expect("the file is there");
    toml::from_str(&text).expect("deny.toml is as cargo deny wants it")
}

/// A package that is compiled for this machine, for the programs or for the tests.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: String,
    license: String,
    is_ours: bool,
}

fn packages() -> BTreeSet<Package> {
    let tree = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--workspace",
            "--offline",
            "--locked",
            "--prefix",
            "none",
        ])
        .args(["--edges", "normal,build,dev", "--format", "{p}\t{l}"])
        .current_dir(root())
        .output()
        .expect("cargo started these tests");
    let said = String::from_utf8_lossy(&tree.stderr);
    assert!(tree.status.success(), "{said}");
    let text = String::from_utf8(tree.stdout).expect("names are text");
    text.lines()
        .filter(|line| !line.is_empty())
        .map(package_of)
        .collect()
}

/// Parses `syn v2.0.119 (proc-macro)`, a tab, and the licence.
fn package_of(line: &str) -> Package {
    let (package, license) = line.split_once('\t').expect("the format has a tab");
    let mut words = package.split(' ');
    let name = words.next().unwrap_or_default().to_owned();
    let version = words.next().unwrap_or_default().trim_start_matches('v');
    // Other packages have no path, or come from a repository.
    let is_ours = words.any(|word| word.starts_with("(/"));
    Package {
        name,
        version: version.to_owned(),
        license: license.trim_end_matches(" (*)").to_owned(),
        is_ours,
    }
}

/// Returns `true` if the licence can be satisfied with the allowed ones.
fn is_allowed(license: &str, allowed: &[String]) -> bool {
    // Some crates write `MIT/Apache-2.0`.
    let parsed = spdx::Expression::parse_mode(license, spdx::ParseMode::LAX);
    parsed
        .is_ok_and(|expression| expression.evaluate(|wanted| allowed.contains(&wanted.to_string())))
}

#[test]
fn every_licence_is_allowed_and_every_allowed_one_is_needed() {
    let rules = rules();
    let packages = packages();
    let others = packages.iter().filter(|package| !package.is_ours);
    for package in others.clone() {
        let Package {
            name,
            version,
            license,
            ..
        } = package;
        assert!(
            is_allowed(license, &rules.licenses.allow),
            "{name} {version}: {license:?} is not among those that deny.toml allows"
        );
    }
    for license in &rules.licenses.allow {
        let is_needed = others
            .clone()
            .any(|package| package.license.contains(license.as_str()));
        assert!(
            is_needed,
            "nothing has the licence {license}; take it out of deny.toml"
        );
    }
}

#[test]
fn a_licence_that_is_not_allowed_is_refused() {
    let allowed = ["MIT".to_owned(), "ISC".to_owned()];
    assert!(is_allowed("MIT OR GPL-3.0-only", &allowed));
    assert!(is_allowed("MIT/Apache-2.0", &allowed));
    assert!(is_allowed("MIT AND ISC", &allowed));
    assert!(!is_allowed("MIT AND GPL-3.0-only", &allowed));
    assert!(!is_allowed("Apache-2.0", &allowed));
    assert!(!is_allowed("", &allowed));
}

#[test]
fn every_package_comes_from_crates_io() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let sources: BTreeSet<&str> = (lock.lines())
        .filter_map(|line| line.strip_prefix("source = "))
        .collect();
    let registry = r#""registry+https://github.com/rust-lang/crates.io-index""#;
    assert_eq!(sources, BTreeSet::from([registry]));
}

#[test]
fn two_versions_of_a_crate_have_a_reason() {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages() {
        versions
            .entry(package.name)
            .or_default()
            .insert(package.version);
    }
    let rules = rules();
    let is_skipped = |skipped: &Skipped, name: &str, version: &str| {
        let found = format!("{name}@{version}");
        found.starts_with(&format!("{}.", skipped.name_and_version))
    };
    for (name, versions) in &versions {
        let unskipped = versions.iter().filter(|version| {
            !rules
                .bans
                .skip
                .iter()
                .any(|it| is_skipped(it, name, version))
        });
        assert!(
            unskipped.count() <= 1,
            "{name} comes in {versions:?}: bring it to one version, or say in deny.toml who needs the older"
        );
    }
    for skipped in &rules.bans.skip {
        let Skipped {
            name_and_version,
            reason,
        } = skipped;
        let (name, _) = name_and_version
            .split_once('@')
            .expect("a name and a version");
        let versions = versions.get(name).cloned().unwrap_or_default();
        let is_there = versions
            .iter()
            .any(|version| is_skipped(skipped, name, version));
        assert!(
            is_there && versions.len() > 1 && !reason.is_empty(),
            "deny.toml skips {name_and_version}, which is no older version of anything any more"
        );
    }
}
