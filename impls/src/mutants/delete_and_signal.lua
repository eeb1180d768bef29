-- Deletes the key if it still holds the caller's token, and leaves one signal for a waiter.
-- KEYS[1]: the lock. KEYS[2]: the list for signals. ARGV[1]: the token. Returns 1 or 0.
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
    return 0
end
redis.call("DEL", KEYS[2])
redis.call("LPUSH", KEYS[2], "1")
return redis.call("DEL", KEYS[1])
