-- Deletes the key if the first eight bytes of its value are those of the caller's token, in one step.
-- KEYS[1]: the lock. ARGV[1]: the token. Returns 1 if the key was deleted, else 0.
if redis.call("GETRANGE", KEYS[1], 0, 7) == string.sub(ARGV[1], 1, 8) then
    return redis.call("DEL", KEYS[1])
end
return 0
