-- Sets a new time to live if the caller has the lock, in one step.
-- KEYS[1]: the lock, a hash with the holder's name and number of holds. ARGV[1]: the caller's name.
-- ARGV[2]: milliseconds from now. Returns 1 or 0.
if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 1 then
    return redis.call("PEXPIRE", KEYS[1], ARGV[2])
end
return 0
