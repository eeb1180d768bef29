//! When a reply of the model and one of a real server are the same.

use picklock_redis_model::{Reply, ServerVersion};

use super::Step;

/// Whether two replies to a command are the same, as far as they can be.
pub(super) fn same(
    version: ServerVersion,
    step: &Step,
    queued: &[Step],
    model: &Reply,
    real: &Reply,
) -> bool {
    if model == real {
        return true;
    }
    if step.is("EXEC")
        && let (Reply::Array(model), Reply::Array(real)) = (model, real)
    {
        return model.len() == real.len()
            && queued.len() == model.len()
            && (queued.iter().zip(model).zip(real))
                .all(|((step, model), real)| same(version, step, &[], model, real));
    }
    if let (Reply::Several(model), Reply::Several(real)) = (model, real)
        && ["UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"]
            .iter()
            .any(|name| step.is(name))
        && step.words.len() == 1
    {
        // It ends all subscriptions, in an order that no document tells.
        return parts(model) == parts(real);
    }
    match Loose::of(version, step) {
        Loose::Page => same_page(step, model, real),
        Loose::Exact => nil_free(model) == nil_free(real),
        Loose::Deep => deeply_sorted(model) == deeply_sorted(real),
        Loose::Order => match (model, real) {
            // A script has put the elements into one text.
            (Reply::Bulk(model), Reply::Bulk(real)) => sorted_bytes(model) == sorted_bytes(real),
            _ => sorted(model).is_some() && sorted(model) == sorted(real),
        },
        Loose::Clock => match (model, real) {
            (Reply::Array(model), Reply::Array(real)) => {
                model.len() == real.len()
                    && (model.iter().zip(real))
                        .all(|(one, other)| one == other || close(one, other))
            }
            _ => close(model, real),
        },
        Loose::Words => close(model, real) || same_but_for_words(&nil_free(model), &nil_free(real)),
        Loose::Kind => {
            !model.is_error() && std::mem::discriminant(model) == std::mem::discriminant(real)
        }
    }
}

/// How exactly replies to a command are compared.
enum Loose {
    /// To the byte. (In RESP3 there is one nil, in the model two.)
    Exact,
    /// The order of elements is the server's secret: SMEMBERS, KEYS.
    Order,
    /// The same, at every depth: FUNCTION LIST.
    Deep,
    /// A cursor, and elements in an order that is the server's secret: SCAN, SSCAN.
    Page,
    /// What is left of a lease depends on when the server was asked: TTL and relatives, and the
    /// scripts that call them.
    Clock,
    /// The words of errors are not modelled: scripts of Redis 6.2.
    Words,
    /// The server's own numbers: TIME, INFO, CLIENT ID, HELLO.
    Kind,
}

impl Loose {
    fn of(version: ServerVersion, step: &Step) -> Loose {
        let any = |names: &[&str]| names.iter().any(|name| step.is(name));
        let asks_id = (step.words.get(1)).is_some_and(|word| word.eq_ignore_ascii_case(b"ID"));
        let script_asks_ttl = any(&["EVAL", "EVAL_RO"])
            && step.words.get(1).is_some_and(|body| {
                let body = String::from_utf8_lossy(body).to_ascii_lowercase();
                body.contains("ttl")
            });
        let script_has = |text: &str| {
            any(&["EVAL", "EVAL_RO"])
                && (step.words.get(1))
                    .is_some_and(|body| String::from_utf8_lossy(body).contains(text))
        };
        if version == ServerVersion::Redis62 && any(&["EVAL", "EVALSHA"]) {
            Loose::Words
        } else if version.server() == "valkey"
            && (script_has("pairs(") || script_has("setresp(3)") || any(&["FCALL", "FCALL_RO"]))
        {
            // Its Lua hashes names in another way, which shows in the order of a table, and of the maps of RESP3
            // in scripts.
            Loose::Order
        } else if any(&["SCAN", "SSCAN"]) {
            Loose::Page
        } else if any(&["FUNCTION"]) {
            Loose::Deep
        } else if any(&["SMEMBERS", "KEYS", "PUBSUB", "CONFIG"]) {
            Loose::Order
        } else if version == ServerVersion::Valkey91 && any(&["HSCAN"]) {
            Loose::Page
        } else if version == ServerVersion::Valkey91
            && (any(&["HGETALL", "HKEYS", "HVALS"]) || script_has("hgetall"))
        {
            // A hash with a field that has expired once is a hash table there.
            Loose::Order
        } else if any(&["HTTL", "HPTTL", "HEXPIRETIME", "HPEXPIRETIME"])
            || any(&["TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"])
            || script_asks_ttl
        {
            Loose::Clock
        } else if any(&["TIME", "INFO", "HELLO"]) || step.is("CLIENT") && asks_id {
            Loose::Kind
        } else {
            Loose::Exact
        }
    }
}

