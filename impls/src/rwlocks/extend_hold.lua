-- Starts a new lease for a reader or a writer that still holds the lock.
-- KEYS[1]: the holders. ARGV[1]: the holder. ARGV[2]: its lease in milliseconds. Returns 1 or 0.
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ends = redis.call("ZSCORE", KEYS[1], ARGV[1])
if not ends or tonumber(ends) <= now then
    return 0
end
redis.call("ZADD", KEYS[1], now + ARGV[2], ARGV[1])
if redis.call("PTTL", KEYS[1]) < ARGV[2] * 2 then
    redis.call("PEXPIRE", KEYS[1], ARGV[2] * 2)
end
return 1
