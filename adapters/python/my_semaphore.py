#!/usr/bin/env python3
"""Picklock adapter for your semaphore. The example keeps its permits in a sorted set on the first node: the holders, by
the ends of their leases on the server's clock."""

import secrets

from picklock_adapter import Definite, Grant, serve, try_for
from resp_client import RespClient

NOW = "local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000) "

TAKE = NOW + """
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) + ARGV[4] > tonumber(ARGV[3]) then return 0 end
for permit = 1, ARGV[4] do redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1] .. ':' .. permit) end
if redis.call('PTTL', KEYS[1]) < ARGV[2] * 2 then redis.call('PEXPIRE', KEYS[1], ARGV[2] * 2) end
return 1"""


class MySemaphore:
    def __init__(self, nodes, timeout_ms, options):
        self.redis = RespClient(nodes[0], timeout_ms)
        self.permits_of = {}

    def set_capacity(self, permits):
        self.capacity = permits

    def acquire(self, key, ttl_ms, wait_ms):
        return self.acquire_permits(key, 1, ttl_ms, wait_ms)

    # Remove this method if an acquisition of your semaphore takes one permit.
    def acquire_permits(self, key, permits, ttl_ms, wait_ms):
        if not 1 <= permits <= self.capacity:
            raise Definite(f"{permits} permits were requested, and there are {self.capacity}")
        token = secrets.token_hex(20)
        self.permits_of[token] = permits
        take = ("EVAL", TAKE, 1, key, token, ttl_ms, self.capacity, permits)
        return try_for(wait_ms, lambda: self.redis(*take) and Grant(token))

    def release(self, key, token):
        names = [f"{token}:{permit + 1}" for permit in range(self.permits_of[token])]
        return self.redis("ZREM", key, *names) == len(names)

    # If your code releases in a `finally` even after a refusal, say what happens then (scenario permits-finally-unlock):
    # def release_unheld(self, key):
    #     return False


if __name__ == "__main__":
    serve(MySemaphore, name="my-semaphore", version="0.1.0", threads=True)
