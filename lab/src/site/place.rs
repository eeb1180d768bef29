//! The paths of pages: in the repository, and in the site.

use std::path::{Component, Path, PathBuf};

/// The page with the table of contents.
pub(super) const CONTENTS: &str = "docs/README.md";

/// Returns the path in the repository that a link of this page leads to.
pub(super) fn resolved(page: &Path, link: &str) -> PathBuf {
    let file = link.split('#').next().unwrap_or_default();
    if file.is_empty() {
        return page.to_owned();
    }
    let folder = if page.extension().is_some() {
        page.parent()
    } else {
        Some(page)
    };
    let mut path = folder.unwrap_or(Path::new("")).to_owned();
    for part in Path::new(file).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    path
}

/// Returns the path of a page in the site. A README or a folder is the index of its folder.
pub(super) fn address(page: &Path) -> PathBuf {
    match page.extension() {
        None => page.join("index.html"),
        Some(_) if page.ends_with("README.md") => page.with_file_name("index.html"),
        Some(_) => page.with_extension("html"),
    }
}
