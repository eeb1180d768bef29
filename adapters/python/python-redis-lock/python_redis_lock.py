#!/usr/bin/env python3
"""Picklock adapter for the lock of python-redis-lock, `redis_lock.Lock`, with its renewal thread.

The library rounds leases and waits down to whole seconds. Its waiters sleep in BLPOP, so the adapter shortens their
wait by one second: otherwise the client's own timeout would expire first. Option: `auto_renewal=false` disables the
renewal thread.
"""

import time
from importlib.metadata import version

from picklock_adapter import LockObjects, extended, serve, switch, timeouts
from redis import Redis
from redis_lock import Lock, NotAcquired


class ToldLock(Lock):
    """The library's lock, which also reports to Picklock when its thread has renewed the lease."""

    def extend(self, expire=None):
        asked_at = time.monotonic()
        super().extend(expire)
        extended(self.id, expire * 1000, asked_at)


class PythonRedisLock(LockObjects):
    not_held = NotAcquired

    def __init__(self, nodes, timeout_ms, options):
        self.client = Redis.from_url(nodes[0], retry=None, **timeouts(timeout_ms))
        self.renewal = switch(options, "auto_renewal", True)

    def make(self, key, ttl_ms):
        return ToldLock(self.client, key, expire=ttl_ms / 1000, auto_renewal=self.renewal)

    def take(self, lock, wait_ms):
        wait = max(0, int(wait_ms / 1000) - 1)
        return lock.id if lock.acquire(blocking=wait > 0, timeout=wait or None) else None


if __name__ == "__main__":
    name = "python-redis-lock"
    serve(PythonRedisLock, name, version(name), options=["auto_renewal"], threads=True)
