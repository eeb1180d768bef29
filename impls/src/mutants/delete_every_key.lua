-- Deletes every key of the server if the lock still holds the caller's token.
-- KEYS[1]: the lock. ARGV[1]: the token. Returns the number of deleted keys.
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
    return 0
end
return redis.call("DEL", unpack(redis.call("KEYS", "*")))
