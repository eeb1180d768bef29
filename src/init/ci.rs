//! The workflow that runs the gate on every push, in the format of the CI service. The only I/O is looking at the
//! repository that contains the new folder.

use std::path::{Component, Path, PathBuf};

use clap::ValueEnum;
use picklock_reports::escape;

use super::project::Project;
use crate::untrusted_file::{self, Links, MAX_TEXT_LENGTH};

const GITHUB: &str = include_str!("../../adapters/project/workflow.yml");
const GITHUB_SETUP: &str = include_str!("../../adapters/project/workflow-setup.yml");
const GITLAB: &str = include_str!("../../adapters/project/gitlab-ci.yml");

/// A CI service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Service {
    /// GitHub Actions.
    Github,
    /// GitLab CI.
    Gitlab,
}

/// The source from which CI installs Picklock.
#[derive(Debug, Clone)]
pub enum Origin {
    /// A git repository.
    Git {
        /// Its URL.
        source: String,
        /// A commit or tag.
        rev: String,
    },
    /// A clone on this machine, most usefully a submodule of the user's repository.
    Clone(PathBuf),
}

/// The repository that contains a folder, or will contain it.
#[derive(Debug)]
pub struct Repository {
    /// Root of the repository, or the folder itself if there is no repository.
    pub root: PathBuf,
    /// The folder, relative to the root; `.` is the root itself.
    folder: String,
    /// The folders above it, up to the root if there is a repository.
    above: Vec<PathBuf>,
}

impl Repository {
    /// Returns the repository around this folder, which need not exist yet.
    pub fn around(folder: &Path) -> Repository {
        let normal = resolved(folder);
        let mut above = normal.ancestors();
        let found = above.find(|dir| dir.join(".git").exists());
        let inside = found.and_then(|root| normal.strip_prefix(root).ok());
        let above = normal.ancestors().skip(1);
        let above = above.take_while(|dir| found.is_none_or(|root| dir.starts_with(root)));
        let above = above.map(Path::to_owned).collect();
        match (found, inside) {
            (Some(root), Some(inside)) if inside != Path::new("") => Repository {
                root: root.to_owned(),
                folder: inside.to_string_lossy().into_owned(),
                above,
            },
            _ => Repository {
                root: folder.to_owned(),
                folder: ".".to_owned(),
                above,
            },
        }
    }

    /// Returns `true` if the folder's name has a character with which CI begins a variable or an expression.
    pub fn has_variable(&self) -> bool {
        self.folder.contains('$')
    }

    /// Returns `true` if a folder above this one has this file. Within a repository, only the folders up to its root
    /// count.
    pub fn has_above(&self, file: &str) -> bool {
        self.above.iter().any(|folder| folder.join(file).exists())
    }

    /// Returns the CI service that the repository's files indicate; GitHub by default.
    pub fn service(&self) -> Service {
        let file = self.root.join(".git/config");
        let config = untrusted_file::read(&file, MAX_TEXT_LENGTH, Links::Followed);
        let config = config.unwrap_or_default();
        if config.contains("gitlab") || self.root.join(".gitlab-ci.yml").exists() {
            Service::Gitlab
        } else {
            Service::Github
        }
    }

    /// Returns the workflow's path below the root, and its text.
    pub fn workflow(
        &self,
        service: Service,
        origin: &Origin,
        project: &Project,
    ) -> (String, String) {
        // Each adapter of a repository has a separate workflow.
        let name = match self.folder.as_str() {
            "." => "picklock".to_owned(),
            folder => format!(
                "picklock-{}",
                folder.replace(|c: char| !c.is_alphanumeric(), "-")
            ),
        };
        let path = match service {
            Service::Github => format!(".github/workflows/{name}.yml"),
            Service::Gitlab if self.root.join(".gitlab-ci.yml").exists() => {
                format!(".gitlab/{name}.yml")
            }
            Service::Gitlab => ".gitlab-ci.yml".to_owned(),
        };
        let below = |name: &str| match self.folder.as_str() {
            "." => name.to_owned(),
            folder => format!("{folder}/{name}"),
        };
        let results = below("picklock-results");
        let own = project
            .install
            .iter()
            .map(|line| line.replace("{root}", &self.way_to_root()));
        let prepare: Vec<String> = own.chain(project.prepare.iter().cloned()).collect();
        let (template, prepare) = match service {
            Service::Github => {
                let setup = GITHUB_SETUP
                    .trim_end()
                    .replace("{{prepare}}", &github_step(&prepare));
                (GITHUB.replace("{{setup}}", &setup), String::new())
            }
            Service::Gitlab => (GITLAB.to_owned(), gitlab_lines(&prepare)),
        };
        let mut packages = vec!["redis-server"];
        packages.extend(&project.packages);
        let cd = format!("cd {}", escape::quoted(&self.folder));
        let Source {
            source,
            rev,
            cache,
            install,
        } = self.source(service, origin);
        let text = template
            .replace("{{name}}", &name)
            .replace("{{label}}", project.label)
            .replace("{{folder}}", &quoted(&self.folder))
            .replace("{{cd}}", &quoted(&cd))
            .replace("{{source}}", &quoted(&source))
            .replace("{{rev}}", &quoted(&rev))
            .replace("{{cache}}", &cache)
            .replace("{{install}}", &install)
            .replace("{{packages}}", &packages.join(" "))
            .replace("{{results}}", &quoted(&results))
            .replace(
                "{{counterexamples}}",
                &quoted(&below("picklock-counterexamples")),
            )
            .replace("{{junit}}", &quoted(&format!("{results}/junit.xml")))
            .replace("{{prepare}}", &prepare);
        (path, text)
    }

