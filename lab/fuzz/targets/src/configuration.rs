//! `picklock.toml`: its tables, its rules, and the commands in it.

use picklock_harness::adapter::command_line;
use picklock_harness::named_server::NamedServer;
use picklock_reports::configuration::{ConfiguredRules, Source, Tables};
use picklock_reports::gate::{CellKey, GateRuns, decide, terminal};
use picklock_scenarios::BackendName;
use picklock_verdicts::record::MatrixRecord;

/// Reads a configuration, checks its rules against a few cells, and applies them.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let source = Source {
        file: "picklock.toml".to_owned(),
        text: text.to_owned(),
    };
    let tables = match Tables::read(&source) {
        Ok(tables) => tables,
        Err(error) => return drop(error.to_string()),
    };
    for table in tables.impls.values() {
        drop(command_line::parse(table.command.get_ref()));
    }
    if let Some(server) = &tables.server {
        drop(server.get_ref().parse::<NamedServer>());
    }
    let control = tables.control.as_ref().map(|name| name.get_ref().as_str());
    let configured = ConfiguredRules {
        source: &source,
        tables: &tables,
        control,
        today: (2026, 12, 1),
        omitted: &[],
    };
    match configured.check(cells()) {
        Ok(rules) => {
            let ran = GateRuns {
                matrix: MatrixRecord::default(),
                paired: Vec::new(),
            };
            drop(terminal(&decide(&rules, None, &ran), 80));
        }
        Err(error) => drop(error.to_string()),
    }
}

/// Returns cells that a configuration may match, each with the offset of a table.
fn cells() -> Vec<(usize, CellKey)> {
    let mut cells = Vec::new();
    for lock in ["set-nx-px", "redlock"] {
        for scenario in ["calm", "gc-pause"] {
            for backend in [BackendName::Sim, BackendName::Process] {
                let key = CellKey {
                    lock: lock.to_owned(),
                    options: Default::default(),
                    scenario: scenario.to_owned(),
                    backend,
                };
                cells.push((0, key));
            }
        }
    }
    cells
}
