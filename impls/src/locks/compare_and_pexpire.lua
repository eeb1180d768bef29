-- Sets a new time to live if the key still holds the caller's token, in one step. Does not create
-- a missing key again, because that would hide that another client may have held the lock.
-- KEYS[1]: the lock. ARGV[1]: the token. ARGV[2]: milliseconds from now. Returns 1 or 0.
if redis.call("GET", KEYS[1]) == ARGV[1] then
    return redis.call("PEXPIRE", KEYS[1], ARGV[2])
end
return 0
