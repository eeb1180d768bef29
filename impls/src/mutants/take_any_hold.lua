-- `take_hold.lua` with a mistake.
-- KEYS[1]: the holders. KEYS[2]: the waiting writers. ARGV[1]: the holder. ARGV[2]: its lease in milliseconds.
-- ARGV[3]: the mistake. Returns 1 if it was let in, else 0.
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local mistake = ARGV[3]
if mistake ~= "keeps-expired" then
    redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", now)
end
redis.call("ZREMRANGEBYSCORE", KEYS[2], "-inf", now)
local writers, readers = 0, 0
for _, holder in ipairs(redis.call("ZRANGE", KEYS[1], 0, -1)) do
    if string.sub(holder, 1, 1) == "w" then
        writers = writers + 1
    else
        readers = readers + 1
    end
end
if mistake == "reader-ignores-writer" and string.sub(ARGV[1], 1, 1) == "r" then
    writers = 0
end
if mistake == "writer-ignores-readers" then
    readers = 0
end
if string.sub(ARGV[1], 1, 1) == "w" then
    if writers + readers > 0 then
        if mistake ~= "starves-writers" then
            redis.call("ZADD", KEYS[2], now + ARGV[2], ARGV[1])
            redis.call("PEXPIRE", KEYS[2], ARGV[2] * 2)
        end
        return 0
    end
    redis.call("ZREM", KEYS[2], ARGV[1])
elseif writers > 0 or redis.call("ZCARD", KEYS[2]) > 0 then
    return 0
end
redis.call("ZADD", KEYS[1], now + ARGV[2], ARGV[1])
if mistake ~= "keeps-expired" and redis.call("PTTL", KEYS[1]) < ARGV[2] * 2 then
    redis.call("PEXPIRE", KEYS[1], ARGV[2] * 2)
end
return 1
