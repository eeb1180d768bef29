#!/usr/bin/env python3
"""Picklock adapter for your read/write lock. The example keeps its holders in a sorted set on the first node, by the ends
of their leases on the server's clock. A writer that waits keeps new readers out."""

import secrets

from picklock_adapter import Grant, serve, try_for
from resp_client import RespClient

TAKE = """
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
return 1"""


class MyReadWriteLock:
    def __init__(self, nodes, timeout_ms, options):
        self.redis = RespClient(nodes[0], timeout_ms)

    # For a writer.
    def acquire(self, key, ttl_ms, wait_ms):
        return self.take("w", key, ttl_ms, wait_ms)

    # For a reader.
    def acquire_shared(self, key, ttl_ms, wait_ms):
        return self.take("r", key, ttl_ms, wait_ms)

    def take(self, mode, key, ttl_ms, wait_ms):
        token = f"{mode}:{secrets.token_hex(20)}"
        take = ("EVAL", TAKE, 2, key, f"{key}:waiting", token, ttl_ms)
        return try_for(wait_ms, lambda: self.redis(*take) and Grant(token))

    def release(self, key, token):
        return self.redis("ZREM", key, token) == 1


if __name__ == "__main__":
    serve(MyReadWriteLock, name="my-rwlock", version="0.1.0", threads=True)
