-- Takes the lock if it is free, or counts one more hold if the caller already has it, and begins
-- a new lease, in one step.
-- KEYS[1]: the lock, a hash with the holder's name and number of holds. ARGV[1]: the caller's name.
-- ARGV[2]: milliseconds from now. Returns nil if the caller now has the lock, else the milliseconds until
-- the holder's lease is over.
if redis.call("EXISTS", KEYS[1]) == 1 and redis.call("HEXISTS", KEYS[1], ARGV[1]) == 0 then
    return redis.call("PTTL", KEYS[1])
end
redis.call("HINCRBY", KEYS[1], ARGV[1], 1)
redis.call("PEXPIRE", KEYS[1], ARGV[2])
return false
