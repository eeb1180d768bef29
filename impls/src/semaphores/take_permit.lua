-- Removes the permits whose leases are over, and takes as many as are requested if that many are left.
-- KEYS[1]: the permits, a sorted set of their holders; the score is the end of the lease in milliseconds.
-- ARGV[1]: the holder. ARGV[2]: its lease in milliseconds. ARGV[3]: number of permits that exist.
-- ARGV[4]: number of requested permits. ARGV[5]: the time in milliseconds since the epoch, or nothing for the server's.
-- Returns 1 if it took them, else 0. The first permit has the holder's name, and the others also have a number.
local now = ARGV[5]
if not now then
    local time = redis.call("TIME")
    now = time[1] * 1000 + math.floor(time[2] / 1000)
end
redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", now)
if redis.call("ZCARD", KEYS[1]) + ARGV[4] > tonumber(ARGV[3]) then
    return 0
end
redis.call("ZADD", KEYS[1], now + ARGV[2], ARGV[1])
for permit = 2, ARGV[4] do
    redis.call("ZADD", KEYS[1], now + ARGV[2], ARGV[1] .. "#" .. permit)
end
-- A short lease must not cut a longer one.
if redis.call("PTTL", KEYS[1]) < ARGV[2] * 2 then
    redis.call("PEXPIRE", KEYS[1], ARGV[2] * 2)
end
return 1
