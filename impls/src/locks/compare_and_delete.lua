-- Deletes the key if it still holds the caller's token, in one step.
-- KEYS[1]: the lock. ARGV[1]: the token. Returns 1 if the key was deleted, else 0.
if redis.call("GET", KEYS[1]) == ARGV[1] then
    return redis.call("DEL", KEYS[1])
end
return 0
