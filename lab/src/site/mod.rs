//! The documentation as a static site: the project's README, every page that its links lead to, and the files next to
//! them. The site needs no network and no script. A broken link is an error.
//!
//! A folder of the site is a folder of the repository, so only the extensions of links between pages change.

mod html;
mod place;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use html::Page;
use place::{CONTENTS, address, resolved};

/// Why the site was not written.
#[derive(Debug, Error)]
pub enum Error {
    /// A file could not be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
    /// Links lead nowhere.
    #[error("broken links:\n{}", .0.join("\n"))]
    Links(Vec<String>),
}

/// Writes the site of the repository at `root` to `out`, and overwrites files of an earlier site. Returns the number of
/// pages.
///
/// # Errors
/// Returns an error if a link leads to no file or heading, or if a file cannot be read or written.
pub fn write(root: &Path, out: &Path) -> Result<usize, Error> {
    let site = collect(root)?;
    let broken = site.broken_links();
    if !broken.is_empty() {
        return Err(Error::Links(broken));
    }
    let contents = site.pages.get(Path::new(CONTENTS));
    let chapters = contents.map_or(Vec::new(), |page| html::chapters(&page.markdown));
    for (path, page) in &site.pages {
        save(
            out,
            &address(path),
            html::document(path, page, &chapters).as_bytes(),
        )?;
    }
    for path in &site.files {
        save(out, path, &read(root, path)?)?;
    }
    save(out, Path::new("style.css"), include_bytes!("style.css"))?;
    Ok(site.pages.len())
}

/// Returns a Markdown text as one page without the rest of the site.
pub fn single_page(markdown: &str) -> String {
    html::alone(&Page::new(markdown.to_owned()), include_str!("style.css"))
}

/// The pages by their paths in the repository, and the other files that they link to.
#[derive(Default)]
struct Site {
    pages: BTreeMap<PathBuf, Page>,
    files: BTreeSet<PathBuf>,
    missing: Vec<String>,
}

/// Follows all links from the README.
fn collect(root: &Path) -> Result<Site, Error> {
    let mut site = Site::default();
    let mut to_read = vec![PathBuf::from("README.md"), PathBuf::from(CONTENTS)];
    while let Some(path) = to_read.pop() {
        if site.pages.contains_key(&path) {
            continue;
        }
        let markdown = if root.join(&path).is_dir() {
            listing(root, &path)?
        } else {
            String::from_utf8_lossy(&read(root, &path)?).into_owned()
        };
        let page = Page::new(markdown);
        for link in &page.links {
            let target = resolved(&path, link);
            let is_page = target.extension().is_some_and(|it| it == "md");
            if !root.join(&target).exists() {
                site.missing.push(format!("{}: {link}", path.display()));
            } else if is_page || root.join(&target).is_dir() {
                to_read.push(target);
            } else {
                site.files.insert(target);
            }
        }
        site.pages.insert(path, page);
    }
    Ok(site)
}

impl Site {
    /// Returns the links whose file, or whose heading on the page, does not exist.
    fn broken_links(&self) -> Vec<String> {
        let mut broken = self.missing.clone();
        for (path, page) in &self.pages {
            for link in &page.links {
                let Some((_, anchor)) = link.split_once('#') else {
                    continue;
                };
                let target = self.pages.get(&resolved(path, link));
                if target.is_some_and(|target| !target.anchors.iter().any(|it| it == anchor)) {
                    broken.push(format!("{}: {link}: no such heading", path.display()));
                }
            }
        }
        broken
    }
}

/// Returns a page that lists the pages of a folder, or its README if it has one.
fn listing(root: &Path, folder: &Path) -> Result<String, Error> {
    let failed = |error| Error::File(folder.to_owned(), error);
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join(folder)).map_err(failed)? {
        names.push(
            entry
                .map_err(failed)?
                .file_name()
                .to_string_lossy()
                .into_owned(),
        );
    }
    names.retain(|name| name.ends_with(".md"));
    names.sort();
    if names.iter().any(|name| name == "README.md") {
        let readme = read(root, &folder.join("README.md"))?;
        return Ok(String::from_utf8_lossy(&readme).into_owned());
    }
    let title = format!("# {}\n\n", folder.display());
    let items = names
        .iter()
        .map(|name| format!("- [{}]({name})\n", name.trim_end_matches(".md")));
    Ok(items.fold(title, |text, item| text + &item))
}

fn read(root: &Path, path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(root.join(path)).map_err(|error| Error::File(path.to_owned(), error))
}

fn save(out: &Path, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let path = out.join(path);
    let folder = path.parent().unwrap_or(out);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, bytes));
    written.map_err(|error| Error::File(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    #[test]
    fn site_has_every_page_and_no_broken_link() {
        let out = tempfile::tempdir().unwrap();
        let out = out.path().join("site");
        let pages = write(&root(), &out).unwrap_or_else(|error| panic!("{error}"));
        assert!(pages > 100, "{pages} pages");
        for entry in fs::read_dir(root().join("docs")).unwrap() {
            let path = Path::new("docs").join(entry.unwrap().file_name());
            let is_page = path.extension().is_some_and(|it| it == "md");
            assert!(
                !is_page || out.join(address(&path)).exists(),
                "{}",
                path.display()
            );
        }
        let checked = links_lead_to_files(&out);
        assert!(checked > 2_000, "{checked} links");
    }

    /// Checks the links in the written pages, and returns their number.
    fn links_lead_to_files(out: &Path) -> usize {
        let mut checked = 0;
        let mut folders = vec![out.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|it| it == "html") {
                    checked += check_links(&path);
                }
            }
        }
        checked
    }

    fn check_links(page: &Path) -> usize {
        let text = fs::read_to_string(page).unwrap();
        let places = ["href=\"", "src=\""].map(|it| text.split(it).skip(1));
        let links = places.into_iter().flatten();
        let mut checked = 0;
        for link in links.filter_map(|it| it.split('"').next()) {
            let is_own = !link.contains("://") && !link.starts_with("mailto:");
            let file = link.split('#').next().unwrap_or_default();
            let target = page.parent().unwrap().join(file);
            assert!(!is_own || target.exists(), "{}: {link}", page.display());
            checked += 1;
        }
        checked
    }

    #[test]
    fn broken_links_are_errors() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("docs")).unwrap();
        fs::write(
            root.path().join("README.md"),
            "[a](docs/README.md#two) [b](nowhere.md)\n",
        )
        .unwrap();
        fs::write(root.path().join("docs/README.md"), "# One\n").unwrap();
        let error = write(root.path(), &root.path().join("site")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "broken links:\nREADME.md: nowhere.md\nREADME.md: docs/README.md#two: no such heading"
        );
    }
}
