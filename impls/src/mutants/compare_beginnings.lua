-- Deletes the key if its value begins like the caller's token, in one step.
-- KEYS[1]: the lock. ARGV[1]: the token. Returns 1 if it is gone, else 0.
if redis.call("GETRANGE", KEYS[1], 0, 7) == string.sub(ARGV[1], 1, 8) then
    return redis.call("DEL", KEYS[1])
end
return 0
