-- Removes the permits whose leases are over, and takes one if one is left.
-- KEYS[1]: the permits, a sorted set of their holders by the end of their leases in milliseconds.
-- ARGV[1]: the holder. ARGV[2]: its lease in milliseconds. ARGV[3]: how many permits there are.
-- ARGV[4]: the time in milliseconds since the epoch, or nothing for that of the server.
-- Returns 1 if it took one.
local now = ARGV[4]
if not now then
    local time = redis.call("TIME")
    now = time[1] * 1000 + math.floor(time[2] / 1000)
end
redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", now)
if redis.call("ZCARD", KEYS[1]) >= tonumber(ARGV[3]) then
    return 0
end
redis.call("ZADD", KEYS[1], now + ARGV[2], ARGV[1])
redis.call("PEXPIRE", KEYS[1], ARGV[2] * 2)
return 1
