-- Lets a reader or a writer in, unless the others exclude it.
-- KEYS[1]: the holders, a sorted set of `r:TOKEN` and `w:TOKEN`; the score is the end of the lease in milliseconds.
-- KEYS[2]: the waiting writers; the score is the end of the mark. ARGV[1]: the holder.
-- ARGV[2]: its lease in milliseconds. Returns 1 if it was let in, else 0.
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", now)
redis.call("ZREMRANGEBYSCORE", KEYS[2], "-inf", now)
if string.sub(ARGV[1], 1, 1) == "w" then
    if redis.call("ZCARD", KEYS[1]) > 0 then
        redis.call("ZADD", KEYS[2], now + ARGV[2], ARGV[1])
        redis.call("PEXPIRE", KEYS[2], ARGV[2] * 2)
        return 0
    end
    redis.call("ZREM", KEYS[2], ARGV[1])
else
    if redis.call("ZCARD", KEYS[2]) > 0 then
        return 0
    end
    for _, holder in ipairs(redis.call("ZRANGE", KEYS[1], 0, -1)) do
        if string.sub(holder, 1, 1) == "w" then
            return 0
        end
    end
end
redis.call("ZADD", KEYS[1], now + ARGV[2], ARGV[1])
-- A short lease must not cut a longer one.
if redis.call("PTTL", KEYS[1]) < ARGV[2] * 2 then
    redis.call("PEXPIRE", KEYS[1], ARGV[2] * 2)
end
return 1
