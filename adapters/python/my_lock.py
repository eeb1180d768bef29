#!/usr/bin/env python3
"""Picklock adapter for your lock. The example takes a lock on the first node with SET NX PX, and compares the token
before it deletes or extends the key."""

import secrets

from picklock_adapter import Grant, serve, try_for
from resp_client import RespClient

# With redis-py:  self.redis = redis.Redis.from_url(nodes[0], socket_timeout=timeout_ms / 1000,
#                     retry=None), and self.redis.set(key, token, nx=True, px=ttl_ms) to acquire.

# A lock that renews in the background calls extended(token, ttl_ms, asked_at) of picklock_adapter after each renewal,
# and lost(token) before its lease ends unrenewed. It needs `renews = true` in picklock.toml.

IF_MINE = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return "


class MyLock:
    def __init__(self, nodes, timeout_ms, options):
        self.redis = RespClient(nodes[0], timeout_ms)

    def acquire(self, key, ttl_ms, wait_ms):
        token = secrets.token_hex(20)
        set_nx_px = ("SET", key, token, "NX", "PX", ttl_ms)
        return try_for(wait_ms, lambda: self.redis(*set_nx_px) and Grant(token))

    def extend(self, key, token, ttl_ms):
        script = IF_MINE + "redis.call('PEXPIRE', KEYS[1], ARGV[2])"
        return try_for(0, lambda: self.redis("EVAL", script, 1, key, token, ttl_ms) and Grant(token))

    def release(self, key, token):
        script = IF_MINE + "redis.call('DEL', KEYS[1])"
        return self.redis("EVAL", script, 1, key, token) == 1


if __name__ == "__main__":
    serve(MyLock, name="my-lock", version="0.1.0", threads=True)
