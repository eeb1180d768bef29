-- `take_token.lua` that mistakes an empty list for one that was never created: Redis removes empty lists.
if redis.call("EXISTS", KEYS[1]) == 0 then
    for token = 1, ARGV[1] do
        redis.call("RPUSH", KEYS[1], "token-" .. token)
    end
end
return redis.call("LPOP", KEYS[1])
