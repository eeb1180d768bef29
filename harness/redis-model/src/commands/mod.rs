//! The implementations of the commands, with one file per family, and the command table.
//!
//! A command is implemented if a lock, a lock library, the connection setup of a client, or the harness sends it.
//! `docs/redis-model.md` names the sender of each.

mod client;
mod config;
mod connection;
mod counters;
mod expiry;
mod hashes;
mod index_range;
mod keys;
mod lists;
mod pubsub;
mod scripting;
mod set_options;
mod sets;
mod sorted_ranges;
mod sorted_sets;
mod strings;
mod time;
mod transactions;

use super::command::{Spec, grow, read, sub, whole, write};
use super::{Reply, ServerVersion as V};

/// The command table: the implementation of each command and its conditions.
pub(super) const TABLE: &[Spec] = &[
    // Strings and counters.
    grow("set", -3, strings::set),
    grow("setnx", 3, strings::setnx),
    grow("setex", 4, strings::setex),
    grow("psetex", 4, strings::setex),
    read("get", 2, strings::get),
    grow("getset", 3, strings::getset),
    write("getex", -2, strings::getex),
    read("mget", -2, strings::mget),
    grow("mset", -3, strings::mset),
    grow("msetnx", -3, strings::msetnx),
    read("strlen", 2, keys::length),
    read("getrange", 4, strings::getrange),
    write("delex", -2, strings::delex).on(V::has_delex),
    write("delifeq", 3, strings::delifeq).on(V::has_delifeq),
    write("getdel", 2, strings::getdel),
    grow("append", 3, strings::append),
    grow("setrange", 4, strings::setrange),
    grow("setbit", 4, strings::setbit),
    grow("incr", 2, counters::incrby),
    grow("decr", 2, counters::decrby),
    grow("incrby", 3, counters::incrby),
    grow("decrby", 3, counters::decrby),
    // Keys and their expiry.
    read("exists", -2, keys::exists),
    write("del", -2, keys::del),
    write("unlink", -2, keys::del),
    write("rename", 3, keys::rename),
    write("renamenx", 3, keys::rename),
    grow("copy", -3, keys::copy),
    read("type", 2, keys::type_of),
    read("keys", 2, keys::keys),
    write("flushdb", -1, keys::flush),
    write("flushall", -1, keys::flush),
    write("expire", -3, expiry::expire).no_options_before_70(),
    write("pexpire", -3, expiry::expire).no_options_before_70(),
    write("expireat", -3, expiry::expire).no_options_before_70(),
    write("pexpireat", -3, expiry::expire).no_options_before_70(),
    read("ttl", 2, |context, args| {
        expiry::remaining(context, args, 1000)
    }),
    read("pttl", 2, |context, args| {
        expiry::remaining(context, args, 1)
    }),
    write("persist", 2, expiry::persist),
    // Hashes.
    grow("hset", -4, hashes::hset),
    grow("hsetnx", 4, hashes::hsetnx),
    grow("hmset", -4, hashes::hmset),
    read("hmget", -3, hashes::hmget),
    read("hvals", 2, hashes::hvals),
    read("hget", 3, hashes::hget),
    read("hgetall", 2, hashes::hgetall),
    read("hkeys", 2, hashes::hkeys),
    read("hlen", 2, keys::length),
    read("hexists", 3, hashes::hexists),
    write("hdel", -3, hashes::hdel),
    grow("hincrby", 4, hashes::hincrby),
    // Lists.
    grow("lpush", -3, lists::push),
    grow("rpush", -3, lists::push),
    grow("lpushx", -3, lists::push),
    grow("rpushx", -3, lists::push),
    grow("lmove", 5, lists::lmove),
    grow("rpoplpush", 3, lists::rpoplpush),
    grow("lset", 4, lists::lset),
    write("ltrim", 4, lists::ltrim),
    write("rpop", -2, lists::pop),
    write("lpop", -2, lists::pop),
    write("blpop", -3, lists::blpop).no_script_before_72(),
    read("llen", 2, keys::length),
    read("lrange", 4, lists::lrange),
    read("lindex", 3, lists::lindex),
    write("lrem", 4, lists::lrem),
    // Sets.
    grow("sadd", -3, sets::sadd),
    write("smove", 4, sets::smove),
    write("srem", -3, sets::srem),
    read("sismember", 3, sets::sismember),
    read("smembers", 2, sets::smembers),
    read("scard", 2, keys::length),
    // Sorted sets.
    grow("zadd", -4, sorted_sets::zadd),
    grow("zincrby", 4, sorted_sets::zincrby),
    write("zrem", -3, sorted_sets::zrem),
    read("zscore", 3, sorted_sets::zscore),
    read("zcard", 2, keys::length),
    read("zcount", 4, sorted_ranges::zcount),
    read("zrange", -4, sorted_ranges::zrange),
    read("zrevrange", -4, sorted_ranges::zrange),
    read("zrangebyscore", -4, sorted_ranges::zrange),
    write("zremrangebyscore", 4, sorted_ranges::zremrangebyscore),
    write("zremrangebyrank", 4, sorted_ranges::zremrangebyrank),
    write("zpopmin", -2, sorted_ranges::zpop),
    write("zpopmax", -2, sorted_ranges::zpop),
    // Transactions and scripts.
    read("multi", 1, transactions::multi).no_script(),
    read("discard", 1, transactions::discard).no_script(),
    read("watch", -2, transactions::watch).no_script(),
    read("unwatch", 1, transactions::unwatch).no_script(),
    whole("exec", 1, transactions::exec),
    whole("eval", -3, scripting::eval::<false>),
    whole("eval_ro", -3, scripting::eval::<true>).on(V::since_70),
    whole("evalsha", -3, scripting::evalsha::<false>),
    whole("evalsha_ro", -3, scripting::evalsha::<true>).on(V::since_70),
    whole("script", -2, scripting::script).with(&[
        sub("load", 3),
        sub("exists", -3),
        sub("flush", -2),
    ]),
    // Publications.
    read("publish", 3, pubsub::publish).replicated(),
    read("subscribe", -2, pubsub::subscribe).no_script(),
    read("unsubscribe", -1, pubsub::unsubscribe).no_script(),
    read("psubscribe", -2, pubsub::subscribe).no_script(),
    read("punsubscribe", -1, pubsub::unsubscribe).no_script(),
    // Time, and waiting for replicas.
    read("time", 1, time::time),
    read("wait", 3, time::wait).no_script_before_72(),
    // Connections.
    read("ping", -1, connection::ping),
    read("echo", 2, |_, args| Ok(Reply::bulk(args[1]))),
    read("hello", -1, connection::hello).no_script(),
    read("auth", -2, connection::auth).no_script(),
    read("select", 2, connection::select),
    read("info", -1, connection::info),
    read("quit", -1, |_, _| Ok(Reply::OK)).no_script(),
    read("reset", 1, connection::reset).no_script(),
    read("readonly", 1, connection::readonly),
    read("client", -2, client::client).no_script().with(&[
        sub("id", 2),
        sub("setname", 3),
        sub("setinfo", 4).on(V::since_72),
    ]),
    read("config", -2, config::config)
        .no_script()
        .with(&[sub("get", -3)]),
];
