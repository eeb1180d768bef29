//! Checks that every relative link in a Markdown page leads to an existing file and heading, and that the guides name
//! only existing paths.

use std::path::{Path, PathBuf};

use crate::sources::root;

/// Folders without pages of the project.
const SKIPPED: [&str; 4] = ["target", ".git", "corpus", "node_modules"];

/// Finds all Markdown pages below a folder.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the project") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !SKIPPED.contains(&&*name) {
            pages(&path, found);
        } else if path.is_symlink() {
            // The page is checked where it is.
            continue;
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
}

/// Returns the lines of a page without its code blocks.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    page.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !fence && !in_code
    })
}

/// Returns the link targets of a page, without links to other sites.
fn links(page: &str) -> Vec<String> {
    let text: String = prose(page).flat_map(|line| [line, "\n"]).collect();
    let ends = text.split("](").skip(1);
    let targets = ends.filter_map(|end| Some(end.split_once(')')?.0));
    let own = targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:"));
    own.map(str::to_owned).collect()
}

/// Returns the anchors of a page's headings, as GitHub generates them.
fn anchors(page: &str) -> Vec<String> {
    let headings = prose(page).filter(|line| line.starts_with('#'));
    let texts = headings.map(|line| line.trim_start_matches('#').trim().to_lowercase());
    let anchor = |text: String| {
        let kept = text
            .chars()
            .filter(|&c| c.is_alphanumeric() || "-_ ".contains(c));
        kept.collect::<String>().replace(' ', "-")
    };
    texts.map(anchor).collect()
}

/// Returns why a link of this page is broken, or `None` if it is not.
fn broken(page: &Path, link: &str) -> Option<String> {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => page.to_owned(),
        file => page.parent().expect("a page has a folder").join(file),
    };
    if !target.exists() {
        return Some(format!("there is no {}", target.display()));
    }
    let is_page = target.extension().is_some_and(|ending| ending == "md");
    if anchor.is_empty() || !is_page {
        return None;
    }
    let text = std::fs::read_to_string(&target).expect("a page");
    let known = anchors(&text);
    (!known.iter().any(|it| it == anchor))
        .then(|| format!("{} has no heading #{anchor}", target.display()))
}

#[test]
fn relative_links_lead_to_files_and_headings() {
    let mut found = Vec::new();
    pages(&root(), &mut found);
    let mut checked = 0;
    let mut told = Vec::new();
    for page in &found {
        let text = std::fs::read_to_string(page).expect("a page");
        for link in links(&text) {
            checked += 1;
            if let Some(what) = broken(page, &link) {
                told.push(format!("{}: ({link}): {what}", page.display()));
            }
        }
    }
    assert!(told.is_empty(), "{}", told.join("\n"));
    assert!(checked > 50, "only {checked} links were found");
}

#[test]
fn pages_of_the_docs_are_in_their_index() {
    let docs = root().join("docs");
    let index = std::fs::read_to_string(docs.join("README.md")).expect("the index");
    let listed = links(&index);
    for entry in std::fs::read_dir(docs).expect("the docs") {
        let name = entry.expect("an entry").file_name();
        let name = name.to_string_lossy();
        let is_page = name.ends_with(".md") && name != "README.md";
        assert!(
            !is_page || listed.iter().any(|link| *link == name),
            "docs/README.md does not name {name}"
        );
    }
}

/// Returns the project paths in the page's code spans: those that begin with one of the project's folders.
fn paths(page: &str) -> Vec<String> {
    let text: String = prose(page).flat_map(|line| [line, "\n"]).collect();
    let spans = text.split('`').skip(1).step_by(2);
    let is_path = |span: &&str| {
        let plain = |c: char| c.is_alphanumeric() || "/._-".contains(c);
        let folder = span.split_once('/').map(|(folder, _)| folder);
        folder.is_some_and(|folder| !folder.is_empty() && root().join(folder).is_dir())
            && span.chars().all(plain)
    };
    spans.filter(is_path).map(str::to_owned).collect()
}

#[test]
fn paths_that_guides_name_exist() {
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(root().join(page)).expect("a page");
        let named = paths(&text);
        assert!(named.len() > 10, "{page}: {named:?}");
        let made_later = |path: &str| path.starts_with("target/");
        for path in named.iter().filter(|path| !made_later(path)) {
            assert!(root().join(path).exists(), "{page} names {path}");
        }
    }
}

#[test]
fn a_broken_link_is_found() {
    let page = "# A b, `c`!\n\n[x](y.md) [z](https://z)\n```\n[no](link)\n```\n[w](#a-b-c)\n";
    assert_eq!(links(page), ["y.md", "#a-b-c"]);
    assert_eq!(anchors(page), ["a-b-c"]);
    let readme = root().join("README.md");
    assert!(broken(&readme, "nowhere.md").is_some());
    assert!(broken(&readme, "docs/gate.md#nothing-of-this").is_some());
    assert_eq!(broken(&readme, "docs/gate.md#limits"), None);
    assert_eq!(paths("`src/no` `a/b` `docs` `src/x y` ```"), ["src/no"]);
}
