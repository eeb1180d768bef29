//! Checks the expectations and limits of the tables against the configured cells.

use std::collections::{BTreeMap, BTreeSet};

use picklock_scenarios::{CAUSES, Expectation, ExpectationError, Property, ScenarioError};
use picklock_verdicts::record::SkippedCell;
use toml::{Spanned, Value};

use super::configured_limits::LimitScope;
use super::source::Source;
use super::tables::{AcceptTable, ExpectTable, Tables};
use crate::gate::{Accepted, CellKey, CellRules, Rules};

/// The expectations and limits of a configuration.
#[derive(Debug, Clone, Copy)]
pub struct ConfiguredRules<'a> {
    /// The file, for errors that point into it.
    pub source: &'a Source,
    /// Its tables.
    pub tables: &'a Tables,
    /// The lock that latencies in server backends are compared with.
    pub control: Option<&'a str>,
    /// Today's date as year, month and day. Known violations are accepted until a date.
    pub today: (u16, u8, u8),
    /// Configured cells that are not applicable. A table may apply only to them.
    pub omitted: &'a [SkippedCell],
}

/// The names of a table that select cells, and its expectations.
type Selected<'a> = (
    [Option<&'a Spanned<String>>; 3],
    BTreeMap<Property, Expectation>,
);

/// The keys that select cells.
const SELECTORS: [&str; 3] = ["lock", "scenario", "backend"];

