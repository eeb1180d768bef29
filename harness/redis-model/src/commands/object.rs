//! `OBJECT`: how a value is stored.

use super::super::Reply;
use super::super::ServerVersion;
use super::super::command::{Args, Spec, Subcommand};
use super::super::context::Context;
use super::super::keyspace::Form;
use super::super::number::integer;
use super::super::reply::{Outcome, Refusal};
use super::super::values::Value;
use super::option_word::is_word;

pub(super) const COMMANDS: &[Spec] = &[Spec::read("object", -2, object).with(&[
    Subcommand::new("encoding", 3),
    Subcommand::new("refcount", 3),
    Subcommand::new("freq", 3),
    Subcommand::new("idletime", 3),
    Subcommand::new("help", 2),
])];

/// The longest string that Redis stores in one piece with its header.
const LONGEST_EMBEDDED: usize = 44;

/// Redis keeps one object for each whole number below this.
const SHARED_NUMBERS: i64 = 10_000;

/// How many users such an object is said to have.
const SHARED: i64 = 2_147_483_647;

fn object(context: &mut Context<'_>, args: Args<'_>) -> Outcome {
    let word = args[1];
    if is_word(word, "HELP") {
        return Err(context.not_modelled("OBJECT HELP"));
    }
    let key = args[2];
    let version = context.state.version;
    let Some(entry) = context.entry(key) else {
        return Ok(Reply::Nil);
    };
    if is_word(word, "FREQ") {
        return Err(Refusal::fixed(
            "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note \
             that when switching between policies at runtime LRU and LFU data will take some time to \
             adjust.",
        ));
    }
    let answer = if is_word(word, "ENCODING") {
        encoding(version, key, &entry.value, entry.form).map(Reply::bulk)
    } else if is_word(word, "REFCOUNT") {
        Some(Reply::Int(users(version, &entry.value, entry.form)))
    } else {
        // Nothing here depends on when a key was used last.
        None
    };
    let word = Refusal::quote(word, usize::MAX).to_ascii_uppercase();
    answer.ok_or_else(|| context.not_modelled(&format!("OBJECT {word} of such a value")))
}

/// How a value is stored. `None`: that depends on what it has been before, or on more than its bytes.
fn encoding(version: ServerVersion, key: &[u8], value: &Value, form: Form) -> Option<&'static str> {
    match value {
        Value::String(bytes) if is_int(bytes, form) => Some("int"),
        Value::String(_) if form == Form::Edited => Some("raw"),
        Value::String(bytes) if version.is_valkey() => valkey_text(version, key.len(), bytes.len()),
        Value::String(bytes) if bytes.len() <= LONGEST_EMBEDDED => Some("embstr"),
        Value::String(_) => Some("raw"),
        Value::Set(set) if set.is_of_integers() => Some("intset"),
        // Others are hash tables before 7.2, unless they were read from a file as integers.
        Value::Set(set) if !version.since_72() => {
            let mut members = set.iter();
            let stays = members.any(|member| integer(member).is_none());
            stays.then_some("hashtable")
        }
        Value::List(_) if !version.since_72() => Some("quicklist"),
        _ => None,
    }
}

fn is_int(bytes: &[u8], form: Form) -> bool {
    matches!(form, Form::Stored | Form::Number) && integer(bytes).is_some()
}

/// Valkey stores the key in the same piece, and the expiry.
fn valkey_text(version: ServerVersion, key: usize, value: usize) -> Option<&'static str> {
    let (surely_embedded, surely_not) = match version {
        ServerVersion::Valkey81 => (20, 64),
        _ => (64, 128),
    };
    if key + value <= surely_embedded {
        Some("embstr")
    } else if value > surely_not {
        Some("raw")
    } else {
        None
    }
}

fn users(version: ServerVersion, value: &Value, form: Form) -> i64 {
    let number = match value {
        Value::String(bytes) if is_int(bytes, form) => integer(bytes),
        _ => None,
    };
    let is_shared = number.is_some_and(|number| (0..SHARED_NUMBERS).contains(&number));
    match is_shared && !version.is_valkey() {
        true => SHARED,
        false => 1,
    }
}
