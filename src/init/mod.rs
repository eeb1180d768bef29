//! `picklock init`: an adapter that runs, a `picklock.toml` and a workflow, in a new folder.
//!
//! - [`cli`]: the command line
//! - [`template`]: what an adapter of one language consists of
//! - [`languages`]: the table of them
//! - [`project`]: the files for one choice

pub mod cli;
mod languages;
mod project;
mod template;

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use picklock_scenarios::nearest;

use crate::exit::Failure;
use crate::print;
use cli::InitArgs;
use project::Project;
use template::{Language, Library};

/// Writes the adapter, and says what comes next.
///
/// # Errors
/// No such library; a file is there already, or cannot be written.
pub fn run(args: &InitArgs) -> Result<(), Failure> {
    // The command line refuses all other names.
    let language = languages::named(&args.lang)
        .ok_or_else(|| Failure::Usage(format!("--lang {}: no such language", args.lang)))?;
    let library = match &args.lib {
        Some(name) => Some(library(language, name)?),
        None => None,
    };
    let project = Project::of(language, library);
    refuse_to_overwrite(&args.directory, &project)?;
    for (path, text) in &project.files {
        let path = args.directory.join(path);
        write_new(&path, text).map_err(|error| {
            Failure::Environment(format!("cannot write {}: {error}", path.display()))
        })?;
    }
    print::out(&told(&args.directory, &project));
    Ok(())
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

/// All or nothing: half of an adapter among somebody's own files would be hard to clean up.
fn refuse_to_overwrite(directory: &Path, project: &Project) -> Result<(), Failure> {
    if directory.exists() && !directory.is_dir() {
        let problem = format!("{} is not a folder", directory.display());
        return Err(Failure::Usage(problem));
    }
    let paths = project.files.iter().map(|(path, _)| *path);
    // A broken symbolic link is a file too.
    let there: Vec<&str> = paths
        .filter(|path| directory.join(path).symlink_metadata().is_ok())
        .collect();
    if there.is_empty() {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{} has {} already; nothing was written\n  = help: name an empty or a new folder, as in `picklock init --lang LANGUAGE my-lock`",
        directory.display(),
        there.join(", ")
    )))
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::File::create_new(path)?.write_all(text.as_bytes())
}

fn told(directory: &Path, project: &Project) -> String {
    let mut text = format!("wrote in {}:\n", directory.display());
    for (path, _) in &project.files {
        text.push_str(&format!("  {path}\n"));
    }
    text.push_str("\nnext:\n");
    if directory != Path::new(".") {
        let directory = directory.to_string_lossy();
        text.push_str(&format!("  cd {}\n", shell_words::quote(&directory)));
    }
    for command in project.prepare {
        text.push_str(&format!("  {command}\n"));
    }
    text.push_str(&format!(
        "  picklock scenario gc-pause --impl {}\n  picklock gate\n",
        project.label
    ));
    text
}
