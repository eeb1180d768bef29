-- Lets a reader in if there is no writer, and a writer in if there is no holder.
-- KEYS[1]: a hash with the mode, and a count for each holder. ARGV[1]: the holder. ARGV[2]: its lease in
-- milliseconds. ARGV[3]: "read" or "write". Returns 1 if it was let in, else 0.
local mode = redis.call("HGET", KEYS[1], "mode")
if not mode then
    redis.call("HSET", KEYS[1], "mode", ARGV[3])
elseif mode ~= "read" or ARGV[3] ~= "read" then
    return 0
end
redis.call("HINCRBY", KEYS[1], ARGV[1], 1)
redis.call("PEXPIRE", KEYS[1], ARGV[2])
return 1
