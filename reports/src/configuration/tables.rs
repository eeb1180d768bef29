//! The tables of `picklock.toml` as they are written in the file. Other modules check their contents.

#![expect(
    missing_docs,
    reason = "docs/gate.md and docs/adapters.md describe the keys"
)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use picklock_scenarios::{BackendName, LockKind, ScenarioError};
use picklock_verdicts::record::ServersTable;
use serde::Deserialize;
use toml::{Spanned, Value};

use super::source::Source;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tables {
    pub baseline: Option<PathBuf>,
    pub control: Option<Spanned<String>>,
    pub pairs: Option<Spanned<usize>>,
    pub server: Option<Spanned<String>>,
    pub image: Option<String>,
    pub redis_server: Option<PathBuf>,
    /// The user's own servers.
    pub servers: Option<Spanned<ServersTable>>,
    /// The user's locks, by name.
    #[serde(default, rename = "impl")]
    pub impls: BTreeMap<Spanned<String>, ImplTable>,
    #[serde(default)]
    pub cells: Vec<Spanned<CellsTable>>,
    #[serde(default)]
    pub expect: Vec<Spanned<ExpectTable>>,
    #[serde(default)]
    pub accept: Vec<Spanned<AcceptTable>>,
    #[serde(default)]
    pub limit: Vec<Spanned<LimitTable>>,
}

impl Tables {
    /// Reads the text of a configuration.
    ///
    /// # Errors
    /// Returns an error for the first mistake, with its line and the closest valid word.
    pub fn read(source: &Source) -> Result<Tables, ScenarioError> {
        toml::from_str(&source.text).map_err(|error| source.unreadable(&error, 0))
    }
}

/// `[impl.NAME]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImplTable {
    pub command: Spanned<String>,
    pub directory: Option<Spanned<PathBuf>>,
    #[serde(default)]
    pub environment: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    pub nodes: Option<Spanned<usize>>,
    pub replicas: Option<Spanned<usize>>,
    #[serde(default)]
    pub needs_every_node: bool,
    #[serde(default)]
    pub kind: LockKind,
    #[serde(default)]
    pub renews: bool,
    #[serde(default)]
    pub min_hold_ms: u64,
    #[serde(default)]
    pub lease_margin_ms: u64,
    #[serde(default)]
    pub fences: bool,
    pub reference: Option<Spanned<String>>,
}

/// `[[cells]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellsTable {
    /// Excludes `auto`, because the gate must run the same cells every time.
    pub backends: Vec<BackendName>,
    /// Each value is a name or a [`LockTable`].
    pub locks: Option<Vec<Spanned<Value>>>,
    pub scenarios: Option<Vec<Spanned<String>>>,
    pub profile: Option<Spanned<String>>,
    pub seeds: Option<Spanned<u64>>,
}

/// A lock of `[[cells]]`.
#[derive(Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "the name of a lock, or { impl = \"NAME\", options = { KEY = \"VALUE\" } }; for a program also name = \"LABEL\""
)]
pub struct LockTable {
    #[serde(rename = "impl")]
    pub lock: String,
    pub name: Option<String>,
    #[serde(default)]
    pub options: BTreeMap<String, String>,
}

/// `[[expect]]`: `lock`, `scenario`, `backend`, and a key for each property.
pub type ExpectTable = BTreeMap<Spanned<String>, Spanned<String>>;

/// `[[accept]]`: the keys of `[[expect]]`, and `reason` and `until`, a date.
pub type AcceptTable = BTreeMap<Spanned<String>, Spanned<Value>>;

/// `[[limit]]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitTable {
    pub lock: Option<Spanned<String>>,
    pub scenario: Option<Spanned<String>>,
    pub backend: Option<Spanned<String>>,
    pub metric: Option<Spanned<String>>,
    pub max: Option<Spanned<Value>>,
    pub min: Option<Spanned<Value>>,
    pub max_vs_baseline: Option<Spanned<Value>>,
    pub min_vs_baseline: Option<Spanned<Value>>,
    pub max_vs_control: Option<Spanned<Value>>,
    pub min_vs_control: Option<Spanned<Value>>,
    pub slack: Option<Spanned<Value>>,
}
