//! Writes the directory of a run that failed an assertion, for `picklock report` and `picklock check`.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use crate::assemble::{About, assemble};
use crate::check::Verdicts;
use crate::history::{History, write_history};
use crate::key_history::write_key_history;
use crate::latency;
use crate::proxy::CommandLog;

/// Writes the run, and returns its directory. Replaces the directory that the same test has written before.
///
/// # Errors
/// Returns an error if the directory or a file in it cannot be written.
pub(super) fn save(
    history: &History,
    verdicts: Verdicts,
    command_log: Option<&CommandLog>,
    about: About,
) -> io::Result<PathBuf> {
    let directory = parent_dir().join(dir_name(history));
    match fs::remove_dir_all(&directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::create_dir_all(&directory)?,
    }
    let write = |name: &str, write: &dyn Fn(&mut BufWriter<File>) -> io::Result<()>| {
        let mut file = BufWriter::new(File::create_new(directory.join(name))?);
        write(&mut file)?;
        file.flush()
    };
    write("history.jsonl", &|file| write_history(history, file))?;
    write("key-history.jsonl", &|file| {
        write_key_history(history, file)
    })?;
    if let Some(command_log) = command_log {
        write("commands.jsonl", &|file| command_log.write(file))?;
    }
    let about = About {
        latency: latency::from_history(history),
        ..about
    };
    let record = assemble(history, verdicts, about);
    // `run.json` is written last, so that a directory that contains it is complete.
    write("run.json", &|file| {
        serde_json::to_writer_pretty(file, &record).map_err(io::Error::from)
    })?;
    Ok(directory)
}

/// Returns the parent directory. It is in the test's target directory, which cargo marks, or otherwise in the directory
/// for temporary files.
fn parent_dir() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let mut folders = program.ancestors();
    let target = folders.find(|folder| folder.join("CACHEDIR.TAG").is_file());
    match target {
        Some(target) => target.join("picklock"),
        None => std::env::temp_dir().join(format!("picklock-{}", std::process::id())),
    }
}

/// Returns the directory's name. It contains the test's name, which is the thread's name, so that
/// tests of one lock do not overwrite each other's runs.
fn dir_name(history: &History) -> String {
    let header = &history.header;
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("main");
    let parts = [test, &header.lock, &header.scenario].map(sanitize);
    format!("{}-{}", parts.join("-"), header.seed)
}

/// Converts a text so that it can be part of a file name, which has at most 255 bytes.
fn sanitize(text: &str) -> String {
    let is_uniform = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let chars = text.replace("::", "-");
    let chars = chars.chars().take(60);
    chars.map(|c| if is_uniform(c) { c } else { '-' }).collect()
}
