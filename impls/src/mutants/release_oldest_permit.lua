-- Gives back the permit whose lease ends first, whichever client holds it.
local oldest = redis.call("ZRANGE", KEYS[1], 0, 0)
if not oldest[1] then
    return 0
end
return redis.call("ZREM", KEYS[1], oldest[1])
