//! The files of a new adapter and the commands to run next. Pure: this module writes nothing.

use picklock_scenarios::LockKind;

use super::kind::Kind;
use super::template::{
    FENCES, KindExample, Language, Library, RENEWS, RWLOCK, SEMAPHORE, Template, When,
};

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
    pub prepare: Vec<String>,
    /// The command that starts it, which is also in `picklock.toml`.
    #[cfg(test)]
    run: String,
    /// Its name in `picklock.toml`.
    pub label: &'static str,
    /// The scenario to begin with.
    pub first_scenario: &'static str,
    /// Debian packages that it needs.
    pub packages: Vec<&'static str>,
    /// Commands of CI that install the user's own packages. `{root}` is the root of the repository.
    pub install: &'static [&'static str],
    /// Instructions for reporting renewals in the background, or `None` for a library, whose adapter reports them.
    pub renewal: Option<&'static str>,
}

/// The machine and the repository of a new adapter.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Returns `true` if this program is installed.
    pub has_program: &'a dyn Fn(&str) -> bool,
    /// Returns `true` if the repository has this file in a folder above the new one.
    pub has_above: &'a dyn Fn(&str) -> bool,
}

impl Surroundings<'_> {
    fn fit(&self, when: When) -> bool {
        match when {
            When::Instead(usual, other) => !(self.has_program)(usual) && (self.has_program)(other),
            When::Below(file) => (self.has_above)(file),
        }
    }
}

impl Project {
    /// Creates the files for the language's example, or for a library's lock instead of it.
    pub fn new(
        language: &Language,
        library: Option<&Library>,
        example: Option<&KindExample>,
        surroundings: Surroundings<'_>,
    ) -> Project {
        let mut variants = language.variants.iter();
        let variant = variants.find(|it| library.is_none() && surroundings.fit(it.when));
        let kind = example.map_or_else(|| kind_of(library), |example| example.kind);
        let (prepare, run) = match (library, variant) {
            (Some(library), _) => (library.prepare, library.run),
            (None, Some(other)) => (other.prepare, other.run),
            (None, None) => (language.prepare, language.run),
        };
        let run = kind.in_command(run);
        let of_kind = example.map_or(language.example, |example| example.files);
        let lock = library.map_or(of_kind, |library| library.files);
        let label = library.map_or(kind.label(), |library| library.name);
        let more = variant.map_or(&[][..], |variant| variant.files);
        let packages = variant.map_or(language.packages, |variant| variant.packages);
        let of_library = library.map_or(&[][..], |_| language.library_packages);
        let texts = lock.iter().chain(more).chain(language.module);
        let is_in_module = language
            .module_file
            .filter(|it| (surroundings.has_above)(it));
        let mut files: Vec<(&str, String)> = texts
            .filter(|template| Some(template.path) != is_in_module)
            .map(|Template { path, text }| (*path, (*text).to_owned()))
            .collect();
        let of_example = example.map_or(&[][..], KindExample::declares);
        let declares = library.map_or(of_example, |library| library.declares);
        let kind_line = format!("kind = \"{}\"", kind.declared().as_str());
        // The declarations of a library contain its kind.
        let is_declared = library.is_none() && kind.declared() != LockKind::Mutex;
        let kind_line = is_declared.then_some(kind_line.as_str());
        let lines = kind_line.into_iter().chain(declares.iter().copied());
        let lines: String = lines.map(|line| format!("{line}\n")).collect();
        let configuration = CONFIGURATION
            .replace("{{run}}", &run)
            .replace("{{label}}", label)
            .replace("{{declares}}", &lines)
            .replace("{{first}}", kind.first_scenario())
            .replace("{{chosen}}", kind.chosen())
            .replace("{{accepted}}", &kind.accepted())
            .replace(
                "{{expected}}",
                &kind.expected(resource_after_a_pause(declares)),
            );
        files.push(("picklock.toml", configuration));
        let ignored = language.ignored.iter().chain([&RESULTS]);
        let ignored = ignored.map(|line| format!("{line}\n"));
        files.push((GITIGNORE, ignored.collect()));
        Project {
            files,
            prepare: prepare.iter().map(|it| kind.in_command(it)).collect(),
            #[cfg(test)]
            run,
            label,
            first_scenario: kind.first_scenario(),
            packages: [packages, of_library].concat(),
            // A library comes with its own packages.
            install: library.map_or(language.install, |_| &[]),
            renewal: (library.is_none() && example.is_none()).then_some(language.renewal),
        }
    }
}

