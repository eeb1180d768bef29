//! The options of `SET`.

use super::super::command::is_word;
use super::super::context::Context;
use super::super::number::integer_argument;
use super::super::reply::Refusal;

/// The condition under which `SET` may write.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Condition<'a> {
    Always,
    /// `NX`.
    Missing,
    /// `XX`.
    Present,
    /// `IFEQ`.
    Equals(&'a [u8]),
}

/// The effect on the expiry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Lease<'a> {
    /// No option given.
    Unspecified,
    /// `KEEPTTL` of `SET`.
    Keep,
    /// `PERSIST` of `GETEX`.
    Never,
    /// `EX`, `PX`, `EXAT`, `PXAT`.
    Until(Unit, &'a [u8]),
}

/// The unit and origin of an expiry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
    AtSeconds,
    AtMilliseconds,
}

impl Unit {
    fn read(option: &[u8]) -> Option<Unit> {
        match option {
            [b'e' | b'E', b'x' | b'X'] => Some(Unit::Seconds),
            [b'p' | b'P', b'x' | b'X'] => Some(Unit::Milliseconds),
            _ if is_word(option, "EXAT") => Some(Unit::AtSeconds),
            _ if is_word(option, "PXAT") => Some(Unit::AtMilliseconds),
            _ => None,
        }
    }

    /// Returns the unit of a command that is named after its unit.
    pub(super) fn for_command(name: &str) -> Unit {
        match name {
            "setex" | "expire" => Unit::Seconds,
            "psetex" | "pexpire" => Unit::Milliseconds,
            "expireat" => Unit::AtSeconds,
            "pexpireat" => Unit::AtMilliseconds,
            _ => unreachable!("{name} takes no time"),
        }
    }

    /// Returns the expiry in milliseconds since the epoch, or `None` if it is out of range.
    pub(super) fn at_ms(self, amount: i64, now_ms: i64) -> Option<i64> {
        match self {
            Unit::Seconds => amount.checked_mul(1000)?.checked_add(now_ms),
            Unit::Milliseconds => amount.checked_add(now_ms),
            Unit::AtSeconds => amount.checked_mul(1000),
            Unit::AtMilliseconds => Some(amount),
        }
    }
}

/// The options, parsed but not yet applied.
#[derive(Debug)]
pub(super) struct Options<'a> {
    pub condition: Condition<'a>,
    pub lease: Lease<'a>,
    /// `GET`.
    pub get: bool,
}

/// Parses the options of `SET`.
pub(super) fn read_set<'a>(
    context: &mut Context<'_>,
    words: &[&'a [u8]],
) -> Result<Options<'a>, Refusal> {
    let mut options = Options {
        condition: Condition::Always,
        lease: Lease::Unspecified,
        get: false,
    };
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        if let Some(condition) = condition(context, word, &mut words)? {
            // NX may be repeated, but must not be combined with XX.
            let again = options.condition == condition && is_flag(condition);
            if options.condition != Condition::Always && !again {
                return Err(Refusal::SYNTAX);
            }
            options.condition = condition;
        } else if is_word(word, "GET") {
            options.get = true;
        } else if is_word(word, "KEEPTTL")
            && matches!(options.lease, Lease::Unspecified | Lease::Keep)
        {
            options.lease = Lease::Keep;
        } else {
            options.lease = expiry(word, &mut words, options.lease)?;
        }
    }
    let is_nx = options.condition == Condition::Missing;
    if options.get && is_nx && !context.state.version.since_70() {
        return Err(Refusal::SYNTAX);
    }
    Ok(options)
}

fn is_flag(condition: Condition<'_>) -> bool {
    matches!(condition, Condition::Missing | Condition::Present)
}

fn condition<'a>(
    context: &mut Context<'_>,
    word: &[u8],
    rest: &mut impl Iterator<Item = &'a [u8]>,
) -> Result<Option<Condition<'a>>, Refusal> {
    let version = context.state.version;
    let is_unknown = |option: &&str| version.has_delex() && is_word(word, option);
    Ok(Some(match word {
        _ if is_word(word, "NX") => Condition::Missing,
        _ if is_word(word, "XX") => Condition::Present,
        _ if version.has_set_ifeq() && is_word(word, "IFEQ") => {
            Condition::Equals(rest.next().ok_or(Refusal::SYNTAX)?)
        }
        _ if ["IFNE", "IFDEQ", "IFDNE"].iter().any(is_unknown) => {
            return Err(context.not_modelled("SET with IFNE, IFDEQ or IFDNE"));
        }
        _ => return Ok(None),
    }))
}

/// Parses the options of `GETEX`.
pub(super) fn read_getex<'a>(words: &[&'a [u8]]) -> Result<Lease<'a>, Refusal> {
    let mut lease = Lease::Unspecified;
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        lease = match lease {
            Lease::Unspecified | Lease::Never if is_word(word, "PERSIST") => Lease::Never,
            before => expiry(word, &mut words, before)?,
        };
    }
    Ok(lease)
}

fn expiry<'a>(
    word: &[u8],
    rest: &mut impl Iterator<Item = &'a [u8]>,
    before: Lease<'_>,
) -> Result<Lease<'a>, Refusal> {
    let unit = Unit::read(word).ok_or(Refusal::SYNTAX)?;
    match before {
        Lease::Unspecified => {}
        // The same unit may be repeated; then the last expiry counts.
        Lease::Until(other, _) if other == unit => {}
        _ => return Err(Refusal::SYNTAX),
    }
    let amount = rest.next().ok_or(Refusal::SYNTAX)?;
    Ok(Lease::Until(unit, amount))
}

/// Returns an expiry in milliseconds since the epoch.
pub(super) fn deadline_ms(
    context: &Context<'_>,
    unit: Unit,
    amount: &[u8],
) -> Result<i64, Refusal> {
    let amount = Some(integer_argument(amount)?).filter(|amount| *amount > 0);
    let at_ms = amount.and_then(|amount| unit.at_ms(amount, context.now.ms()));
    at_ms.ok_or_else(|| Refusal::invalid_expiry(context.name))
}
