#!/usr/bin/env bash
# Picklock adapter for your semaphore. The example keeps its permits in a sorted set on the first node: the holders, by
# the ends of their leases on the server's clock.

case $BASH_SOURCE in
    */*) here=${BASH_SOURCE%/*} ;;
    *) here=. ;;
esac
. "$here/picklock_adapter.sh"
. "$here/resp_client.sh"

take_script="
local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) + ARGV[4] > tonumber(ARGV[3]) then return 0 end
for permit = 1, ARGV[4] do redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1] .. ':' .. permit) end
if redis.call('PTTL', KEYS[1]) < ARGV[2] * 2 then redis.call('PEXPIRE', KEYS[1], ARGV[2] * 2) end
return 1"

# Number of permits of each grant, by its token.
declare -A permits_of

open_lock() { redis_server "$2" "$1"; }

set_capacity() { capacity=$1; }

acquire() { acquire_permits "$1" 1 "$2" "$3"; }

# Remove this function if an acquisition of your semaphore takes one permit.
acquire_permits() {
    local token
    if (($2 < 1 || $2 > capacity)); then
        fail definite "$2 permits were requested, and there are $capacity"
        return 2
    fi
    new_token
    grant "$token"
    permits_of[$token]=$2
    try_for "$4" replies 1 EVAL "$take_script" 1 "$1" "$token" "$3" "$capacity" "$2"
}

release() {
    local permits=${permits_of[$2]} names=() permit
    for ((permit = 1; permit <= permits; permit++)); do names+=("$2:$permit"); done
    replies "$permits" ZREM "$1" "${names[@]}"
}

new_token() { printf -v token '%08x' $SRANDOM $SRANDOM $SRANDOM $SRANDOM; }

# replies EXPECTED COMMAND...: returns 0 if the reply is EXPECTED, 1 for another reply, 2 if there is none.
replies() { redis "${@:2}" || return; [[ $reply == "$1" ]]; }

serve my-semaphore 0.1.0
