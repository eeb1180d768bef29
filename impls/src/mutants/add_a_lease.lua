-- Adds to the time to live of the key if it still holds the caller's token, in one step.
-- KEYS[1]: the lock. ARGV[1]: the token. ARGV[2]: milliseconds more. Returns 1 or 0.
if redis.call("GET", KEYS[1]) == ARGV[1] then
    return redis.call("PEXPIRE", KEYS[1], redis.call("PTTL", KEYS[1]) + ARGV[2])
end
return 0
