//! The workflow that runs the gate on every push, in the format of the CI service. The only I/O is looking at the
//! repository that contains the new folder.

use std::fs;
use std::path::{Component, Path, PathBuf};

use clap::ValueEnum;
use picklock_reports::escape;

use super::project::Project;

const GITHUB: &str = include_str!("../../adapters/project/workflow.yml");
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
pub struct Origin {
    /// URL of its git repository.
    pub source: String,
    /// A commit or tag of the repository.
    pub rev: String,
}

/// The repository that contains a folder, or will contain it.
#[derive(Debug)]
pub struct Repository {
    /// Root of the repository, or the folder itself if there is no repository.
    pub root: PathBuf,
    /// The folder, relative to the root; `.` is the root itself.
    folder: String,
}

impl Repository {
    /// Returns the repository around this folder, which need not exist yet.
    pub fn around(folder: &Path) -> Repository {
        let normal = resolved(folder);
        let mut above = normal.ancestors();
        let found = above.find(|dir| dir.join(".git").exists());
        let inside = found.and_then(|root| normal.strip_prefix(root).ok());
        match (found, inside) {
            (Some(root), Some(inside)) if inside != Path::new("") => Repository {
                root: root.to_owned(),
                folder: inside.to_string_lossy().into_owned(),
            },
            _ => Repository {
                root: folder.to_owned(),
                folder: ".".to_owned(),
            },
        }
    }

    /// Returns the CI service that the repository's files indicate; GitHub by default.
    pub fn service(&self) -> Service {
        let config = fs::read_to_string(self.root.join(".git/config")).unwrap_or_default();
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
        let results = match self.folder.as_str() {
            "." => "picklock-results".to_owned(),
            folder => format!("{folder}/picklock-results"),
        };
        let (template, prepare) = match service {
            Service::Github => (GITHUB, github_step(project.prepare)),
            Service::Gitlab => (GITLAB, gitlab_lines(project.prepare)),
        };
        let mut packages = vec!["redis-server"];
        packages.extend(&project.packages);
        let cd = format!("cd {}", escape::quoted(&self.folder));
        let text = template
            .replace("{{name}}", &name)
            .replace("{{folder}}", &quoted(&self.folder))
            .replace("{{cd}}", &quoted(&cd))
            .replace("{{source}}", &quoted(&origin.source))
            .replace("{{rev}}", &quoted(&origin.rev))
            .replace("{{packages}}", &packages.join(" "))
            .replace("{{results}}", &quoted(&results))
            .replace("{{junit}}", &quoted(&format!("{results}/junit.xml")))
            .replace("{{prepare}}", &prepare);
        (path, text)
    }
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

/// Quotes a text for YAML, which reads double-quoted text like JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Formats the commands as one step of the workflow. Returns an empty string if there are none.
fn github_step(commands: &[&str]) -> String {
    let lines = commands.iter().map(|it| format!("          {it}\n"));
    let lines: String = lines.collect();
    match commands {
        [] => lines,
        _ => format!("      - name: Build the adapter\n        run: |\n{lines}"),
    }
}

fn gitlab_lines(commands: &[&str]) -> String {
    let lines = commands.iter().map(|it| format!("    - {}\n", quoted(it)));
    lines.collect()
}