/// Returns the kind of a library's lock.
fn kind_of(library: Option<&Library>) -> Kind {
    let declares = library.map_or(&[][..], |library| library.declares);
    if declares.contains(&SEMAPHORE) {
        Kind::Semaphore
    } else if declares.contains(&RWLOCK) {
        Kind::Rwlock
    } else {
        Kind::Mutex
    }
}

/// Returns the expected result for the resource after the holder was frozen for longer than its lease.
fn resource_after_a_pause(declares: &[&str]) -> &'static str {
    if declares.contains(&FENCES) {
        "held"
    } else if declares.contains(&RENEWS) {
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

    /// A machine without programs, and a folder without a repository.
    const NOTHING: Surroundings<'_> = Surroundings {
        has_program: &|_| false,
        has_above: &|_| false,
    };

    /// Returns every adapter that `init` can create.
    fn projects() -> Vec<Project> {
        let of = |language: &'static Language| {
            let example = std::iter::once(Project::new(language, None, None, NOTHING));
            let libraries = language.libraries.iter();
            let libraries =
                libraries.map(|library| Project::new(language, Some(library), None, NOTHING));
            let kinds = language.kinds.iter();
            let kinds = kinds.map(|one| Project::new(language, None, Some(one), NOTHING));
            example.chain(libraries).chain(kinds)
        };
        LANGUAGES.iter().flat_map(of).collect()
    }

    #[test]
    fn no_placeholder_is_left_and_no_file_comes_twice() {
        for project in projects() {
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
    fn lines_of_the_configuration_are_short() {
        for project in projects() {
            let mut files = project.files.iter();
            let (_, text) = files.find(|(path, _)| *path == "picklock.toml").unwrap();
            for line in text.lines().filter(|it| !it.starts_with("command")) {
                assert!(line.len() <= 100, "{line}");
            }
        }
    }

    #[test]
    fn the_commands_need_no_shell() {
        for project in projects() {
            for command in project.prepare.iter().chain([&project.run]) {
                // Java expands `lib/*` itself.
                let bare: String = command.split('\'').step_by(2).collect();
                let syntax = bare.contains(['$', '*', '|', '&', ';', '<', '>', '"']);
                assert!(!syntax, "{command}");
            }
        }
    }

    #[test]
    fn program_of_the_first_run_is_written_or_built() {
        for project in projects() {
            let has = |word: &str| project.files.iter().any(|(path, _)| *path == word);
            let is_script = project.run.split(' ').any(has);
            assert!(is_script || !project.prepare.is_empty(), "{}", project.run);
        }
    }

    /// The lock's own file is the first one. Java starts a class.
    #[test]
    fn commands_of_an_example_name_its_file() {
        for language in LANGUAGES {
            for example in language.kinds {
                let project = Project::new(language, None, Some(example), NOTHING);
                let (file, _) = project.files[0];
                let is_named = ["go", "rust"].contains(&language.name)
                    || project.prepare.iter().any(|it| it.contains(file))
                    || project.run.contains(file);
                assert!(is_named, "{file}: {:?} {}", project.prepare, project.run);
                if language.name == "java" {
                    assert!(project.run.ends_with(file.trim_end_matches(".java")));
                }
            }
        }
    }

    #[test]
    fn project_suits_its_surroundings() {
        let with = |lang: &str, program: &'static str, file: &'static str| {
            let language = crate::init::languages::named(lang).unwrap();
            let surroundings = Surroundings {
                has_program: &|it| it == program,
                has_above: &|it| it == file,
            };
            let project = Project::new(language, None, None, surroundings);
            let paths: Vec<&str> = project.files.iter().map(|(path, _)| *path).collect();
            (paths, project.prepare[0].clone())
        };
        let (paths, build) = with("golang", "go", "go.mod");
        assert!(!paths.contains(&"go.mod") && build.starts_with("go build"));
        assert!(with("go", "go", "").0.contains(&"go.mod"));
        assert!(with("java", "mvn", "pom.xml").0.contains(&"pom.xml"));
        assert!(!with("java", "mvn", "").0.contains(&"pom.xml"));
        assert!(with("c#", "dotnet", "").1.starts_with("dotnet build"));
        assert!(with("c#", "mcs", "").1.starts_with("mcs "));
    }

    #[test]
    fn languages_and_libraries_are_in_the_order_of_their_names() {
        assert!(LANGUAGES.is_sorted_by_key(|language| language.name));
        for language in LANGUAGES {
            assert!(language.libraries.is_sorted_by_key(|library| library.name));
        }
    }
}