    /// Returns the path of the root as seen from the folder.
    fn way_to_root(&self) -> String {
        match self.folder.as_str() {
            "." => ".".to_owned(),
            folder => vec![".."; Path::new(folder).components().count()].join("/"),
        }
    }

    /// Returns the parts of a workflow that depend on the source of Picklock.
    fn source(&self, service: Service, origin: &Origin) -> Source {
        let installed = "command -v picklock || ";
        match origin {
            Origin::Git { source, rev } => Source {
                source: source.clone(),
                rev: rev.clone(),
                cache: match service {
                    Service::Github => "${{ env.PICKLOCK_REV }}".to_owned(),
                    Service::Gitlab => "$PICKLOCK_REV".to_owned(),
                },
                install: format!(
                    "{installed}(cd / && cargo install --locked --git \"$PICKLOCK_SOURCE\" --rev \"$PICKLOCK_REV\" picklock)"
                ),
            },
            Origin::Clone(path) => {
                let full = resolved(path);
                let inside = full.strip_prefix(resolved(&self.root)).ok();
                let (source, files) = match inside {
                    Some(inside) => (Path::new(&self.way_to_root()).join(inside), inside),
                    None => (full.clone(), full.as_path()),
                };
                Source {
                    source: source.to_string_lossy().into_owned(),
                    rev: "clone".to_owned(),
                    // The cached program must be the one of this revision.
                    cache: match service {
                        Service::Github => {
                            let files = files.display().to_string().replace('\'', "''");
                            format!("${{{{ hashFiles('{files}/**/*.rs') }}}}")
                        }
                        Service::Gitlab => "$CI_COMMIT_SHA".to_owned(),
                    },
                    install: format!(
                        "{installed}cargo install --locked --path \"$PICKLOCK_SOURCE\""
                    ),
                }
            }
        }
    }
}

/// The parts of a workflow that depend on the source of Picklock.
struct Source {
    source: String,
    rev: String,
    /// The part of the cache's key that changes with the source.
    cache: String,
    /// The command that installs Picklock.
    install: String,
}

/// Resolves `..` and symbolic links, because a parent in the path's text need not be the parent directory.
fn resolved(folder: &Path) -> PathBuf {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let mut above = absolute.ancestors();
    let there = above.find_map(|dir| Some((dir, dir.canonicalize().ok()?)));
    let (mut path, missing) = match there {
        Some((dir, real)) => (real, absolute.strip_prefix(dir).unwrap_or(Path::new(""))),
        None => (PathBuf::new(), absolute.as_path()),
    };
    // Components that do not exist yet cannot be links.
    for part in missing.components() {
        match part {
            Component::ParentDir => _ = path.pop(),
            part => path.push(part),
        }
    }
    path
}

/// Quotes a text for YAML, which reads double-quoted text like JSON. Invisible characters, and characters that reverse
/// the direction of the text around them, are escaped.
fn quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    let shown = json.chars().map(|c| match c {
        // JSON would need two escapes for such a character, and YAML does not join them.
        '\u{10000}'.. if escape::is_control(c) => format!("\\U{:08x}", u32::from(c)),
        '\u{7f}'.. if escape::is_control(c) => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    });
    shown.collect()
}

/// Formats the commands as one step of the workflow. Returns an empty string if there are none.
fn github_step(commands: &[String]) -> String {
    let lines = commands.iter().map(|it| format!("          {it}\n"));
    let lines: String = lines.collect();
    match commands {
        [] => "\n".to_owned(),
        _ => {
            format!("      - name: Install packages and build the adapter\n        run: |\n{lines}")
        }
    }
}

fn gitlab_lines(commands: &[String]) -> String {
    let lines = commands.iter().map(|it| format!("    - {}\n", quoted(it)));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_escaped_in_yaml() {
        let quoted = quoted("a\u{202e}b\u{e0041}\u{85}é\n");
        assert_eq!(quoted, r#""a\u202eb\U000e0041\u0085é\n""#);
    }
}
