#!/usr/bin/env bash
# Picklock adapter for your read/write lock. The example keeps its holders in a sorted set on the first node, by the ends
# of their leases on the server's clock. A writer that waits keeps new readers out.

case $BASH_SOURCE in
    */*) here=${BASH_SOURCE%/*} ;;
    *) here=. ;;
esac
. "$here/picklock_adapter.sh"
. "$here/resp_client.sh"

take_script="
local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if string.sub(ARGV[1], 1, 1) == 'w' then
  if redis.call('ZCARD', KEYS[1]) > 0 then
    redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[1])
    redis.call('PEXPIRE', KEYS[2], ARGV[2] * 2)
    return 0
  end
  redis.call('ZREM', KEYS[2], ARGV[1])
else
  if redis.call('ZCARD', KEYS[2]) > 0 then return 0 end
  for _, holder in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    if string.sub(holder, 1, 1) == 'w' then return 0 end
  end
end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
if redis.call('PTTL', KEYS[1]) < ARGV[2] * 2 then redis.call('PEXPIRE', KEYS[1], ARGV[2] * 2) end
return 1"

open_lock() { redis_server "$2" "$1"; }

# For a writer.
acquire() { acquire_as w "$@"; }

# For a reader.
acquire_shared() { acquire_as r "$@"; }

acquire_as() {
    local token
    new_token
    grant "$1:$token"
    try_for "$4" replies 1 EVAL "$take_script" 2 "$2" "$2:waiting" "$1:$token" "$3"
}

release() { replies 1 ZREM "$1" "$2"; }

new_token() { printf -v token '%08x' $SRANDOM $SRANDOM $SRANDOM $SRANDOM; }

# replies EXPECTED COMMAND...: returns 0 if the reply is EXPECTED, 1 for another reply, 2 if there is none.
replies() { redis "${@:2}" || return; [[ $reply == "$1" ]]; }

serve my-rwlock 0.1.0
