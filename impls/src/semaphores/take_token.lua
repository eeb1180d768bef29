-- Takes one of the tokens that are left. The first call makes all of them.
-- KEYS[1]: the tokens, a list. KEYS[2]: a mark that they were made. ARGV[1]: how many there are.
-- Returns the token, or nil if none is left.
if redis.call("SETNX", KEYS[2], 1) == 1 then
    for token = 1, ARGV[1] do
        redis.call("RPUSH", KEYS[1], "token-" .. token)
    end
end
return redis.call("LPOP", KEYS[1])