impl ConfiguredRules<'_> {
    /// Returns the expectations and limits for the planned cells. Each cell comes with the offset of its
    /// table.
    ///
    /// # Errors
    /// Returns an error for a duplicate cell, and for an expectation or a limit that is invalid or applies to
    /// no cell.
    pub fn check(&self, planned: Vec<(usize, CellKey)>) -> Result<Rules, ScenarioError> {
        let mut seen = BTreeSet::new();
        for (at, key) in &planned {
            if !seen.insert(key) {
                let problem = format!("{key} is in two of [[cells]]");
                return Err(self.source.wrong(*at, problem));
            }
        }
        let keys = planned.into_iter().map(|(_, key)| key);
        let mut rules = Rules {
            cells: keys.map(|key| (key, CellRules::default())).collect(),
            control: self.control.map(str::to_owned),
        };
        for table in &self.tables.expect {
            self.expect(table, &mut rules.cells)?;
        }
        for table in &self.tables.accept {
            self.accept(table, &mut rules.cells)?;
        }
        for table in &self.tables.limit {
            let (at, table) = (table.span().start, table.get_ref());
            let names = [&table.lock, &table.scenario, &table.backend].map(Option::as_ref);
            let cells = self.selected(at, names, &mut rules.cells)?;
            if cells.is_empty() {
                continue;
            }
            let scope = LimitScope {
                source: self.source,
                has_control: self.control.is_some(),
                has_server_backend: cells.iter().any(|(key, _)| !key.is_simulated()),
            };
            let limits = scope.limits(at, table)?;
            for (_, rules) in cells {
                rules.limits.extend_from_slice(&limits);
            }
        }
        Ok(rules)
    }

    /// Adds a known violation to its cells.
    fn accept(
        &self,
        table: &Spanned<AcceptTable>,
        cells: &mut [(CellKey, CellRules)],
    ) -> Result<(), ScenarioError> {
        let (start, table) = (table.span().start, table.get_ref());
        let (mut texts, mut until) = (BTreeMap::new(), None);
        for (key, value) in table {
            let at = value.span().start;
            match value.get_ref() {
                Value::Datetime(date) if key.get_ref() == "until" => until = date.date,
                Value::String(text) if key.get_ref() != "until" => {
                    texts.insert(key.clone(), Spanned::new(value.span(), text.clone()));
                }
                _ => {
                    let hint =
                        "until = 2030-01-31 is a date without quotes; all other values are texts";
                    return Err(self.source.hinted(at, "unexpected kind of value", hint));
                }
            }
        }
        let reason = texts.keys().find(|key| key.get_ref() == "reason").cloned();
        let reason = reason.and_then(|key| texts.remove(&key));
        let (Some(reason), Some(until)) = (reason, until) else {
            let problem = "a known violation is accepted with a reason and until a date";
            let hint = "reason = \"issue 12\" and until = 2030-01-31";
            return Err(self.source.hinted(start, problem, hint));
        };
        let known = Accepted {
            reason: reason.into_inner(),
            until: until.to_string(),
            is_over: (until.year, until.month, until.day) < self.today,
            violation: None,
        };
        let (names, properties) = self.selectors_and_properties(start, &texts)?;
        for (_, rules) in self.selected(start, names, cells)? {
            for (property, expectation) in &properties {
                let Expectation::Violated { cause } = expectation else {
                    let problem = format!("{property}: only a violation is accepted");
                    let hint = "as in lease = \"violated: stolen-release\"";
                    return Err(self.source.hinted(start, problem, hint));
                };
                let known = Accepted {
                    violation: *cause,
                    ..known.clone()
                };
                rules.accepts.insert(*property, known);
            }
        }
        Ok(())
    }

    /// Returns the cells that a table applies to. A table that applies to none is an error: it is a typing
    /// error or a leftover, and would give a false sense of safety.
    fn selected<'a>(
        &self,
        at: usize,
        names: [Option<&Spanned<String>>; 3],
        cells: &'a mut [(CellKey, CellRules)],
    ) -> Result<Vec<&'a mut (CellKey, CellRules)>, ScenarioError> {
        let omitted: Vec<CellKey> = self.omitted.iter().map(CellKey::omitted).collect();
        let parts: [fn(&CellKey) -> &str; 3] = [
            |key| &key.lock,
            |key| &key.scenario,
            |key| key.backend.as_str(),
        ];
        for ((name, part), what) in names.into_iter().zip(parts).zip(SELECTORS) {
            let Some(name) = name else { continue };
            let word = name.get_ref();
            let known = cells.iter().map(|(key, _)| part(key));
            let known: BTreeSet<&str> = known.chain(omitted.iter().map(part)).collect();
            if !known.contains(word.as_str()) {
                let problem = format!("no cell of [[cells]] has the {what} `{word}`");
                return Err(self.source.unknown(name.span().start, problem, word, known));
            }
        }
        let fits = |key: &CellKey| {
            let mut each = names.into_iter().zip(parts);
            each.all(|(name, part)| name.is_none_or(|name| name.get_ref() == part(key)))
        };
        let selected: Vec<_> = cells.iter_mut().filter(|(key, _)| fits(key)).collect();
        if selected.is_empty() && !omitted.iter().any(fits) {
            let problem = "no cell of [[cells]] matches all of these names";
            return Err(self.source.wrong(at, problem));
        }
        Ok(selected)
    }

    /// Adds the expectations of a table to its cells. Later tables override earlier ones.
    fn expect(
        &self,
        table: &Spanned<ExpectTable>,
        cells: &mut [(CellKey, CellRules)],
    ) -> Result<(), ScenarioError> {
        let (at, table) = (table.span().start, table.get_ref());
        let (names, properties) = self.selectors_and_properties(at, table)?;
        for (_, rules) in self.selected(at, names, cells)? {
            rules.expects.extend(properties.clone());
        }
        Ok(())
    }

    /// Returns the names that select cells, and the expectations by property.
    fn selectors_and_properties<'t>(
        &self,
        at: usize,
        table: &'t ExpectTable,
    ) -> Result<Selected<'t>, ScenarioError> {
        let mut names = [None; 3];
        let mut properties = BTreeMap::new();
        for (key, value) in table {
            let word = key.get_ref().as_str();
            if let Some(index) = SELECTORS.iter().position(|name| word == *name) {
                names[index] = Some(value);
                continue;
            }
            let property = Property::named(word).ok_or_else(|| {
                let properties = Property::ALL.map(Property::as_str);
                let known: Vec<&str> = SELECTORS.into_iter().chain(properties).collect();
                let all = known.join("`, `");
                let problem = format!("unknown field `{word}`, expected one of `{all}`");
                self.source.unknown(key.span().start, problem, word, known)
            })?;
            properties.insert(property, self.expectation(value)?);
        }
        if properties.is_empty() {
            let hint = "name a property, as in `lease = \"held\"`";
            return Err(self.source.hinted(at, "this table expects nothing", hint));
        }
        Ok((names, properties))
    }

    fn expectation(&self, words: &Spanned<String>) -> Result<Expectation, ScenarioError> {
        let (at, text, source) = (words.span().start, words.get_ref(), self.source);
        Expectation::try_from(text.clone()).map_err(|error| {
            let problem = error.to_string();
            match error {
                ExpectationError::Cause(word) => {
                    source.unknown(at, problem, &word, CAUSES.iter().copied())
                }
                ExpectationError::Form(_) => {
                    source.unknown(at, problem, text, ["held", "violated", "any"])
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use picklock_scenarios::BackendName;

    use super::*;

    /// Checks a configuration against one lock in one scenario, simulated and on servers.
    fn check(text: &str) -> Result<Rules, ScenarioError> {
        let source = Source {
            file: "picklock.toml".to_owned(),
            text: text.to_owned(),
        };
        let tables = Tables::read(&source)?;
        let configured = ConfiguredRules {
            source: &source,
            tables: &tables,
            control: None,
            today: (2026, 12, 1),
            omitted: &[],
        };
        let cell = |backend| CellKey {
            lock: "redlock".to_owned(),
            options: BTreeMap::new(),
            scenario: "calm".to_owned(),
            backend,
        };
        configured.check(
            [BackendName::Sim, BackendName::Process]
                .map(|it| (0, cell(it)))
                .into(),
        )
    }

    #[test]
    fn every_property_is_a_key_of_expect() {
        for property in Property::ALL {
            let text = format!("[[expect]]\nbackend = \"sim\"\n{property} = \"held\"\n");
            let cells = check(&text).unwrap().cells;
            assert_eq!(cells[0].1.expects[&property], Expectation::Held);
            assert!(cells[1].1.expects.is_empty());
        }
    }

    #[test]
    fn later_expect_table_overrides_earlier_one() {
        let text = "[[expect]]\nlock = \"redlock\"\nlease = \"any\"\n\
                    [[expect]]\nbackend = \"process\"\nlease = \"violated\"\n";
        let cells = check(text).unwrap().cells;
        let lease = cells
            .iter()
            .map(|(_, rules)| rules.expects[&Property::Lease].to_string());
        assert_eq!(lease.collect::<Vec<_>>(), ["any", "violated"]);
    }

    #[test]
    fn known_violation_is_accepted_with_a_reason_until_a_date() {
        let accept = |lines: &str| check(&format!("[[accept]]\nbackend = \"sim\"\n{lines}\n"));
        let lines = "lease = \"violated: stolen-release\"\nreason = \"issue 12\"\nuntil = ";
        for (until, is_over) in [("2026-12-01", false), ("2026-11-30", true)] {
            let cells = accept(&format!("{lines}{until}")).unwrap().cells;
            let accepted = &cells[0].1.accepts[&Property::Lease];
            assert_eq!(
                (accepted.is_over, accepted.until.as_str()),
                (is_over, until)
            );
            assert!(cells[1].1.accepts.is_empty());
        }
        for (lines, problem) in [
            (
                "lease = \"violated\"\nuntil = 2026-12-01",
                "with a reason and until a date",
            ),
            (
                "lease = \"violated\"\nreason = \"a\"",
                "with a reason and until a date",
            ),
            (
                "lease = \"violated\"\nreason = \"a\"\nuntil = \"2026-12-01\"",
                "unexpected kind of value",
            ),
            (
                "lease = \"held\"\nreason = \"a\"\nuntil = 2026-12-01",
                "only a violation is accepted",
            ),
            ("reason = \"a\"\nuntil = 2026-12-01", "expects nothing"),
        ] {
            let error = accept(lines).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn unknown_key_of_expect_is_rejected_with_its_line_and_list() {
        let error = check("[[expect]]\nbackend = \"sim\"\nleese = \"held\"\n").unwrap_err();
        assert_eq!(error.place, Some((3, 1)));
        assert_eq!(error.hint.as_deref(), Some("did you mean `lease`?"));
        let message = &error.problem;
        assert!(message.starts_with("unknown field `leese`, expected one of `lock`"));
        for word in Property::ALL.map(Property::as_str) {
            assert!(message.contains(&format!("`{word}`")), "{message}");
        }
    }
}
