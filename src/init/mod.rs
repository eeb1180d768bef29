//! `picklock init`: writes a runnable adapter, a `picklock.toml` and a workflow into a new folder.
//!
//! - [`cli`]: the command line
//! - [`template`]: the parts of an adapter in one language
//! - [`languages`]: the table of languages
//! - [`project`]: the files for one choice
//! - [`ci`]: the workflow, at the root of the repository

mod ci;
pub mod cli;
mod languages;
mod project;
mod template;

use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use picklock_reports::escape::quoted;
use picklock_scenarios::nearest;

use crate::exit::Failure;
use crate::output_directory::OutputDirectory;
use crate::print;
use ci::{Origin, Repository};
use cli::InitArgs;
pub use languages::library_like;
use project::{GITIGNORE, Project, Surroundings};
use template::{Language, Library};

/// Writes the adapter, and says what comes next.
///
/// # Errors
/// Returns an error if there is no such library, or if a file exists already or cannot be written.
pub fn run(args: &InitArgs) -> Result<(), Failure> {
    // clap refuses all other names.
    let language = languages::named(&args.lang)
        .ok_or_else(|| Failure::Usage(format!("--lang {}: no such language", args.lang)))?;
    let library = args.lib.as_deref().map(|name| library(language, name));
    let library = library.transpose()?;
    let repository = Repository::around(&args.directory);
    let surroundings = Surroundings {
        has_program: &has_program,
        has_above: &|file| repository.has_above(file),
    };
    let project = Project::new(language, library, surroundings);
    let files = project.files.iter().filter(|_| !args.only_workflow);
    let files = files.map(|(path, text)| (args.directory.join(path), text.as_str()));
    let stays = |path: &Path| path.ends_with(GITIGNORE) && path.exists();
    let mut files: Vec<(PathBuf, &str)> = files.filter(|(path, _)| !stays(path)).collect();
    let workflow = origin(args)?.map(|origin| {
        let service = args.ci.unwrap_or_else(|| repository.service());
        repository.workflow(service, &origin, &project)
    });
    if let Some((path, text)) = &workflow {
        files.push((repository.root.join(path), text));
    }
    refuse_to_overwrite(&args.directory, &files)?;
    let created = fs::create_dir_all(&args.directory);
    created.map_err(Failure::at("create", &args.directory))?;
    let output = |path: &Path| below(path, [&args.directory, &repository.root]);
    for (path, _) in &files {
        let (output, inside) = output(path);
        output.check(&inside).map_err(|error| {
            Failure::Usage(format!("{}: {error}; nothing was written", path.display()))
        })?;
    }
    for (path, text) in &files {
        let (output, inside) = output(path);
        let written = output.write_new(&inside, text);
        written.map_err(Failure::at("write", path))?;
    }
    let written: Vec<&Path> = files.iter().map(|(path, _)| path.as_path()).collect();
    print::out(&next_steps(&args.directory, &written, &project));
    match workflow {
        None => print::err(
            "no workflow for CI was written, because it needs a source of Picklock; this writes it:\n  picklock init … --only-workflow --source URL --rev REV, or --source PATH of a clone\n",
        ),
        Some((path, _)) if path.starts_with(".gitlab/") => print::err(&format!(
            "there is a .gitlab-ci.yml: add this line to it\n  include: {path}\n"
        )),
        Some(_) => {}
    }
    Ok(())
}

/// Returns whether this program is on PATH.
fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// Returns the source of Picklock for CI, from the command line or from the user at the terminal.
fn origin(args: &InitArgs) -> Result<Option<Origin>, Failure> {
    let ask = |question: &str| -> Result<Option<String>, Failure> {
        if !(io::stdin().is_terminal() && print::stderr_is_terminal()) {
            return Ok(None);
        }
        print::err(question);
        let mut line = String::new();
        (io::stdin().read_line(&mut line))
            .map_err(|error| Failure::Environment(format!("cannot read the answer: {error}")))?;
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
    if !source.contains(':') {
        let path = PathBuf::from(&source);
        if !path.join("Cargo.toml").is_file() {
            return Err(Failure::Usage(format!(
                "--source {source}: neither the URL of a git repository nor a clone of Picklock"
            )));
        }
        return Ok(Some(Origin::Clone(path)));
    }
    match given(&args.rev, "The commit or the tag to use: ")? {
        Some(rev) => Ok(Some(Origin::Git { source, rev })),
        None => Err(Failure::Usage(format!(
            "--source {source}: a URL requires --rev with a commit or a tag, so that a gate is repeatable"
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
    Err(Failure::Usage(format!(
        "--lib {name}: no adapter for such a library is included; {names}\n  = help: {hint}"
    )))
}

/// All or nothing: half of an adapter among the user's own files would be hard to clean up.
fn refuse_to_overwrite(directory: &Path, files: &[(PathBuf, &str)]) -> Result<(), Failure> {
    if directory.exists() && !directory.is_dir() {
        let problem = format!("{} is not a folder", directory.display());
        return Err(Failure::Usage(problem));
    }
    // A broken symbolic link counts as an existing file.
    let there = files
        .iter()
        .filter(|(path, _)| path.symlink_metadata().is_ok());
    let there: Vec<String> = there.map(|(path, _)| shown(path, directory)).collect();
    if there.is_empty() {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{} has {} already; nothing was written\n  = help: name an empty or a new folder, as in `picklock init --lang LANGUAGE my-lock`",
        directory.display(),
        there.join(", ")
    )))
}

/// Returns a path relative to the new folder, or the full path if it is elsewhere.
fn shown(path: &Path, directory: &Path) -> String {
    path.strip_prefix(directory)
        .unwrap_or(path)
        .display()
        .to_string()
}

/// Returns the folder of the user that contains a file, and the file's path in it.
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
    let mut text = format!("wrote in {}:\n", directory.display());
    for path in written {
        text.push_str(&format!("  {}\n", shown(path, directory)));
    }
    text.push_str("\nnext:\n");
    if directory != Path::new(".") {
        let directory = directory.to_string_lossy();
        text.push_str(&format!("  cd {}\n", quoted(&directory)));
    }
    for command in project.prepare {
        text.push_str(&format!("  {command}\n"));
    }
    text.push_str(&format!(
        "  picklock scenario gc-pause --impl {}\n  picklock gate\n",
        project.label
    ));
    if let Some(renewal) = project.renewal {
        text.push_str(&format!(
            "\nif your lock renews its lease in the background:\n  {renewal}\n  set `renews = true` in picklock.toml\n"
        ));
    }
    text
}
