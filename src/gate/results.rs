//! The files of `picklock gate --out`: reports of all cells, and the failed runs.

use std::io::Write;

use picklock_harness::record::MatrixRecord;
use picklock_reports::escape::quoted;
use picklock_reports::gate::{CellKey, Decision, Kind, gate_json, markdown};
use picklock_reports::inert;
use picklock_reports::inert::Inert;

use crate::exit::Failure;
use crate::matrix::directory::MatrixDirectory;
use crate::report;
use crate::run_directory::RunDirectory;

/// Formats of the reports that are written.
const FORMATS: [&str; 2] = ["html", "junit"];

/// Writes the reports, removes the runs that did not fail, and prints what was written.
pub fn write(
    directory: &MatrixDirectory,
    mut matrix: MatrixRecord,
    decision: &Decision,
) -> Result<Inert, Failure> {
    let is_of_run = |kind| {
        let kinds = [
            Kind::Verdict,
            Kind::UnexpectedPass,
            Kind::Limit,
            Kind::Inconclusive,
        ];
        kinds.contains(&kind)
    };
    let findings = decision.findings.iter().filter(|it| is_of_run(it.kind));
    let failed: Vec<&CellKey> = findings.filter_map(|it| it.cell.as_ref()).collect();
    for cell in &mut matrix.cells {
        if !failed.contains(&&CellKey::new(cell)) {
            directory.remove(cell.run_dir.take().as_deref().unwrap_or_default());
        }
    }
    directory.finish(&matrix)?;
    let path = directory.path();
    let directory = RunDirectory::at(path);
    directory.write("gate.md", |file| writeln!(file, "{}", markdown(decision)))?;
    directory.write("gate.json", |file| {
        writeln!(file, "{}", gate_json(decision))
    })?;
    let mut names = vec!["gate.md".to_owned(), "gate.json".to_owned()];
    names.extend(report::write_into(path, &FORMATS)?);
    let shown = |name: &str| path.join(name).display().to_string();
    let mut text = Inert::literal("saved:\n");
    for name in &names {
        text.push(&inert!("  {}\n", shown(name)));
    }
    for cell in &matrix.cells {
        if let Some(run_dir) = &cell.run_dir {
            let dir = shown(run_dir);
            text.push(&inert!("  {}: the run of {}\n", dir, CellKey::new(cell)));
        }
    }
    if let Some(run_dir) = matrix.cells.iter().find_map(|cell| cell.run_dir.as_ref()) {
        let dir = shown(run_dir);
        let dir = quoted(&dir);
        // This run has just written the files, so the lock's command in them can be trusted.
        text.push(&inert!(
            "see what happened: picklock log {}\nreproduce: picklock replay {} --trust\n",
            dir,
            dir
        ));
    }
    Ok(text)
}
