-- Starts a new lease for the permits of a holder, if it still has all of them.
-- KEYS[1]: the permits. ARGV[1]: the holder. ARGV[2]: its lease in milliseconds. ARGV[3]: number of permits.
-- ARGV[4]: the time in milliseconds since the epoch, or nothing for the server's time. Returns 1 or 0.
local now = ARGV[4]
if not now then
    local time = redis.call("TIME")
    now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local names = { ARGV[1] }
for permit = 2, ARGV[3] do
    names[permit] = ARGV[1] .. "#" .. permit
end
for _, name in ipairs(names) do
    local ends = redis.call("ZSCORE", KEYS[1], name)
    if not ends or tonumber(ends) <= tonumber(now) then
        return 0
    end
end
for _, name in ipairs(names) do
    redis.call("ZADD", KEYS[1], now + ARGV[2], name)
end
if redis.call("PTTL", KEYS[1]) < ARGV[2] * 2 then
    redis.call("PEXPIRE", KEYS[1], ARGV[2] * 2)
end
return 1
