-- Deletes the key if it still holds the caller's token, and leaves one signal for a waiter, in one
-- step. Replaces a signal that no waiter has taken, so that there is never more than one.
-- KEYS[1]: the lock. KEYS[2]: the list for signals. ARGV[1]: the token. ARGV[2]: milliseconds after
-- which a signal that no waiter takes expires. Returns 1 if the key was deleted, else 0.
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
    return 0
end
redis.call("DEL", KEYS[2])
redis.call("LPUSH", KEYS[2], "1")
redis.call("PEXPIRE", KEYS[2], ARGV[2])
return redis.call("DEL", KEYS[1])
