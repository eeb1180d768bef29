-- Removes a holder. If other holders remain, they must be readers.
-- KEYS[1]: the hash. ARGV[1]: the holder. Returns 1 if it held the lock.
local removed = redis.call("HDEL", KEYS[1], ARGV[1])
if redis.call("HLEN", KEYS[1]) <= 1 then
    redis.call("DEL", KEYS[1])
else
    redis.call("HSET", KEYS[1], "mode", "read")
end
return removed
