//! The baseline file: the results that a gate compares against.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use picklock_reports::gate::{Baseline, GateRuns, Rules, changes};
use picklock_reports::inert;
use picklock_reports::inert::Inert;

use crate::exit::Failure;
use crate::print;
use crate::run_directory::RunDirectory;
use crate::saved_run::parent;
use crate::untrusted_file::{self, Links, MAX_DOCUMENT_LENGTH};

const DEFAULT: &str = "picklock-baseline.json";

pub struct BaselineFile {
    path: PathBuf,
    /// Whether the user named the file. If so, it must exist.
    pub is_named: bool,
}

impl BaselineFile {
    /// Returns the file that the user named, otherwise the one that the configuration names, otherwise the default. The
    /// last two are relative to the configuration, so that two configurations do not share a baseline by accident.
    pub fn named(typed: Option<&Path>, config: &Path, configured: Option<&Path>) -> BaselineFile {
        let configured_path = config.with_file_name(configured.unwrap_or(Path::new(DEFAULT)));
        BaselineFile {
            path: typed.map_or(configured_path, Path::to_owned),
            is_named: typed.or(configured).is_some(),
        }
    }

    /// Reads the file, or returns `None` if it does not exist.
    ///
    /// # Errors
    /// Returns an error if it cannot be read or is not a baseline.
    pub fn read(&self) -> Result<Option<Baseline>, Failure> {
        let wrong = |text: Inert| Failure::Usage(inert!("{}: {}", self.path.display(), text));
        match untrusted_file::read(&self.path, MAX_DOCUMENT_LENGTH, Links::Followed) {
            Ok(text) => match Baseline::parse(&text) {
                Ok(baseline) => Ok(Some(baseline)),
                Err(error) => Err(wrong(inert!("cannot use the baseline: {}", error))),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(wrong(inert!("cannot read the baseline: {}", error))),
        }
    }

    /// Creates the error for a missing baseline.
    pub fn missing(&self) -> Failure {
        Failure::Usage(inert!(
            "{}: there is no baseline, and the gate needs one\n  = help: run `picklock gate --update-baseline`, review the file, and commit it",
            self.path.display()
        ))
    }

    /// Replaces the file and prints what changes. An incomplete run changes nothing.
    pub fn update(
        &self,
        rules: &Rules,
        ran: &GateRuns,
        old: Option<Baseline>,
    ) -> Result<Option<Baseline>, Failure> {
        let name = self.path.display();
        let cells = &ran.matrix.cells;
        let controls = ran.paired.iter().map(|paired| &paired.error);
        let errors = cells.iter().map(|cell| &cell.error).chain(controls);
        let broken = errors.flatten().count();
        if cells.is_empty() || broken > 0 {
            print::err(&inert!(
                "{} was not written: a baseline needs a complete run, and {} cells could not be run\n",
                name,
                broken
            ));
            return Ok(old);
        }
        let new = Baseline::new(rules, ran);
        let changes = changes(old.as_ref(), &new);
        if old.as_ref() == Some(&new) {
            print::err(&inert!("{} is unchanged\n", name));
            return Ok(Some(new));
        }
        let Some(file_name) = self.path.file_name().map(|it| it.to_string_lossy()) else {
            return Err(Failure::Usage(inert!("{}: not a file name", name)));
        };
        let text = new.to_text();
        RunDirectory::at(parent(&self.path))
            .write(&file_name, |file| file.write_all(text.as_bytes()))?;
        let lines: Vec<String> = changes.iter().map(|line| format!("  {line}\n")).collect();
        print::err(&inert!(
            "{}: written, {} of {} cells changed\n{}",
            name,
            changes.len(),
            new.cells.len(),
            Inert::lines(&lines.concat())
        ));
        Ok(Some(new))
    }
}
