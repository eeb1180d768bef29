"""A first test of a lock. Put your own lock in place of this one."""

import secrets

import picklock
import redis

DELETE_IF_MINE = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0"


class MyLock(picklock.Lock):
    def __init__(self, nodes, timeout_ms, options):
        self.redis = redis.Redis.from_url(nodes[0], socket_timeout=timeout_ms / 1000, retry=None)

    def try_acquire(self, key, ttl_ms):
        token = secrets.token_hex(20)
        return token if self.redis.set(key, token, nx=True, px=ttl_ms) else None

    def release(self, key, token):
        return self.redis.eval(DELETE_IF_MINE, 1, key, token) == 1


test_my_lock = picklock.scenarios(MyLock, profile="quick", reference="set-nx-px")
