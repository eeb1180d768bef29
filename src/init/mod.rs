//! `picklock init`: writes a runnable adapter, a `picklock.toml` and a workflow into a new folder.
//!
//! - [`cli`]: the command line
//! - [`template`]: the parts of an adapter in one language
//! - [`languages`]: the table of languages
//! - [`kind`]: the kinds of locks
//! - [`examples`]: the files of each kind, by language
//! - [`new_files`]: refuses to overwrite files, and lists those that were written
//! - [`project`]: the files for one choice
//! - [`ci`]: the workflow, at the root of the repository
//! - [`first_test`]: a test in an existing project, instead of a new folder

mod ci;
pub mod cli;
mod examples;
mod first_test;
mod kind;
mod languages;
mod libraries;
mod new_files;
mod project;
mod template;

use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use picklock_reports::escape;
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use picklock_scenarios::nearest;

use crate::exit::Failure;
use crate::output_directory::OutputDirectory;
use crate::print;
use ci::{Origin, Repository};
use cli::InitArgs;
use kind::Kind;
pub use languages::library_like;
use new_files::{next_lines, refuse_to_overwrite};
use project::{GITIGNORE, Project, Surroundings};
use template::{KindExample, Language, Library};

/// Writes the adapter or the test, and prints the next steps.
///
/// # Errors
/// Returns an error if there is no such library, or if a file exists already or cannot be written.
pub fn run(args: &InitArgs) -> Result<(), Failure> {
    match &args.test {
        Some(framework) => first_test::write(framework, &args.directory),
        None => write_adapter(args),
    }
}

fn write_adapter(args: &InitArgs) -> Result<(), Failure> {
    // clap refuses all other names.
    let name = args.lang.as_deref().unwrap_or_default();
    let language = languages::named(name)
        .ok_or_else(|| Failure::Usage(inert!("--lang {}: no such language", name)))?;
    let library = args.lib.as_deref().map(|name| library(language, name));
    let library = library.transpose()?;
    let example = example(language, args.kind)?;
    let repository = Repository::around(&args.directory);
    let surroundings = Surroundings {
        has_program: &has_program,
        has_above: &|file| repository.has_above(file),
    };
    let project = Project::new(language, library, example, surroundings);
    let files = project.files.iter().filter(|_| !args.only_workflow);
    let files = files.map(|(path, text)| (args.directory.join(path), text.as_str()));
    let stays = |path: &Path| path.ends_with(GITIGNORE) && path.exists();
    let mut files: Vec<(PathBuf, &str)> = files.filter(|(path, _)| !stays(path)).collect();
    let origin = origin(args)?;
    if origin.is_some() && repository.has_variable() {
        return Err(Failure::Usage(inert!(
            "{}: CI would replace what follows the `$` in the workflow; choose another folder",
            args.directory.display()
        )));
    }
    let workflow = origin.map(|origin| {
        let service = args.ci.unwrap_or_else(|| repository.service());
        repository.workflow(service, &origin, &project)
    });
    if let Some((path, text)) = &workflow {
        files.push((repository.root.join(path), text));
    }
    let places: Vec<PathBuf> = files.iter().map(|(path, _)| path.clone()).collect();
    let help = "name an empty or a new folder, as in `picklock init --lang LANGUAGE my-lock`";
    refuse_to_overwrite(&args.directory, &places, help)?;
    let created = fs::create_dir_all(&args.directory);
    created.map_err(Failure::at("create", &args.directory))?;
    let output = |path: &Path| below(path, [&args.directory, &repository.root]);
    for (path, _) in &files {
        let (output, inside) = output(path);
        output.check(&inside).map_err(|error| {
            Failure::Usage(inert!("{}: {}; nothing was written", path.display(), error))
        })?;
    }
    for (path, text) in &files {
        let (output, inside) = output(path);
        let written = output.write_new(&inside, text);
        written.map_err(Failure::at("write", path))?;
    }
    let written: Vec<&Path> = files.iter().map(|(path, _)| path.as_path()).collect();
    print::out(&Inert::lines(&next_steps(
        &args.directory,
        &written,
        &project,
    )));
    match workflow {
        None => print::err(&Inert::literal(
            "no workflow for CI was written, because it needs a source of Picklock; this writes it:\n  picklock init … --only-workflow --source URL --rev REV, or --source PATH of a clone\n",
        )),
        Some((path, _)) if path.starts_with(".gitlab/") => print::err(&inert!(
            "there is a .gitlab-ci.yml: add this line to it\n  include: {}\n",
            path
        )),
        Some(_) => {}
    }
    Ok(())
}

/// Returns the example of this kind of lock, or `None` for a lock with one holder.
///
/// # Errors
/// Returns an error if the language has no such example.
fn example(
    language: &'static Language,
    kind: Kind,
) -> Result<Option<&'static KindExample>, Failure> {
    if kind == Kind::Mutex {
        return Ok(None);
    }
    let of_kind =
        |language: &'static Language| language.kinds.iter().find(|example| example.kind == kind);
    of_kind(language).map(Some).ok_or_else(|| {
        let has_one = languages::LANGUAGES.iter();
        let has_one = has_one.filter(|it| of_kind(it).is_some());
        let names: Vec<&str> = has_one.map(|language| language.name).collect();
        Failure::Usage(inert!(
            "--kind {}: there is no example in {}; expected `--lang {}`\n  = help: docs/protocol.md describes what an \
             adapter answers (`picklock docs protocol`)",
            kind.name(),
            language.name,
            names.join("` or `--lang ")
        ))
    })
}

