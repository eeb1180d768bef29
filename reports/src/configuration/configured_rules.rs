//! What the tables expect and limit, checked against the cells that are configured.

use std::collections::{BTreeMap, BTreeSet};

use picklock_scenarios::{CAUSES, Expectation, Property, ScenarioError};
use toml::Spanned;

use super::expect_table::ExpectTable;
use super::source::Source;
use super::tables::Tables;
use crate::gate::{CellKey, ExpectRule, Limit, LimitRule, Op, Rules, Selector, Unit};

/// The expectations and limits of a configuration.
#[derive(Debug, Clone, Copy)]
pub struct ConfiguredRules<'a> {
    /// The file, for errors that point into it.
    pub source: &'a Source,
    /// Its tables.
    pub tables: &'a Tables,
    /// The lock that latencies in server backends are compared with.
    pub control: Option<&'a str>,
}

impl ConfiguredRules<'_> {
    /// Expectations and limits, checked against the cells, each with the offset of the table that it is from.
    ///
    /// # Errors
    /// A duplicate cell; an invalid expectation or limit, or one that applies to no cell.
    pub fn check(&self, planned: Vec<(usize, CellKey)>) -> Result<Rules, ScenarioError> {
        let mut cells: Vec<CellKey> = Vec::new();
        let mut seen = BTreeSet::new();
        for (at, key) in planned {
            if !seen.insert(key.clone()) {
                let problem = format!("{key} is in two of [[cells]]");
                return Err(self.source.wrong(at, problem, None));
            }
            cells.push(key);
        }
        let mut rules = Rules {
            control: self.control.map(str::to_owned),
            ..Rules::default()
        };
        for table in &self.tables.expect {
            let at = table.span().start;
            let table = table.get_ref();
            let names = [&table.lock, &table.scenario, &table.backend];
            rules.expects.push(ExpectRule {
                cells: self.selector(at, names, &cells)?,
                properties: self.expectations(at, table)?,
            });
        }
        for table in &self.tables.limit {
            let at = table.span().start;
            let table = table.get_ref();
            let names = [&table.lock, &table.scenario, &table.backend];
            let selector = self.selector(at, names, &cells)?;
            if table.require.is_empty() {
                return Err(self.source.wrong(at, "require lists no limit", None));
            }
            for text in &table.require {
                let limit = self.limit(text, &selector, &cells)?;
                rules.limits.push(LimitRule {
                    cells: selector.clone(),
                    limit,
                });
            }
        }
        rules.cells = cells;
        Ok(rules)
    }

    /// The cells that a table applies to. A table that applies to none is a typing error or a
    /// leftover, and would give a false sense of safety.
    fn selector(
        &self,
        at: usize,
        [lock, scenario, backend]: [&Option<Spanned<String>>; 3],
        cells: &[CellKey],
    ) -> Result<Selector, ScenarioError> {
        let part = |of: fn(&CellKey) -> &str| -> BTreeSet<&str> { cells.iter().map(of).collect() };
        let named = [
            (lock, "lock", part(|key| &key.lock)),
            (scenario, "scenario", part(|key| &key.scenario)),
            (backend, "backend", part(|key| key.backend.word())),
        ];
        for (name, what, known) in named {
            let Some(name) = name else { continue };
            let word = name.get_ref();
            if !known.contains(word.as_str()) {
                let problem = format!("no cell of [[cells]] has the {what} `{word}`");
                return Err(self.source.unknown(name.span().start, problem, word, known));
            }
        }
        let text =
            |name: &Option<Spanned<String>>| name.as_ref().map(|name| name.get_ref().clone());
        let selector = Selector {
            lock: text(lock),
            scenario: text(scenario),
            backend: backend
                .as_ref()
                .and_then(|backend| backend.get_ref().parse().ok()),
        };
        if !cells.iter().any(|key| selector.matches(key)) {
            return Err(self.source.wrong(
                at,
                "no cell of [[cells]] matches all of these names",
                None,
            ));
        }
        Ok(selector)
    }

    fn expectations(
        &self,
        at: usize,
        table: &ExpectTable,
    ) -> Result<BTreeMap<Property, String>, ScenarioError> {
        let mut properties = BTreeMap::new();
        for (property, words) in &table.properties {
            let (at, text) = (words.span().start, words.get_ref());
            match Expectation::try_from(text.clone()) {
                Ok(Expectation::Violated { cause: Some(cause) })
                    if !CAUSES.contains(&cause.as_str()) =>
                {
                    let problem = format!(
                        "no such cause: `{cause}`; the causes are {}",
                        CAUSES.join(", ")
                    );
                    let known = CAUSES.iter().copied();
                    return Err(self.source.unknown(at, problem, &cause, known));
                }
                Ok(_) => {}
                Err(problem) => {
                    let known = ["held", "violated", "any"];
                    return Err(self.source.unknown(at, problem, text, known));
                }
            }
            properties.insert(*property, text.clone());
        }
        if properties.is_empty() {
            let help = "name a property, as in `lease = \"held\"`".to_owned();
            return Err(self
                .source
                .wrong(at, "this table expects nothing", Some(help)));
        }
        Ok(properties)
    }

    fn limit(
        &self,
        text: &Spanned<String>,
        selector: &Selector,
        cells: &[CellKey],
    ) -> Result<Limit, ScenarioError> {
        let start = text.span().start;
        let limit = Limit::parse(text.get_ref()).map_err(|error| {
            // The opening quotation mark comes before the limit itself.
            let at = start + 1 + error.at;
            match &error.unknown {
                Some((word, known)) => {
                    let known = known.iter().map(String::as_str);
                    self.source.unknown(at, error.problem.clone(), word, known)
                }
                None => self.source.wrong(at, error.problem.clone(), None),
            }
        })?;
        let mut selected = cells.iter().filter(|key| selector.matches(key));
        let is_real = selected.any(|key| !key.is_simulated());
        if limit.mentions(Unit::Control) && self.control.is_none() {
            let help = "name one at the top of the file: control = \"set-nx-px\"".to_owned();
            return Err(self.source.wrong(
                start,
                "it refers to `control`, and none is configured",
                Some(help),
            ));
        }
        if is_real && limit.metric.is_time() {
            self.check_real_time(start, &limit)?;
        }
        Ok(limit)
    }

    /// A time on a real machine depends on the machine as much as on the lock.
    fn check_real_time(&self, at: usize, limit: &Limit) -> Result<(), ScenarioError> {
        let wrong =
            |problem: &str, help: &str| Err(self.source.wrong(at, problem, Some(help.to_owned())));
        if self.control.is_none() {
            return wrong(
                "a time in a server backend is compared with a control, and none is configured",
                "name one at the top of the file: control = \"set-nx-px\"",
            );
        }
        if !limit.mentions(Unit::Baseline) && !limit.mentions(Unit::Control) {
            return wrong(
                "in a server backend this would measure the machine: compare with `baseline` or `control`",
                "as in `acquire.p50 < control * 1.5`, or name `backend = \"sim\"`",
            );
        }
        if matches!(limit.op, Op::Equal | Op::Unequal) {
            return wrong(
                "times of a real machine are never equal",
                "use <, <=, > or >=",
            );
        }
        Ok(())
    }
}
