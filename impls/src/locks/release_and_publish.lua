-- Counts one hold less. After the last one deletes the lock and tells those who wait, in one step.
-- KEYS[1]: the lock, a hash with the holder's name and its holds. KEYS[2]: the channel. ARGV[1]: the
-- caller's name. ARGV[2]: milliseconds that the caller's other holds last from now. Returns how many
-- holds the caller has left, or nil if it had none.
if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 0 then
    return false
end
local left = redis.call("HINCRBY", KEYS[1], ARGV[1], -1)
if left > 0 then
    redis.call("PEXPIRE", KEYS[1], ARGV[2])
    return left
end
redis.call("DEL", KEYS[1])
redis.call("PUBLISH", KEYS[2], "released")
return 0
