-- Gives a permit a new lease, if its holder still has it.
-- KEYS[1]: the permits. ARGV[1]: the holder. ARGV[2]: its lease in milliseconds. ARGV[3]: the time in
-- milliseconds since the epoch, or nothing for that of the server. Returns 1 if it has it.
local now = ARGV[3]
if not now then
    local time = redis.call("TIME")
    now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local ends = redis.call("ZSCORE", KEYS[1], ARGV[1])
if not ends or tonumber(ends) <= tonumber(now) then
    return 0
end
redis.call("ZADD", KEYS[1], now + ARGV[2], ARGV[1])
redis.call("PEXPIRE", KEYS[1], ARGV[2] * 2)
return 1
