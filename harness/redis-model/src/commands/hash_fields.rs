//! `FIELDS n field ...`, and what stands before it, in the order and the words of each family.

use super::super::ServerVersion;
use super::super::command::Args;
use super::super::number::integer;
use super::super::reply::Refusal;
use super::expiry::Conditions;
use super::option_word::is_word;

/// Valkey's words for a wrong number of fields.
const WRONG_NUMBER: Refusal = Refusal::fixed(
    "ERR numfields should be greater than 0 and match the provided number of fields",
);

/// Which command asks, because the words differ.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Asking {
    Expire,
    Remaining,
    Other,
}

/// Reads a list of fields that begins here.
pub(super) fn read_fields<'a>(
    version: ServerVersion,
    words: Args<'a>,
    asking: Asking,
) -> Result<Args<'a>, Refusal> {
    let [fields, number, names @ ..] = words else {
        return Err(Refusal::SYNTAX);
    };
    let valkey = version.is_valkey();
    if !is_word(fields, "FIELDS") {
        return Err(match (valkey, asking) {
            (true, Asking::Expire) => WRONG_NUMBER,
            (true, _) => Refusal::SYNTAX,
            (false, _) => Refusal::fixed(
                "ERR Mandatory argument FIELDS is missing or not at the right position",
            ),
        });
    }
    let number = match integer(number) {
        None if valkey => return Err(Refusal::NOT_INTEGER),
        number => number.unwrap_or(0),
    };
    let matches = usize::try_from(number) == Ok(names.len());
    match (valkey, asking) {
        (true, Asking::Remaining) if number < 1 || !matches => Err(Refusal::SYNTAX),
        (true, _) if number < 1 || !matches => Err(WRONG_NUMBER),
        (false, Asking::Expire) if number < 1 => Err(Refusal::fixed(
            "ERR Parameter `numFields` should be greater than 0",
        )),
        (false, _) if number < 1 => Err(Refusal::fixed(
            "ERR Number of fields must be a positive integer",
        )),
        _ if !matches => Err(Refusal::fixed(
            "ERR The `numfields` parameter must match the number of arguments",
        )),
        _ => Ok(names),
    }
}

/// Reads the conditions before `FIELDS`: one on Redis, several on Valkey. Returns the words after them.
pub(super) fn read_conditions<'a>(
    version: ServerVersion,
    words: Args<'a>,
) -> Result<(Conditions, Args<'a>), Refusal> {
    if !version.is_valkey() {
        // What is no condition should be `FIELDS`, which is checked later.
        return Ok(
            match words
                .split_at_checked(1)
                .map(|(first, rest)| (Conditions::read(first), rest))
            {
                Some((Ok(conditions), rest)) => (conditions, rest),
                _ => (Conditions::default(), words),
            },
        );
    }
    // The last place is that of the number.
    let places = words.len().saturating_sub(1);
    let Some(begin) = words[..places]
        .iter()
        .position(|word| is_word(word, "FIELDS"))
    else {
        return Err(WRONG_NUMBER);
    };
    Ok((Conditions::read(&words[..begin])?, &words[begin..]))
}
