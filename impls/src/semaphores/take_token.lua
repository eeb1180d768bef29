-- Takes one of the tokens that are left. The first call creates all of them.
-- KEYS[1]: the tokens, a list. KEYS[2]: a mark that they were created. ARGV[1]: their number.
-- Returns the token, or nil if none is left.
if redis.call("SETNX", KEYS[2], 1) == 1 then
    for token = 1, ARGV[1] do
        redis.call("RPUSH", KEYS[1], "token-" .. token)
    end
end
return redis.call("LPOP", KEYS[1])
