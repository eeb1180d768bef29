#!/usr/bin/env python3
"""Picklock adapter for the lock of redis-py on an event loop, `redis.asyncio.lock.Lock`: all clients of a process
share one pool of connections."""

import time

from picklock_adapter import Definite, Grant, seconds, serve, timeouts
from redis import __version__
from redis.asyncio import Redis
from redis.asyncio.lock import Lock
from redis.exceptions import LockNotOwnedError


class RedisPyAsyncioLock:
    def __init__(self, nodes, timeout_ms, options):
        self.client = Redis.from_url(nodes[0], retry=None, **timeouts(timeout_ms))
        self.locks = {}

    async def acquire(self, key, ttl_ms, wait_ms):
        # The method that sends the command is called once for each attempt, and does not report when.
        lock = Lock(self.client, key, timeout=seconds(ttl_ms), sleep=0.02)
        if not await lock.acquire(blocking=wait_ms > 0, blocking_timeout=wait_ms / 1000):
            return None
        token = lock.local.token.decode()
        self.locks[token] = lock
        return Grant(token)

    async def extend(self, key, token, ttl_ms):
        asked_at = time.monotonic()
        try:
            await self._lock(token).extend(seconds(ttl_ms), replace_ttl=True)
        except LockNotOwnedError:
            return None
        return Grant(token, asked_at=asked_at)

    async def release(self, key, token):
        try:
            await self._lock(token).release()
        except LockNotOwnedError:
            return False
        finally:
            self.locks.pop(token, None)
        return True

    def _lock(self, token):
        if token not in self.locks:
            raise Definite(f"no grant has the token {token!r}")
        return self.locks[token]


if __name__ == "__main__":
    serve(RedisPyAsyncioLock, name="redis-py-asyncio", version=__version__)
