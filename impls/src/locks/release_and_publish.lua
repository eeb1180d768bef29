-- Decrements the number of holds. At zero, deletes the lock and notifies the waiters, in one step.
-- KEYS[1]: the lock, a hash with the holder's name and number of holds. KEYS[2]: the channel.
-- ARGV[1]: the caller's name. ARGV[2]: the new time to live, in milliseconds, if the caller has other
-- holds. Returns the number of holds that the caller has left, or nil if it had none.
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
