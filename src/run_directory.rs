//! The directory of a saved run.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use picklock_harness::history::write_history;
use picklock_harness::key_history::write_key_history;
use picklock_harness::record::RunRecord;
use picklock_harness::run::RunResult;
use picklock_harness::spec::RunSpec;
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use picklock_reports::{documents, repro as repro_text};

use crate::exit::Failure;
use crate::output_directory::OutputDirectory;
use crate::repro;
use crate::saved_run::{self, COMMAND_LOG};
use crate::untrusted_file::gzip_path;

/// A directory for one run. No other user of the machine can read it: a history names programs and keys, and a log may
/// contain anything.
pub struct RunDirectory {
    output: OutputDirectory,
    /// Path of the run below the directory that the user named.
    inside: PathBuf,
}

/// Returns `true` if Picklock writes files of this name into run directories.
pub fn is_of_run(name: &str) -> bool {
    let unfinished = name.strip_prefix('.');
    let unfinished = unfinished.and_then(|name| name.strip_suffix(".unfinished"));
    let name = unfinished.unwrap_or(name);
    const OTHERS: [&str; 5] = [
        "cell.json",
        "junit.xml",
        "trace.json",
        "gate.json",
        "gate.md",
    ];
    saved_run::FILES.contains(&name)
        || OTHERS.contains(&name)
        || name.ends_with(".log")
        || name.starts_with("report.")
}

impl RunDirectory {
    /// Creates the directory; it may exist if it contains no run. No other process of Picklock can write a run to it
    /// until this value is dropped.
    ///
    /// # Errors
    /// Returns an error if it cannot be created, contains another run, or another process is writing one.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let refused =
            |problem: Inert| Failure::Usage(inert!("--out {}: {}", path.display(), problem));
        let directory = RunDirectory::at(path);
        let made = directory.output.make();
        made.map_err(|error| refused(inert!("cannot create the directory: {}", error)))?;
        let locked = directory.output.lock();
        locked.map_err(|error| refused(inert!("{}", error)))?;
        if path.join("run.json").exists() || path.join("history.jsonl").exists() {
            return Err(refused(Inert::literal(
                "it already contains a run; choose a new directory",
            )));
        }
        Ok(directory)
    }

    /// Returns an existing directory that the user named.
    pub fn at(path: &Path) -> Self {
        RunDirectory::below(&OutputDirectory::private(path), Path::new(""))
    }

    /// Returns a directory below the one that the user named. No part of `inside` may be a symbolic link.
    pub fn below(output: &OutputDirectory, inside: &Path) -> Self {
        RunDirectory {
            output: output.clone(),
            inside: inside.to_owned(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.output.root().join(&self.inside).join(name)
    }

    /// Writes a file completely or not at all: it gets its name last.
    ///
    /// # Errors
    /// Returns an error if the disk is full, or if the directory was removed.
    pub fn write(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let written = self.output.write(&self.inside.join(name), write);
        written.map_err(Failure::at("write", &self.path(name)))
    }

    /// Writes a run.
    pub fn keep(
        &self,
        spec: &RunSpec,
        result: &RunResult,
        record: &RunRecord,
    ) -> Result<(), Failure> {
        let history = &result.history;
        if let Some(logs) = &result.logs {
            self.copy_logs(logs.path())?;
        }
        if let Some(proxy) = &result.command_log {
            self.write(COMMAND_LOG, |file| proxy.write(file))?;
        }
        self.write("history.jsonl", |file| write_history(history, file))?;
        if history.header.key_history {
            self.write("key-history.jsonl", |file| write_key_history(history, file))?;
        }
        self.describe(spec, record)
    }

    /// Writes the files that describe the run and its command: the repro file and the record.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub fn describe(&self, spec: &RunSpec, record: &RunRecord) -> Result<(), Failure> {
        let name = repro_text::FILE;
        let text = repro_text::text(&repro::from_run(spec, record))
            .map_err(|error| Failure::Environment(inert!("cannot write {}: {}", name, error)))?;
        self.write(name, |file| file.write_all(text.as_bytes()))?;
        // Written last: a directory with a run.json is complete.
        self.write("run.json", |file| {
            writeln!(file, "{}", documents::json(record))
        })
    }

    /// Compresses the command log to about a twentieth of its size. Uncompressed, the log makes up nine tenths of a
    /// saved run.
    pub fn compress_command_log(&self) -> Result<(), Failure> {
        let path = self.path(COMMAND_LOG);
        let Ok(mut log) = self.output.open(&self.inside.join(COMMAND_LOG)) else {
            return Ok(());
        };
        let packed = gzip_path(Path::new(COMMAND_LOG));
        self.write(&packed.to_string_lossy(), |file| {
            let mut encoder = GzEncoder::new(file, Compression::fast());
            io::copy(&mut log, &mut encoder)?;
            encoder.finish().map(drop)
        })?;
        let removed = self.output.remove_file(&self.inside.join(COMMAND_LOG));
        removed.map_err(Failure::at("remove", &path))
    }

    /// Copies the files of another saved run.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or written.
    pub fn copy(&self, from: &RunDirectory) -> Result<(), Failure> {
        let path = from.path("");
        for entry in fs::read_dir(&path)
            .map_err(Failure::at("read", &path))?
            .flatten()
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            let opened = from.output.open(&from.inside.join(&name));
            let mut file = opened.map_err(Failure::at("read", &entry.path()))?;
            self.write(&name, |copy| io::copy(&mut file, copy).map(drop))?;
        }
        Ok(())
    }

    /// Copies the logs of workers and nodes.
    fn copy_logs(&self, from: &Path) -> Result<(), Failure> {
        for entry in fs::read_dir(from).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".log") {
                self.write(&name, |file| {
                    io::copy(&mut File::open(entry.path())?, file).map(drop)
                })?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_takes_one_run_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let refusal = || match RunDirectory::create(&path) {
            Err(Failure::Usage(text)) => text.as_str().to_owned(),
            _ => String::new(),
        };
        let first = RunDirectory::create(&path).unwrap();
        assert!(refusal().contains("another picklock is writing"));
        drop(first);
        let second = RunDirectory::create(&path).unwrap();
        second.write("run.json", |_| Ok(())).unwrap();
        drop(second);
        assert!(refusal().contains("already contains a run"));
    }
}
