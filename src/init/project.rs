//! The files of a new adapter and the commands to run next. Pure: this module writes nothing.

use super::template::{FENCES, Language, Library, RENEWS, Template};

const CONFIGURATION: &str = include_str!("../../adapters/project/picklock.toml");

/// The output of a gate run.
const RESULTS: &str = "picklock-results/";

/// File that lists what git ignores. An existing one is left unchanged.
pub const GITIGNORE: &str = ".gitignore";

/// An adapter to be written.
#[derive(Debug)]
pub struct Project {
    /// Paths relative to the adapter's folder, with the files' contents.
    pub files: Vec<(&'static str, String)>,
    /// Commands to run once, before the first run.
    pub prepare: &'static [&'static str],
    /// Its name in `picklock.toml`.
    pub label: &'static str,
    /// Debian packages that it needs.
    pub packages: Vec<&'static str>,
}

impl Project {
    /// Creates the files for the language's example, or for a library's lock instead of it.
    pub fn new(language: &Language, library: Option<&Library>) -> Project {
        let (lock, prepare, run, label) = match library {
            Some(library) => (library.files, library.prepare, library.run, library.name),
            None => (language.example, language.prepare, language.run, "my-lock"),
        };
        let of_library = library.map_or(&[][..], |_| language.library_packages);
        let texts = lock.iter().chain(language.module);
        let mut files: Vec<(&str, String)> = texts
            .map(|Template { path, text }| (*path, (*text).to_owned()))
            .collect();
        let claims = library.map_or(&[][..], |library| library.claims);
        let lines: String = claims.iter().map(|line| format!("{line}\n")).collect();
        let configuration = CONFIGURATION
            .replace("{{run}}", run)
            .replace("{{label}}", label)
            .replace("{{claims}}", &lines)
            .replace("{{resource}}", resource_after_a_pause(claims));
        files.push(("picklock.toml", configuration));
        let ignored = language.ignored.iter().chain([&RESULTS]);
        let ignored = ignored.map(|line| format!("{line}\n"));
        files.push((GITIGNORE, ignored.collect()));
        Project {
            files,
            prepare,
            label,
            packages: [language.packages, of_library].concat(),
        }
    }
}

/// The expected result for the resource after the holder was frozen for longer than its lease.
fn resource_after_a_pause(claims: &[&str]) -> &'static str {
    if claims.contains(&FENCES) {
        "held"
    } else if claims.contains(&RENEWS) {
        "any: the lock may notice before or after the stock is changed"
    } else {
        "violated: outlived-lease"
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::init::languages::LANGUAGES;

    /// Returns every adapter that `init` can create, with the command that starts it.
    fn projects() -> Vec<(Project, &'static str)> {
        let of = |language: &'static Language| {
            let example = std::iter::once((Project::new(language, None), language.run));
            let libraries = language.libraries.iter();
            let libraries =
                libraries.map(|library| (Project::new(language, Some(library)), library.run));
            example.chain(libraries)
        };
        LANGUAGES.iter().flat_map(of).collect()
    }

    #[test]
    fn no_placeholder_is_left_and_no_file_comes_twice() {
        for (project, _) in projects() {
            let paths: BTreeSet<&str> = project.files.iter().map(|(path, _)| *path).collect();
            assert_eq!(paths.len(), project.files.len(), "{paths:?}");
            for (path, text) in &project.files {
                // Two braces are valid code in some languages.
                let made = path.ends_with(".toml");
                assert!(!made || !text.contains("{{"), "{path}:\n{text}");
            }
        }
    }

    #[test]
    fn the_commands_need_no_shell() {
        for (project, run) in projects() {
            for command in project.prepare.iter().chain([&run]) {
                // Java expands `lib/*` itself.
                let bare: String = command.split('\'').step_by(2).collect();
                let syntax = bare.contains(['$', '*', '|', '&', ';', '<', '>', '"']);
                assert!(!syntax, "{command}");
            }
        }
    }

    #[test]
    fn program_of_the_first_run_is_written_or_built() {
        for (project, run) in projects() {
            let has = |word: &str| project.files.iter().any(|(path, _)| *path == word);
            let is_script = run.split(' ').any(has);
            assert!(is_script || !project.prepare.is_empty(), "{run}");
        }
    }

    #[test]
    fn languages_and_libraries_are_in_the_order_of_their_names() {
        assert!(LANGUAGES.is_sorted_by_key(|language| language.name));
        for language in LANGUAGES {
            assert!(language.libraries.is_sorted_by_key(|library| library.name));
        }
    }
}
