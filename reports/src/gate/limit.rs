//! Limits: `acquire.p99 < baseline * 1.3 + 2ms`.
//!
//! ```text
//! limit = metric ("<" | "<=" | ">" | ">=" | "==" | "!=") sum
//! sum   = ["-"] term { ("+" | "-") term }
//! term  = NUMBER | NUMBER UNIT | name ["*" NUMBER] | NUMBER "*" name
//! name  = "baseline" | "control"           UNIT = "us" | "ms" | "s"
//! ```

use std::fmt;

use super::metric::Metric;
use super::token::{Token, tokens};

/// A limit: the gate fails unless the metric keeps to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The metric.
    pub metric: Metric,
    /// How the metric must compare with the bound.
    pub op: Op,
    /// The bound: the sum of these terms.
    pub bound: Vec<Term>,
}

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say which")]
pub enum Op {
    Below,
    AtMost,
    Above,
    AtLeast,
    Equal,
    Unequal,
}

/// A multiple of a unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// The factor; negative if the term is subtracted.
    pub factor: f64,
    /// The unit.
    pub of: Unit,
}

/// What terms are multiples of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A plain number.
    One,
    /// A time.
    Microsecond,
    /// The metric's value in the baseline.
    Baseline,
    /// The metric's value of the control lock.
    Control,
}

/// Why a text is not a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct LimitError {
    /// Offset in bytes from the beginning of the text.
    pub at: usize,
    /// What is wrong, and what was expected.
    pub problem: String,
    /// An unknown word, and the words that are known, to find the nearest one.
    pub unknown: Option<(String, Vec<String>)>,
}

const OPS: [(Op, &str); 6] = [
    (Op::AtMost, "<="),
    (Op::AtLeast, ">="),
    (Op::Equal, "=="),
    (Op::Unequal, "!="),
    (Op::Below, "<"),
    (Op::Above, ">"),
];

const UNITS: [(&str, f64); 3] = [("us", 1.0), ("ms", 1e3), ("s", 1e6)];

/// Larger numbers are typing errors.
const LARGEST: f64 = 1e15;

impl Op {
    /// The operator as written.
    pub fn sign(self) -> &'static str {
        let found = OPS.iter().find(|(op, _)| *op == self);
        found.map_or("", |(_, sign)| sign)
    }

    /// Whether `value` compares with `bound` as required.
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Op::Below => value < bound,
            Op::AtMost => value <= bound,
            Op::Above => value > bound,
            Op::AtLeast => value >= bound,
            Op::Equal => value == bound,
            Op::Unequal => value != bound,
        }
    }
}

impl Limit {
    /// Reads a limit.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse(text: &str) -> Result<Limit, LimitError> {
        let tokens = tokens(text).map_err(|(at, problem)| wrong(at, problem))?;
        let mut reader = Reader {
            tokens: &tokens,
            next: 0,
            end: text.len(),
        };
        let limit = reader.limit()?;
        limit.check(text)?;
        Ok(limit)
    }

    /// True if the bound uses `unit`.
    pub fn mentions(&self, unit: Unit) -> bool {
        self.bound.iter().any(|term| term.of == unit)
    }

    /// The value of the bound, in microseconds if the metric is a time.
    pub fn bound_of(&self, baseline: f64, control: f64) -> f64 {
        let value = |term: &Term| match term.of {
            Unit::One | Unit::Microsecond => term.factor,
            Unit::Baseline => term.factor * baseline,
            Unit::Control => term.factor * control,
        };
        self.bound.iter().map(value).sum()
    }

    /// Times are not compared with numbers, and counts not with times.
    fn check(&self, text: &str) -> Result<(), LimitError> {
        let at = text
            .find(self.op.sign())
            .map_or(0, |at| at + self.op.sign().len());
        let word = self.metric.word();
        if self.metric.is_time() && self.mentions(Unit::One) {
            return Err(wrong(
                at,
                format!(
                    "{word} is a time: a number beside it needs a unit (us, ms, s), or `*` and `baseline` or `control`"
                ),
            ));
        }
        if !self.metric.is_time() && self.mentions(Unit::Microsecond) {
            return Err(wrong(
                at,
                format!("{word} is a number, and is not compared with a time"),
            ));
        }
        if !self.metric.is_time() && self.mentions(Unit::Control) {
            return Err(wrong(
                at,
                format!(
                    "{word} is not a time: only times are compared with `control`, to cancel out the machine's speed"
                ),
            ));
        }
        Ok(())
    }
}

fn wrong(at: usize, problem: impl Into<String>) -> LimitError {
    LimitError {
        at,
        problem: problem.into(),
        unknown: None,
    }
}

fn unknown(at: usize, problem: String, word: &str, known: Vec<String>) -> LimitError {
    LimitError {
        at,
        problem,
        unknown: Some((word.to_owned(), known)),
    }
}

