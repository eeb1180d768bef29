/// A key as a server has it: read from a server, and loaded into its replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKey {
    /// Its name, in the first database.
    pub name: Vec<u8>,
    /// What it holds.
    pub value: StoredValue,
    /// How much longer it lives, in milliseconds; negative: for ever.
    pub ttl_ms: i64,
}

impl StoredKey {
    /// The script that reads a server's time, and then the keys that it is given, or all keys of its first database
    /// where it is given none, with name, type, remaining life and value, in one step. Refused if they hold more than 4 MiB: a lock needs a
    /// fraction, and nobody else's values shall fill our memory.
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
    /// Anything else: the command that makes it, and its arguments after the key.
    Made(&'static str, Vec<Vec<u8>>),
}

impl StoredValue {
    /// A value of a type as `TYPE` names it, from the words that a server gives for it.
    pub fn parse(kind: &str, mut words: Vec<Vec<u8>>) -> Self {
        match kind {
            "string" => StoredValue::String(words.pop().unwrap_or_default()),
            "hash" => StoredValue::Made("HSET", words),
            "list" => StoredValue::Made("RPUSH", words),
            "set" => StoredValue::Made("SADD", words),
            _ => {
                // Read as member and score, written as score and member.
                let pairs = words.chunks_exact_mut(2);
                pairs.for_each(|pair| pair.swap(0, 1));
                StoredValue::Made("ZADD", words)
            }
        }
    }
}