/// Equal, or errors in the same places.
fn same_but_for_words(model: &Reply, real: &Reply) -> bool {
    if let (Reply::Array(model), Reply::Array(real)) = (model, real) {
        return model.len() == real.len()
            && (model.iter().zip(real)).all(|(one, other)| same_but_for_words(one, other));
    }
    model == real || (is_error(model) && is_error(real))
}

/// True for an error, and for the text of one that a script has caught.
fn is_error(reply: &Reply) -> bool {
    match reply {
        Reply::Bulk(bytes) => [&b"ERR "[..], b"@user_script", b"=[C]: "]
            .iter()
            .any(|begin| bytes.starts_with(begin)),
        other => other.is_error(),
    }
}

fn nil_free(reply: &Reply) -> Reply {
    match reply {
        Reply::NilArray => Reply::Nil,
        Reply::Array(items) => Reply::Array(items.iter().map(nil_free).collect()),
        other => other.clone(),
    }
}

/// The elements of several replies together, sorted.
fn parts(replies: &[Reply]) -> Vec<String> {
    let mut parts = Vec::new();
    for reply in replies {
        match reply {
            Reply::Array(items) | Reply::Push(items) => {
                parts.extend(items.iter().map(|item| format!("{item:?}")));
            }
            other => parts.push(format!("{other:?}")),
        }
    }
    parts.sort();
    parts
}

/// A whole iteration in one step returns the same elements; a part of one is the server's choice.
fn same_page(step: &Step, model: &Reply, real: &Reply) -> bool {
    let (Some(model), Some(real)) = (page(model), page(real)) else {
        return false;
    };
    let cursor = step.words.get(if step.is("SCAN") { 1 } else { 2 });
    let begins = cursor.is_some_and(|word| !word.iter().any(|byte| (b'1'..=b'9').contains(byte)));
    let end = Reply::bulk("0");
    let whole = begins && *model.0 == end && *real.0 == end;
    !whole || model == real
}

/// The cursor, and the elements sorted.
fn page(reply: &Reply) -> Option<(&Reply, Vec<String>)> {
    let Reply::Array(parts) = reply else {
        return None;
    };
    let [cursor, elements] = parts.as_slice() else {
        return None;
    };
    Some((cursor, sorted(elements)?))
}

/// The reply as text, with the elements of every collection sorted.
fn deeply_sorted(reply: &Reply) -> String {
    let (kind, mut parts) = match reply {
        Reply::Array(items) => ("array", items.iter().map(deeply_sorted).collect()),
        Reply::Set(items) => ("set", items.iter().map(deeply_sorted).collect()),
        Reply::Map(pairs) => {
            let pair = |(key, value): &(Reply, Reply)| {
                format!("{} {}", deeply_sorted(key), deeply_sorted(value))
            };
            ("map", pairs.iter().map(pair).collect::<Vec<_>>())
        }
        other => ("", vec![format!("{:?}", nil_free(other))]),
    };
    parts.sort();
    format!("{kind}{parts:?}")
}

fn sorted(reply: &Reply) -> Option<Vec<String>> {
    if let Reply::Map(pairs) = reply {
        let mut pairs: Vec<String> = pairs.iter().map(|pair| format!("{pair:?}")).collect();
        pairs.sort();
        return Some(pairs);
    }
    let (Reply::Array(items) | Reply::Set(items)) = reply else {
        return None;
    };
    let mut items: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
    items.sort();
    Some(items)
}

fn sorted_bytes(text: &[u8]) -> Vec<u8> {
    let mut bytes = text.to_vec();
    bytes.sort_unstable();
    bytes
}

/// Positive times may differ by two seconds, in whichever unit they are.
fn close(model: &Reply, real: &Reply) -> bool {
    let (Reply::Int(model), Reply::Int(real)) = (model, real) else {
        return false;
    };
    // Leases in transcripts are 1,000 to 10,000 seconds, or end after the year 2100.
    let in_ms = (500_000..1_000_000_000).contains(real) || *real > 100_000_000_000;
    let slack = if in_ms { 2000 } else { 2 };
    *model > 0 && *real > 0 && model.abs_diff(*real) <= slack
}
