-- `take_permit.lua` with a mistake.
-- ARGV[4]: number of permits that it grants in addition to those that exist.
-- ARGV[5]: 1 if it removes the permits whose leases are over. ARGV[6]: number of requested permits.
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[5] == "1" then
    redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", now)
end
if redis.call("ZCARD", KEYS[1]) + ARGV[6] > ARGV[3] + ARGV[4] then
    return 0
end
redis.call("ZADD", KEYS[1], now + ARGV[2], ARGV[1])
for permit = 2, ARGV[6] do
    redis.call("ZADD", KEYS[1], now + ARGV[2], ARGV[1] .. "#" .. permit)
end
return 1
