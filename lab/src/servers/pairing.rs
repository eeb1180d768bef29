//! Pairs the same cell across matrices, and formats the escaped names of servers, locks and scenarios.

use std::collections::{BTreeMap, BTreeSet};

use picklock_reports::cell_status;
use picklock_reports::markdown::quoted::{code, prose};
use picklock_reports::report_input::ReportInput;
use picklock_verdicts::record::{Cell, MatrixRecord, Redis};

use super::refusal::Refusal;

/// A matrix and its server.
pub struct Column<'a> {
    pub server: &'a Redis,
    /// The path from which the matrix was read.
    pub name: &'a str,
    pub matrix: &'a MatrixRecord,
}

/// The entry of a matrix for a cell.
#[derive(Clone, Copy)]
pub enum Found<'a> {
    /// The cell.
    Cell(&'a Cell),
    /// The cell exists, but its scenario has different content.
    OtherContent,
    /// The matrix does not have the cell.
    Missing,
}

/// A cell on all servers, in the order of the columns. At least one server has it.
pub struct Row<'a> {
    /// The cell, from the first matrix that has it.
    pub cell: &'a Cell,
    pub found: Vec<Found<'a>>,
}

/// Backend, scenario, lock and options.
type Place<'a> = (&'a str, &'a str, &'a str, &'a BTreeMap<String, String>);

/// Returns the matrices with their servers.
pub fn columns(parts: &[(String, ReportInput)]) -> Result<Vec<Column<'_>>, Refusal> {
    if parts.len() < 2 {
        return Err(Refusal::OneMatrix);
    }
    let mut columns: Vec<Column> = Vec::new();
    for (name, part) in parts {
        let matrix = &part.matrix;
        let server = server(name, &matrix.cells)?;
        if let Some(known) = columns.iter().find(|known| known.server == server) {
            return Err(Refusal::SameServer {
                one: known.name.to_owned(),
                other: name.clone(),
                server: server.to_string(),
            });
        }
        if let Some(first) = columns.first()
            && (first.matrix.seed, first.matrix.seeds) != (matrix.seed, matrix.seeds)
        {
            return Err(Refusal::OtherSeeds {
                one: first.name.to_owned(),
                other: name.clone(),
            });
        }
        columns.push(Column {
            server,
            name,
            matrix,
        });
    }
    Ok(columns)
}

fn server<'a>(name: &str, cells: &'a [Cell]) -> Result<&'a Redis, Refusal> {
    let mut servers: Vec<&Redis> = Vec::new();
    for server in cells.iter().filter_map(|cell| cell.redis.as_ref()) {
        if !servers.contains(&server) {
            servers.push(server);
        }
    }
    match servers[..] {
        [] => Err(Refusal::NoServer {
            matrix: name.to_owned(),
        }),
        [only] => Ok(only),
        _ => {
            let words: Vec<String> = servers.iter().map(|server| server.to_string()).collect();
            Err(Refusal::SeveralServers {
                matrix: name.to_owned(),
                servers: picklock_reports::escape::visible(&words.join(", ")).into_owned(),
            })
        }
    }
}

/// Returns all cells, in the order of the matrices.
pub fn rows<'a>(columns: &[Column<'a>]) -> Result<Vec<Row<'a>>, Refusal> {
    let mut known: Vec<BTreeMap<Place, Vec<&Cell>>> = Vec::new();
    for column in columns {
        let mut by_place: BTreeMap<Place, Vec<&Cell>> = BTreeMap::new();
        for cell in &column.matrix.cells {
            let there = by_place.entry(place(cell)).or_default();
            if there.iter().any(|other| is_same_scenario(other, cell)) {
                return Err(Refusal::Twice {
                    matrix: column.name.to_owned(),
                    cell: cell_status::title(cell),
                });
            }
            there.push(cell);
        }
        known.push(by_place);
    }
    let find = |column: &BTreeMap<Place, Vec<&'a Cell>>, cell: &Cell| match column.get(&place(cell))
    {
        None => Found::Missing,
        Some(there) => {
            let same = there.iter().find(|other| is_same_scenario(other, cell));
            same.map_or(Found::OtherContent, |same| Found::Cell(same))
        }
    };
    let mut rows: Vec<Row> = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        for cell in &column.matrix.cells {
            let found: Vec<Found> = known.iter().map(|column| find(column, cell)).collect();
            let is_new = !found[..index].iter().any(|one| one.cell().is_some());
            if is_new {
                rows.push(Row { cell, found });
            }
        }
    }
    let is_shared = |row: &Row| row.cells().count() > 1;
    if rows.iter().any(is_shared) {
        Ok(rows)
    } else {
        Err(Refusal::NothingInCommon)
    }
}

fn place(cell: &Cell) -> Place<'_> {
    (
        cell.backend.as_str(),
        &cell.scenario,
        &cell.lock.name,
        &cell.options,
    )
}

fn is_same_scenario(one: &Cell, other: &Cell) -> bool {
    one.scenario_hash == other.scenario_hash
}

impl<'a> Found<'a> {
    /// Returns the cell, if the matrix has it.
    pub fn cell(&self) -> Option<&'a Cell> {
        match self {
            Found::Cell(cell) => Some(cell),
            Found::OtherContent | Found::Missing => None,
        }
    }
}

impl<'a> Row<'a> {
    /// Returns the cell of each server that has it.
    pub fn cells(&self) -> impl Iterator<Item = &'a Cell> {
        self.found.iter().filter_map(Found::cell)
    }
}

/// Formats the server of a column: `valkey 9.1.2`.
pub fn server_name(column: &Column) -> String {
    prose(&column.server.to_string())
}

/// Formats the servers as header cells of a table.
pub fn server_names(columns: &[Column]) -> String {
    let names: Vec<String> = columns.iter().map(server_name).collect();
    names.join(" | ")
}

/// Formats the lock of a cell, with its options.
pub fn lock_name(cell: &Cell) -> String {
    let mut name = code(&cell.lock.name);
    for (key, value) in &cell.options {
        name.push_str(&format!(" {}", code(&format!("{key}={value}"))));
    }
    name
}

/// Formats the scenario of a cell, with its backend if there are several.
pub fn scenario_name(cell: &Cell, rows: &[Row]) -> String {
    let backends: BTreeSet<&str> = rows.iter().map(|row| row.cell.backend.as_str()).collect();
    let name = code(&cell.scenario);
    match backends.len() {
        0 | 1 => name,
        _ => format!("{name} ({})", cell.backend.as_str()),
    }
}