struct Reader<'a> {
    tokens: &'a [(usize, Token<'a>)],
    next: usize,
    end: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.next).map(|(_, token)| *token)
    }

    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(self.end, |(at, _)| *at)
    }

    /// Consumes the sign, if it comes next.
    fn sign(&mut self, sign: &str) -> bool {
        let comes = self.peek() == Some(Token::Sign(sign));
        self.next += usize::from(comes);
        comes
    }

    fn limit(&mut self) -> Result<Limit, LimitError> {
        let metric = self.metric()?;
        let found = OPS
            .iter()
            .find(|(_, sign)| self.peek() == Some(Token::Sign(sign)));
        let Some((op, _)) = found else {
            return Err(wrong(
                self.at(),
                "expected <, <=, >, >=, == or != after the metric",
            ));
        };
        self.next += 1;
        let negative = self.sign("-");
        let mut bound = vec![self.term(negative)?];
        while self.next < self.tokens.len() {
            let negative = self.sign("-");
            if !negative && !self.sign("+") {
                return Err(wrong(self.at(), "expected + or -, or the end of the limit"));
            }
            bound.push(self.term(negative)?);
        }
        Ok(Limit {
            metric,
            op: *op,
            bound,
        })
    }

    fn metric(&mut self) -> Result<Metric, LimitError> {
        let at = self.at();
        let Some(Token::Word(word)) = self.peek() else {
            return Err(wrong(
                at,
                "expected a metric first, as in `acquire.p99 < baseline * 1.3`",
            ));
        };
        self.next += 1;
        Metric::named(word).ok_or_else(|| {
            let known: Vec<String> = Metric::all().into_iter().map(|(_, word)| word).collect();
            unknown(
                at,
                format!("unknown metric `{word}`; the metrics are acquire. and release. with p50, p90, p99, p999, max, count; violations. and unknown. with a property; granted, refused, failed, sold"),
                word,
                known,
            )
        })
    }

    fn term(&mut self, negative: bool) -> Result<Term, LimitError> {
        let sign = if negative { -1.0 } else { 1.0 };
        let at = self.at();
        match self.peek() {
            Some(Token::Word(word)) => {
                self.next += 1;
                let of = named(at, word)?;
                let factor = match self.sign("*") {
                    true => self.number()?,
                    false => 1.0,
                };
                Ok(Term {
                    factor: sign * factor,
                    of,
                })
            }
            Some(Token::Number(digits, unit)) => {
                self.next += 1;
                let number = read_number(at, digits)?;
                if self.sign("*") {
                    if !unit.is_empty() {
                        return Err(wrong(at, "a factor has no unit"));
                    }
                    let at = self.at();
                    let Some(Token::Word(word)) = self.peek() else {
                        return Err(wrong(
                            at,
                            "expected `baseline` or `control` after the factor",
                        ));
                    };
                    self.next += 1;
                    return Ok(Term {
                        factor: sign * number,
                        of: named(at, word)?,
                    });
                }
                let (scale, of) = measured(at, unit)?;
                Ok(Term {
                    factor: sign * number * scale,
                    of,
                })
            }
            _ => Err(wrong(
                at,
                "expected a number, a time, `baseline` or `control`",
            )),
        }
    }

    fn number(&mut self) -> Result<f64, LimitError> {
        let at = self.at();
        let Some(Token::Number(digits, "")) = self.peek() else {
            return Err(wrong(at, "expected a number without a unit as the factor"));
        };
        self.next += 1;
        read_number(at, digits)
    }
}

fn named(at: usize, word: &str) -> Result<Unit, LimitError> {
    match word {
        "baseline" => Ok(Unit::Baseline),
        "control" => Ok(Unit::Control),
        _ => Err(unknown(
            at,
            format!("`{word}` is not a bound; expected a number, a time, `baseline` or `control`"),
            word,
            vec!["baseline".into(), "control".into()],
        )),
    }
}

fn measured(at: usize, unit: &str) -> Result<(f64, Unit), LimitError> {
    if unit.is_empty() {
        return Ok((1.0, Unit::One));
    }
    let found = UNITS.iter().find(|(name, _)| *name == unit);
    let (_, scale) = found.ok_or_else(|| {
        wrong(
            at,
            format!("`{unit}` is not a unit of time; expected us, ms or s"),
        )
    })?;
    Ok((*scale, Unit::Microsecond))
}

fn read_number(at: usize, digits: &str) -> Result<f64, LimitError> {
    let number: Option<f64> = digits.parse().ok();
    number
        .filter(|number| (0.0..=LARGEST).contains(number))
        .ok_or_else(|| {
            wrong(
                at,
                format!("`{digits}` is not a number from 0 to {LARGEST}"),
            )
        })
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.metric.word(), self.op.sign())?;
        for (index, term) in self.bound.iter().enumerate() {
            match (index, term.factor.is_sign_negative()) {
                (0, false) => write!(f, " {term}")?,
                (0, true) => write!(f, " -{term}")?,
                (_, false) => write!(f, " + {term}")?,
                (_, true) => write!(f, " - {term}")?,
            }
        }
        Ok(())
    }
}

/// Without its sign.
impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let factor = self.factor.abs();
        match self.of {
            Unit::One => write!(f, "{factor}"),
            Unit::Microsecond => {
                // The largest unit in which the number reads back as the same value.
                let exact = |scale: &f64| factor >= *scale && factor / scale * scale == factor;
                let units = UNITS.iter().rev();
                let (name, scale) = units
                    .filter(|(_, scale)| exact(scale))
                    .map(|(name, scale)| (*name, *scale))
                    .next()
                    .unwrap_or(("us", 1.0));
                write!(f, "{}{name}", factor / scale)
            }
            Unit::Baseline | Unit::Control => {
                let name = match self.of {
                    Unit::Baseline => "baseline",
                    _ => "control",
                };
                match factor == 1.0 {
                    true => f.write_str(name),
                    false => write!(f, "{name} * {factor}"),
                }
            }
        }
    }
}
