//! Decides whether a reply of the model equals a real server's reply.

use picklock_redis_model::{ClientId, Reply, ServerVersion};

use super::Step;

/// Returns `true` if two replies to a command are equal, as far as they can be compared.
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
        && ["UNSUBSCRIBE", "PUNSUBSCRIBE"]
            .iter()
            .any(|name| step.is(name))
        && step.words.len() == 1
    {
        // It ends all subscriptions, in an undocumented order.
        return parts(model) == parts(real);
    }
    if (version != ServerVersion::Redis70 || step.mentions("cjson"))
        && same_but_for_words(step, &nil_free(model), &nil_free(real))
    {
        return true;
    }
    match Loose::of(version, step) {
        Loose::Exact => nil_free(model) == nil_free(real),
        Loose::Order => match (model, real) {
            // A script has joined the elements into one string.
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
        Loose::Kind => {
            !model.is_error() && std::mem::discriminant(model) == std::mem::discriminant(real)
        }
    }
}

/// Commands that run scripts.
const SCRIPTS: [&str; 4] = ["EVAL", "EVAL_RO", "EVALSHA", "EVALSHA_RO"];

/// How exactly replies to a command are compared.
enum Loose {
    /// Byte for byte on Redis 7.0. On other servers error texts may differ. (RESP3 has one nil, the model two.)
    Exact,
    /// The order of elements is unspecified, as for SMEMBERS and KEYS.
    Order,
    /// The remaining lease depends on the time of the command, as for TTL and its relatives, and for scripts that
    /// call them.
    Clock,
    /// The values are specific to the server, as for TIME, INFO, CLIENT ID and HELLO.
    Kind,
}

impl Loose {
    fn of(version: ServerVersion, step: &Step) -> Loose {
        let any = |names: &[&str]| names.iter().any(|name| step.is(name));
        let asks_id = (step.words.get(1)).is_some_and(|word| word.eq_ignore_ascii_case(b"ID"));
        let is_script = any(&SCRIPTS);
        if is_script && version.server() == "valkey" && step.mentions("pairs(") {
            // Valkey's Lua hashes names differently, which affects the order of a table.
            Loose::Order
        } else if any(&["SMEMBERS", "KEYS", "CONFIG"])
            || is_script && step.mentions("cjson") && version.server() == "valkey"
        {
            Loose::Order
        } else if any(&["TTL", "PTTL"]) || is_script && step.mentions("ttl") {
            Loose::Clock
        } else if any(&["TIME", "INFO", "HELLO"]) || step.is("CLIENT") && asks_id {
            Loose::Kind
        } else {
            Loose::Exact
        }
    }
}

/// Returns `true` if the replies are equal or have errors in the same places. Errors of commands must have the same
/// code, which is their first word.
fn same_but_for_words(step: &Step, model: &Reply, real: &Reply) -> bool {
    match (model, real) {
        (Reply::Array(model), Reply::Array(real)) => {
            model.len() == real.len()
                && (model.iter().zip(real)).all(|(one, other)| same_but_for_words(step, one, other))
        }
        (Reply::Error(one), Reply::Error(other)) => {
            let code = |text: &str| text.split(' ').next().map(str::to_owned);
            SCRIPTS.iter().any(|name| step.is(name)) || code(one) == code(other)
        }
        (one, other) => one == other || close(one, other) || is_caught(one) && is_caught(other),
    }
}

/// Returns `true` for an error text that a script has caught.
fn is_caught(reply: &Reply) -> bool {
    let Reply::Bulk(bytes) = reply else {
        return false;
    };
    [&b"ERR "[..], b"@user_script", b"user_script:", b"=[C]: "]
        .iter()
        .any(|begin| bytes.starts_with(begin))
}

fn nil_free(reply: &Reply) -> Reply {
    match reply {
        Reply::NilArray => Reply::Nil,
        Reply::Array(items) => Reply::Array(items.iter().map(nil_free).collect()),
        other => other.clone(),
    }
}

/// Returns the elements of several replies together, sorted.
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

/// Returns `true` if two positive times differ by at most two seconds, in whichever unit they are.
fn close(model: &Reply, real: &Reply) -> bool {
    let (Reply::Int(model), Reply::Int(real)) = (model, real) else {
        return false;
    };
    // Leases in transcripts last 1,000 to 10,000 seconds, or end after the year 2100.
    let in_ms = (500_000..1_000_000_000).contains(real) || *real > 100_000_000_000;
    let slack = if in_ms { 2000 } else { 2 };
    *model > 0 && *real > 0 && model.abs_diff(*real) <= slack
}

/// Groups the messages by client, in each client's order. The order between clients is not observable.
pub(super) fn by_client(messages: Vec<(ClientId, Reply)>) -> Vec<(ClientId, Vec<Reply>)> {
    let mut clients: Vec<(ClientId, Vec<Reply>)> = Vec::new();
    for (client, message) in messages {
        match clients.iter_mut().find(|(other, _)| *other == client) {
            Some((_, list)) => list.push(message),
            None => clients.push((client, vec![message])),
        }
    }
    clients
}

/// Before Redis 7.2, a client that publishes to itself gets the message before the reply.
pub(super) fn own_messages_come_first(version: ServerVersion) -> bool {
    matches!(version, ServerVersion::Redis62 | ServerVersion::Redis70)
}

/// Sorts each run of pattern messages: if several patterns of a client match, it gets the messages in the order of a
/// hash table.
pub(super) fn without_order_of_patterns(mut messages: Vec<Reply>) -> Vec<Reply> {
    let by_pattern = |message: &Reply| -> bool {
        let (Reply::Array(items) | Reply::Push(items)) = message else {
            return false;
        };
        items.first() == Some(&Reply::bulk("pmessage"))
    };
    for run in messages.chunk_by_mut(|one, other| by_pattern(one) && by_pattern(other)) {
        run.sort_by_cached_key(|message| format!("{message:?}"));
    }
    messages
}
