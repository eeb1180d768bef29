//! The limits of a `[[limit]]` table.

use picklock_scenarios::{LeaseDuration, ScenarioError};
use toml::{Spanned, Value};

use super::limit_text;
use super::source::Source;
use super::tables::LimitTable;
use crate::gate::{Limit, Metric, Reference, Side};

/// Larger numbers are typing errors.
const LARGEST: f64 = 1e15;

const CONTROL: &str = "name one at the top of the file: control = \"set-nx-px\"";

/// Where the limits of a table apply.
#[derive(Debug, Clone, Copy)]
pub struct LimitScope<'a> {
    /// The file.
    pub source: &'a Source,
    /// True if a control is configured.
    pub has_control: bool,
    /// True if a cell in a server backend is among those of the table.
    pub is_real: bool,
}

impl LimitScope<'_> {
    /// The limits of the table at this offset.
    ///
    /// # Errors
    /// The first mistake, where it stands.
    pub fn limits(&self, at: usize, table: &LimitTable) -> Result<Vec<Limit>, ScenarioError> {
        let mut limits = Vec::new();
        for text in &table.require {
            let at = text.span().start;
            for limit in self.of_text(at, text.get_ref())? {
                limits.push(self.checked(at, limit)?);
            }
        }
        if let Some(metric) = &table.metric {
            let metric = self.metric(metric.span().start, metric.get_ref())?;
            limits.extend(self.comparisons(&metric, table)?);
        }
        match limits.is_empty() {
            false => Ok(limits),
            true => Err(self.source.hinted(
                at,
                "this table limits nothing",
                "name a metric and a bound, as in metric = \"violations.lease\", max = 0",
            )),
        }
    }

    fn comparisons(
        &self,
        metric: &Metric,
        table: &LimitTable,
    ) -> Result<Vec<Limit>, ScenarioError> {
        let slack = match &table.slack {
            Some(slack) => self.amount(metric, slack)?,
            None => 0.0,
        };
        let mut bounds = Vec::new();
        for (side, amount) in [(Side::Max, &table.max), (Side::Min, &table.min)] {
            if let Some(amount) = amount {
                let number = self.amount(metric, amount)?;
                bounds.push((amount.span().start, side, Reference::Number, number));
            }
        }
        for (side, reference, factor) in [
            (Side::Max, Reference::Baseline, &table.max_vs_baseline),
            (Side::Min, Reference::Baseline, &table.min_vs_baseline),
            (Side::Max, Reference::Control, &table.max_vs_control),
            (Side::Min, Reference::Control, &table.min_vs_control),
        ] {
            if let Some(factor) = factor {
                bounds.push((factor.span().start, side, reference, *factor.get_ref()));
            }
        }
        let limits = bounds.into_iter().map(|(at, side, reference, factor)| {
            let metric = metric.clone();
            let limit = Limit {
                metric,
                side,
                reference,
                factor,
                slack,
            };
            self.checked(at, limit)
        });
        limits.collect()
    }

    fn of_text(&self, at: usize, text: &str) -> Result<Vec<Limit>, ScenarioError> {
        let word = limit_text::metric_word(text);
        let metric = self.metric(at, word)?;
        limit_text::limits(&metric, text).ok_or_else(|| {
            let hint = format!("write metric = \"{word}\", and the bound as max, max_vs_baseline or max_vs_control (docs/gate.md)");
            self.source.hinted(at, format!("`{text}` is not a limit"), hint)
        })
    }

    fn metric(&self, at: usize, word: &str) -> Result<Metric, ScenarioError> {
        Metric::named(word).ok_or_else(|| {
            let problem = format!("unknown metric `{word}`; the metrics are acquire. and release. with p50, p90, p99, p999, max, count; violations. and unknown. with a property; granted, refused, failed, sold");
            let known = Metric::all();
            self.source.unknown(at, problem, word, known.iter().map(Metric::word))
        })
    }

    /// A time in microseconds, or a number.
    fn amount(&self, metric: &Metric, given: &Spanned<Value>) -> Result<f64, ScenarioError> {
        let word = metric.word();
        let found = match (given.get_ref(), metric.is_time()) {
            (Value::String(text), true) => match text.parse() {
                Ok(LeaseDuration::Absolute(time)) => Ok(time.as_micros() as f64),
                _ => Err(format!(
                    "`{text}` is not a time; expected one as in \"200ms\""
                )),
            },
            (_, true) => Err(format!("{word} is a time; expected one as in \"200ms\"")),
            (Value::Integer(number), false) => Ok(*number as f64),
            (Value::Float(number), false) => Ok(*number),
            (_, false) => Err(format!(
                "{word} is a number, and is not compared with anything else"
            )),
        };
        found.map_err(|problem| self.source.wrong(given.span().start, problem))
    }

    /// Refuses a limit that cannot be checked, or that would measure the machine.
    fn checked(&self, at: usize, limit: Limit) -> Result<Limit, ScenarioError> {
        let word = limit.metric.word();
        for number in [limit.factor, limit.slack] {
            if !(0.0..=LARGEST).contains(&number) {
                let problem = format!("{number} is not a number from 0 to {LARGEST}");
                return Err(self.source.wrong(at, problem));
            }
        }
        if limit.reference == Reference::Control && !limit.metric.is_time() {
            let problem = format!(
                "{word} is not a time: only times are compared with the control, to cancel out the machine's speed"
            );
            return Err(self.source.wrong(at, problem));
        }
        if limit.reference == Reference::Control && !self.has_control {
            let problem = "it refers to the control, and none is configured";
            return Err(self.source.hinted(at, problem, CONTROL));
        }
        // A time on a real machine depends on the machine as much as on the lock.
        if !self.is_real || !limit.metric.is_time() {
            return Ok(limit);
        }
        if !self.has_control {
            let problem =
                "a time in a server backend is compared with a control, and none is configured";
            return Err(self.source.hinted(at, problem, CONTROL));
        }
        if limit.reference == Reference::Number {
            let problem = "in a server backend this would measure the machine: compare with the baseline or the control";
            let hint = "as in max_vs_control = 1.5, or name backend = \"sim\"";
            return Err(self.source.hinted(at, problem, hint));
        }
        Ok(limit)
    }
}
