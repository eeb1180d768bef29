-- Takes the key if it is free, and counts the grant, in one step. So the numbers have the order of
-- the grants, and a refused client does not use up a number.
-- KEYS[1]: the lock. KEYS[2]: the counter, which has no time to live. ARGV[1]: the token.
-- ARGV[2]: milliseconds from now. Returns the number of the grant, counted from 1, or 0.
if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
    return redis.call("INCR", KEYS[2])
end
return 0
