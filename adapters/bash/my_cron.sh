#!/usr/bin/env bash
# Picklock adapter for your lock around a scheduled job. The example takes a lock on the first node with SET NX PX. Its
# release keeps the key for a minimum time, so that an instance whose clock is late does not run the job again.

case $BASH_SOURCE in
    */*) here=${BASH_SOURCE%/*} ;;
    *) here=. ;;
esac
. "$here/picklock_adapter.sh"
. "$here/resp_client.sh"

# The minimum time from the request to the end of the key, longer than clocks and timers can differ.
min_hold_ms=600

if_mine="if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return "

# Time of each request, by the token of its grant.
declare -A requested_at_ms

open_lock() { redis_server "$2" "$1"; }

acquire() {
    local token
    new_token
    grant "$token"
    now && requested_at_ms[$token]=$now_ms
    try_for "$3" replies OK SET "$1" "$token" NX PX "$2"
}

release() {
    local left_ms end="redis.call('DEL', KEYS[1])"
    now
    left_ms=$((min_hold_ms - (now_ms - requested_at_ms[$2])))
    if ((left_ms > 0)); then end="redis.call('PEXPIRE', KEYS[1], ARGV[2])"; fi
    replies 1 EVAL "$if_mine$end" 1 "$1" "$2" "$left_ms"
}

new_token() { printf -v token '%08x' $SRANDOM $SRANDOM $SRANDOM $SRANDOM; }

# replies EXPECTED COMMAND...: returns 0 if the reply is EXPECTED, 1 for another reply, 2 if there is none.
replies() { redis "${@:2}" || return; [[ $reply == "$1" ]]; }

serve my-cron 0.1.0
