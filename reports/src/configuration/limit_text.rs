//! Limits in the text of older configurations: `require = ["acquire.p99 < baseline * 1.3 + 2ms"]`.

use picklock_scenarios::LeaseDuration;

use crate::gate::{Limit, Metric, Reference, Side};

const SIGNS: [(&str, &[Side]); 5] = [
    ("<=", &[Side::Max]),
    (">=", &[Side::Min]),
    ("==", &[Side::Max, Side::Min]),
    ("<", &[Side::Max]),
    (">", &[Side::Min]),
];

/// The word before the sign, which must be a metric.
pub fn metric_word(text: &str) -> &str {
    let mut parts = text.split(['<', '>', '=', '!']);
    parts.next().unwrap_or(text).trim()
}

/// The named comparisons that mean the same; `None` if there are none. A `<` on a time or a fraction is
/// read as at most.
pub fn limits(metric: &Metric, text: &str) -> Option<Vec<Limit>> {
    let (sign, sides) = SIGNS.iter().find(|(sign, _)| text.contains(sign))?;
    let (_, sum) = text.split_once(sign)?;
    let (mut reference, mut number) = (None, None);
    for term in sum.split('+') {
        match multiple(term) {
            Some(found) if reference.is_none() => reference = Some(found),
            None if number.is_none() => number = Some(self::number(metric, term.trim())?),
            _ => return None,
        }
    }
    let is_strict = sign.len() == 1 && metric.is_whole();
    let (reference, factor, slack) = match (reference, number) {
        // Counts are whole numbers.
        (None, Some(number)) if is_strict && *sign == "<" => {
            (Reference::Number, number.ceil() - 1.0, 0.0)
        }
        (None, Some(number)) if is_strict => (Reference::Number, number.floor() + 1.0, 0.0),
        (None, number) => (Reference::Number, number?, 0.0),
        (Some(_), _) if is_strict => return None,
        (Some((reference, factor)), None) => (reference, factor, 0.0),
        (Some((reference, factor)), Some(number)) if **sides == [Side::Max] => {
            (reference, factor, number)
        }
        _ => return None,
    };
    let limit = |side: &Side| Limit {
        metric: metric.clone(),
        side: *side,
        reference,
        factor,
        slack,
    };
    Some(sides.iter().map(limit).collect())
}

/// `baseline`, `baseline * 1.3` or `1.3 * baseline`, and the same of the control.
fn multiple(term: &str) -> Option<(Reference, f64)> {
    let (one, other) = term.split_once('*').unwrap_or((term, "1"));
    let (name, factor) = match one.trim().parse() {
        Ok(factor) => (other, factor),
        Err(_) => (one, other.trim().parse().ok()?),
    };
    match name.trim() {
        "baseline" => Some((Reference::Baseline, factor)),
        "control" => Some((Reference::Control, factor)),
        _ => None,
    }
}

fn number(metric: &Metric, word: &str) -> Option<f64> {
    match metric.is_time() {
        false => word.parse().ok(),
        true => micros(word),
    }
}

/// A time that is no multiple of the lease, in microseconds.
pub fn micros(text: &str) -> Option<f64> {
    match text.parse() {
        Ok(LeaseDuration::Absolute(time)) => Some(time.as_micros() as f64),
        _ => None,
    }
}
