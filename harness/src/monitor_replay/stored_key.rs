//! The keys that exist on a server before its replay begins, for example those of a replica that is promoted.

/// A key as it is stored on a server, and loaded into the server's replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKey {
    /// The key's name, in the first database.
    pub name: Vec<u8>,
    /// The key's value.
    pub value: StoredValue,
    /// Remaining time to live in milliseconds; negative if the key has no expiry.
    pub ttl_ms: i64,
}

impl StoredKey {
    /// A script that atomically reads a server's time and the given keys, or all keys of its first database if none are
    /// given. It returns the name, the type, the remaining time to live and the value of each key. The script fails if
    /// the values take more than 4 MiB: a lock needs only a fraction of that, and other users' values must not exhaust
    /// the memory.
    pub const READ_ALL: &'static str = "
local all, room = {}, 4194304
for _, key in ipairs(KEYS[1] and KEYS or redis.call('KEYS', '*')) do
  local kind = redis.call('TYPE', key).ok
  local value = {}
  if kind == 'string' then
    room = room - redis.call('STRLEN', key)
    if room >= 0 then value = {redis.call('GET', key)} end
  elseif kind == 'hash' then value = redis.call('HGETALL', key)
  elseif kind == 'list' then value = redis.call('LRANGE', key, 0, -1)
  elseif kind == 'set' then value = redis.call('SMEMBERS', key)
  elseif kind == 'zset' then value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end
  if kind ~= 'string' then
    for _, word in ipairs(value) do room = room - #word end
  end
  if room < 0 then return redis.error_reply('ERR the keys hold more than 4 MiB') end
  if kind ~= 'none' then all[#all + 1] = {key, kind, redis.call('PTTL', key), value} end
end
return {redis.call('TIME'), all}";
}

/// The value of a stored key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredValue {
    /// A string.
    String(Vec<u8>),
    /// A value of another type: the command that creates it, and the command's arguments after the key.
    BuiltBy(&'static str, Vec<Vec<u8>>),
}

impl StoredValue {
    /// Creates a value of the type that `TYPE` returned, from the words that a server returned for it.
    pub fn parse(kind: &str, mut words: Vec<Vec<u8>>) -> Self {
        match kind {
            "string" => StoredValue::String(words.pop().unwrap_or_default()),
            "hash" => StoredValue::BuiltBy("HSET", words),
            "list" => StoredValue::BuiltBy("RPUSH", words),
            "set" => StoredValue::BuiltBy("SADD", words),
            _ => {
                // A server returns the member before the score, and `ZADD` requires the score before the member.
                let pairs = words.chunks_exact_mut(2);
                pairs.for_each(|pair| pair.swap(0, 1));
                StoredValue::BuiltBy("ZADD", words)
            }
        }
    }
}
