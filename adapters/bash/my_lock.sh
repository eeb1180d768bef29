#!/usr/bin/env bash
# Picklock adapter for your lock. The example takes a lock on the first node with SET NX PX, and compares the token
# before it deletes or extends the key.

case $BASH_SOURCE in
    */*) here=${BASH_SOURCE%/*} ;;
    *) here=. ;;
esac
. "$here/picklock_adapter.sh"
. "$here/resp_client.sh"

# With redis-cli:  reply=$(redis-cli -h "$host" -p "$port" SET "$key" "$token" NX PX "$ttl_ms"): one process per
# command, which is frozen or killed together with the adapter.

# A lock that renews in the background prints {"event":"lost","token":"TOKEN"} on one line of standard output before its
# lease ends unrenewed. It needs `renews = true` in picklock.toml.

if_mine="if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return "

open_lock() { redis_server "$2" "$1"; }

acquire() {
    local token
    printf -v token '%08x' $SRANDOM $SRANDOM $SRANDOM $SRANDOM
    grant "$token"
    try_for "$3" replies OK SET "$1" "$token" NX PX "$2"
}

extend() {
    grant "$2"
    try_for 0 replies 1 EVAL "$if_mine redis.call('PEXPIRE', KEYS[1], ARGV[2])" 1 "$1" "$2" "$3"
}

release() { replies 1 EVAL "$if_mine redis.call('DEL', KEYS[1])" 1 "$1" "$2"; }

# replies EXPECTED COMMAND...: returns 0 if the reply is EXPECTED, 1 for another reply, 2 if there is none.
replies() { redis "${@:2}" || return; [[ $reply == "$1" ]]; }

serve my-lock 0.1.0
