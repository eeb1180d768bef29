//! `picklock report`: writes reports from saved runs.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use picklock_reports::comparison::{self, Comparison, compare};
use picklock_reports::format::{File, Format};
use picklock_reports::formats;
use picklock_reports::html;
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use picklock_reports::report_input::ReportInput;

use crate::cli::ReportArgs;
use crate::exit::{self, Failure};
use crate::output_directory::OutputDirectory;
use crate::{print, report_reader};

/// The directory of a report without `--out`.
pub const DEFAULT_OUT: &str = "picklock-report";

/// Directory for the files until all of them are complete.
const UNFINISHED: &str = ".unfinished";

/// Writes the report and prints the files' names.
///
/// # Errors
/// Returns an error, without writing anything, if a path cannot be read, a format has nothing to show, or the disk is
/// full.
pub fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let chosen = args.formats.iter();
    let chosen: Vec<&Format> = chosen.filter_map(|name| formats::find(name)).collect();
    let input = report_reader::load(&args.paths)?;
    say_skipped(&input);
    let mut files = Vec::new();
    for format in &chosen {
        let written =
            (format.write)(&input).map_err(|error| Failure::Usage(inert!("{}", error)))?;
        files.extend(written);
    }
    let is_compared = !args.against.is_empty();
    let compared = is_compared.then(|| against(args, &input)).transpose()?;
    if let Some((before, compared)) = &compared {
        files.extend(comparison_files(before, &input, compared, &chosen)?);
    }
    place(&args.out, &files)?;
    if let Some((_, compared)) = &compared {
        print::out(&inert!("{}\n", comparison::text(compared)));
    }
    let listed: Inert = files
        .iter()
        .map(|file| {
            let path = args.out.join(&file.name);
            inert!("wrote {} ({})\n", path.display(), size(file.bytes().len()))
        })
        .collect();
    print::out(&listed);
    Ok(exit::HELD)
}

/// Writes a report of a directory in these formats into the directory itself. Returns the names of the files. A format
/// that has nothing to show writes none.
///
/// # Errors
/// Returns an error if the directory cannot be read, or if the disk is full.
pub fn write_into(path: &Path, names: &[&str]) -> Result<Vec<String>, Failure> {
    let input = report_reader::load(&[path.to_owned()])?;
    let formats = names.iter().filter_map(|name| formats::find(name));
    let files = formats.filter_map(|format| (format.write)(&input).ok());
    let files: Vec<File> = files.flatten().collect();
    place(path, &files)?;
    Ok(files.into_iter().map(|file| file.name).collect())
}

fn say_skipped(input: &ReportInput) {
    for reason in &input.skipped {
        print::err(&inert!("picklock: skipped: {}\n", reason));
    }
}

/// Compares with the earlier results that `--against` names; the report itself covers the later ones.
fn against(args: &ReportArgs, after: &ReportInput) -> Result<(ReportInput, Comparison), Failure> {
    let before = report_reader::load(&args.against)?;
    say_skipped(&before);
    let compared = compare(&before.matrix, &after.matrix)
        .map_err(|error| Failure::Usage(inert!("{}", error)))?;
    if compared.cells == 0 {
        return Err(Failure::Usage(Inert::literal(
            "--against: the two sets have no cell in common: compare runs of the same lock with the same options, \
             scenario and backend",
        )));
    }
    Ok((before, compared))
}

fn comparison_files(
    before: &ReportInput,
    after: &ReportInput,
    compared: &Comparison,
    chosen: &[&Format],
) -> Result<Vec<File>, Failure> {
    let wanted = |name| chosen.iter().any(|format| format.name == name);
    let mut files = Vec::new();
    if wanted("html") {
        let page = html::comparison_file(before, after, compared);
        files.push(page.map_err(|error| Failure::Usage(inert!("{}", error)))?);
    }
    if wanted("md") {
        let text = Inert::lines(&comparison::markdown(compared));
        files.push(File::text("comparison.md", text));
    }
    if wanted("json") {
        files.push(File::json("comparison.json", comparison::json(compared)));
    }
    Ok(files)
}

fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Writes all files or none. Each file is first written under a temporary name. The files are renamed only after the
/// last byte is on disk, because renaming needs no space.
fn place(out: &Path, files: &[File]) -> Result<(), Failure> {
    let existed = out.exists();
    let output = OutputDirectory::shared(out);
    let output = if out == Path::new(DEFAULT_OUT) {
        output.by_default()
    } else {
        output
    };
    let unfinished = Path::new(UNFINISHED);
    let attempt = || -> Result<(), (PathBuf, io::Error)> {
        let at = |name: &Path| {
            let path = out.join(name);
            move |error| (path, error)
        };
        fs::create_dir_all(out).map_err(|error| (out.to_owned(), error))?;
        for file in files {
            let name = Path::new(&file.name);
            let written = output.write(&unfinished.join(name), |to| to.write_all(file.bytes()));
            written.map_err(at(name))?;
        }
        for file in files {
            let name = Path::new(&file.name);
            output
                .rename(&unfinished.join(name), name)
                .map_err(at(name))?;
        }
        Ok(())
    };
    let outcome = attempt();
    output.remove(unfinished, |_| true).ok();
    outcome.map_err(|(path, error)| {
        if !existed {
            // This fails if the directory is not empty, as intended.
            fs::remove_dir(out).ok();
        }
        Failure::Environment(inert!("cannot write {}: {}", path.display(), error))
    })
}
