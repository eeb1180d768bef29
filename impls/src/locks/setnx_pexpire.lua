-- Takes the key if it is free, and sets its time to live, in one step.
-- KEYS[1]: the lock. ARGV[1]: the token. ARGV[2]: milliseconds from now. Returns 1 or 0.
if redis.call("SETNX", KEYS[1], ARGV[1]) == 1 then
    redis.call("PEXPIRE", KEYS[1], ARGV[2])
    return 1
end
return 0