/// Returns `true` if this program is on PATH.
fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// Returns `true` if a URL contains a password, or a user, a query or a fragment that may be a token.
fn has_secret(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else {
        return false;
    };
    if rest.contains(['?', '#']) {
        return true;
    }
    let authority = rest.split('/').next().unwrap_or_default();
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    user.is_some_and(|user| scheme.starts_with("http") || user.contains(':'))
}

/// Returns the source of Picklock for CI, from the command line or from the user at the terminal.
fn origin(args: &InitArgs) -> Result<Option<Origin>, Failure> {
    let ask = |question: &str| -> Result<Option<String>, Failure> {
        if !(io::stdin().is_terminal() && print::stderr_is_terminal()) {
            return Ok(None);
        }
        print::err(&Inert::lines(question));
        let mut line = String::new();
        (io::stdin().read_line(&mut line))
            .map_err(|error| Failure::Environment(inert!("cannot read the answer: {}", error)))?;
        Ok(Some(line.trim().to_owned()).filter(|line| !line.is_empty()))
    };
    let given = |given: &Option<String>, question| match given {
        Some(given) => Ok(Some(given.clone())),
        None => ask(question),
    };
    let source = given(
        &args.source,
        "CI gets Picklock from a git repository, or from a clone. Its URL or path (empty: write no workflow): ",
    )?;
    let Some(source) = source else {
        return Ok(None);
    };
    if has_secret(&source) {
        return Err(Failure::Usage(Inert::literal(
            "--source: the URL contains a user, a password or a query, which everyone who reads the workflow would \
             see; leave it out, and give CI the access in its settings",
        )));
    }
    if !source.contains(':') {
        let path = PathBuf::from(&source);
        if source.chars().any(escape::is_control) {
            return Err(Failure::Usage(inert!(
                "--source {}: a workflow cannot name a path with invisible characters",
                source
            )));
        }
        if !path.join("Cargo.toml").is_file() {
            return Err(Failure::Usage(inert!(
                "--source {}: neither the URL of a git repository nor a clone of Picklock",
                source
            )));
        }
        return Ok(Some(Origin::Clone(path)));
    }
    match given(&args.rev, "The commit or the tag to use: ")? {
        Some(rev) => Ok(Some(Origin::Git { source, rev })),
        None => Err(Failure::Usage(inert!(
            "--source {}: a URL requires --rev with a commit or a tag, so that a gate is repeatable",
            source
        ))),
    }
}

fn library(language: &'static Language, name: &str) -> Result<&'static Library, Failure> {
    let mut libraries = language.libraries.iter();
    if let Some(found) = libraries.find(|library| library.name == name) {
        return Ok(found);
    }
    let known = || language.libraries.iter().map(|library| library.name);
    let names = match language.libraries {
        [] => format!("there is none for {}", language.name),
        _ => format!(
            "those for {} are {}",
            language.name,
            known().collect::<Vec<_>>().join(", ")
        ),
    };
    let hint = match nearest(name, known()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "without --lib you get an example to put any library into (picklock docs adapters)"
            .to_owned(),
    };
    Err(Failure::Usage(inert!(
        "--lib {}: no adapter for such a library is included; {}\n  = help: {}",
        name,
        names,
        Inert::lines(&hint)
    )))
}

/// Returns the user's folder that contains a file, and the file's path relative to it.
fn below(path: &Path, folders: [&Path; 2]) -> (OutputDirectory, PathBuf) {
    let around = folders.into_iter().find_map(|folder| {
        let inside = path.strip_prefix(folder).ok()?;
        // The repository of the current folder has an empty path.
        let folder = Some(folder).filter(|folder| *folder != Path::new(""));
        Some((
            OutputDirectory::shared(folder.unwrap_or(Path::new("."))),
            inside.to_owned(),
        ))
    });
    around.unwrap_or_else(|| (OutputDirectory::shared(Path::new("/")), path.to_owned()))
}

fn next_steps(directory: &Path, written: &[&Path], project: &Project) -> String {
    let mut steps = project.prepare.clone();
    steps.push(format!("picklock adapter check {}", project.label));
    steps.push(format!(
        "picklock scenario {} --impl {}",
        project.first_scenario, project.label
    ));
    steps.push("picklock gate".to_owned());
    let mut text = next_lines(directory, written, &steps);
    if project.first_scenario == "gc-pause" {
        text.push_str(
            "\ngc-pause is one scenario: no lock without fencing passes it (outlived-lease). The gate runs all that suit the lock.\n",
        );
    }
    if let Some(renewal) = project.renewal {
        text.push_str(&format!(
            "\nif your lock renews its lease in the background:\n  {renewal}\n  set `renews = true` in picklock.toml\n"
        ));
    }
    text
}
