//! The limits of a `[[limit]]` table.

use picklock_scenarios::{LeaseDuration, ScenarioError};
use picklock_verdicts::latency::LOSS_REPORT;
use toml::{Spanned, Value};

use super::source::Source;
use super::tables::LimitTable;
use crate::gate::{Limit, Metric, Reference, Side};

/// The largest number allowed. Larger ones are typing errors.
const LARGEST: f64 = 1e15;

/// The context in which the limits of a table are checked.
#[derive(Debug, Clone, Copy)]
pub struct LimitScope<'a> {
    /// The file.
    pub source: &'a Source,
    /// Whether a control is configured.
    pub has_control: bool,
    /// Whether the table applies to a cell in a server backend.
    pub has_server_backend: bool,
}

impl LimitScope<'_> {
    /// Returns the limits of the table at this offset.
    ///
    /// # Errors
    ///
    /// Returns an error with its position for the first mistake.
    pub fn limits(&self, at: usize, table: &LimitTable) -> Result<Vec<Limit>, ScenarioError> {
        let mut limits = Vec::new();
        let bounds = [
            (Side::Max, Reference::Number, &table.max),
            (Side::Min, Reference::Number, &table.min),
            (Side::Max, Reference::Baseline, &table.max_vs_baseline),
            (Side::Min, Reference::Baseline, &table.min_vs_baseline),
            (Side::Max, Reference::Control, &table.max_vs_control),
            (Side::Min, Reference::Control, &table.min_vs_control),
        ];
        for (side, reference, bound) in bounds {
            let (Some(bound), Some(metric)) = (bound, &table.metric) else {
                continue;
            };
            let metric = self.metric(metric.span().start, metric.get_ref())?;
            let slack = table.slack.as_ref();
            let limit = Limit {
                side,
                reference,
                factor: self.number(reference, &metric, bound)?,
                slack: slack.map_or(Ok(0.0), |it| self.number(Reference::Number, &metric, it))?,
                metric,
            };
            limits.push(self.checked(bound.span().start, limit)?);
        }
        let has_bound = bounds.iter().any(|(.., bound)| bound.is_some());
        if limits.is_empty() || has_bound != table.metric.is_some() {
            let hint =
                "a limit is a metric with a bound, as in metric = \"violations.lease\", max = 0";
            return Err(self.source.hinted(at, "this table limits nothing", hint));
        }
        Ok(limits)
    }

    fn metric(&self, at: usize, word: &str) -> Result<Metric, ScenarioError> {
        Metric::named(word).ok_or_else(|| {
            let problem = format!("unknown metric `{word}`; the metrics are acquire., release., handover. and {LOSS_REPORT}. with p50, p90, p99, p999, max, count; violations. and unknown. with a property; granted, refused, failed, sold, commands.grant, commands.waited_second, commands.held_second, undeclared_keys");
            let known = Metric::all();
            self.source.unknown(at, problem, word, known.iter().map(Metric::as_str))
        })
    }

    /// Returns a factor, a time in microseconds, or a number.
    fn number(
        &self,
        reference: Reference,
        metric: &Metric,
        given: &Spanned<Value>,
    ) -> Result<f64, ScenarioError> {
        let is_time = metric.is_time() && reference == Reference::Number;
        match (given.get_ref(), is_time) {
            (Value::String(text), true) => micros(text),
            (Value::Integer(number), false) => Some(*number as f64),
            (Value::Float(number), false) => Some(*number),
            _ => None,
        }
        .ok_or_else(|| {
            let problem = if is_time {
                format!(
                    "{} is a time; expected one as in \"200ms\"",
                    metric.as_str()
                )
            } else {
                "expected a number".to_owned()
            };
            self.source.wrong(given.span().start, problem)
        })
    }

    /// Rejects a limit that cannot be checked. A time on a server backend depends on the machine as much as
    /// on the lock.
    fn checked(&self, at: usize, limit: Limit) -> Result<Limit, ScenarioError> {
        let is_real_time = self.has_server_backend && limit.metric.is_time();
        let is_of_control = limit.reference == Reference::Control;
        let mut numbers = [limit.factor, limit.slack].into_iter();
        let error = if let Some(number) = numbers.find(|it| !(0.0..=LARGEST).contains(it)) {
            let problem = format!("{number} is not a number from 0 to {LARGEST}");
            self.source.wrong(at, problem)
        } else if is_of_control && !limit.metric.is_time() {
            let why = "only times are compared with the control, to cancel out the machine's speed";
            let problem = format!("{} is not a time: {why}", limit.metric.as_str());
            self.source.wrong(at, problem)
        } else if !self.has_control && (is_of_control || is_real_time) {
            let problem = "times on a server backend are compared with a control, but no control is configured";
            let hint = "name one at the top of the file: control = \"set-nx-px\"";
            self.source.hinted(at, problem, hint)
        } else if is_real_time && limit.reference == Reference::Number {
            let problem = "on a server backend this limit would measure the machine: compare with the baseline or the control";
            let hint = "as in max_vs_control = 1.5, or name backend = \"sim\"";
            self.source.hinted(at, problem, hint)
        } else {
            return Ok(limit);
        };
        Err(error)
    }
}

/// Returns an absolute time in microseconds, or `None` for a multiple of the lease or invalid text.
fn micros(text: &str) -> Option<f64> {
    match text.parse() {
        Ok(LeaseDuration::Absolute(time)) => Some(time.as_micros() as f64),
        _ => None,
    }
}
