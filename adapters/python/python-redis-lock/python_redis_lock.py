#!/usr/bin/env python3
"""Picklock adapter for the lock of python-redis-lock, `redis_lock.Lock`, with its renewal thread.

The library counts in whole seconds and cuts the rest off: leases and waits alike. Its waiters sleep in
BLPOP, so the adapter lets it wait one second less than it may: otherwise the client's own timeout comes
first. Option: `auto_renewal=false` leaves the renewal thread out.
"""

import time
from importlib.metadata import version

from picklock_adapter import LockObjects, extended, serve, switch, timeouts
from redis import Redis
from redis_lock import Lock, NotAcquired


class ToldLock(Lock):
    """The unmodified lock, which tells Picklock when its thread has renewed the lease."""

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
    serve(PythonRedisLock, name, version(name), options=["auto_renewal"])
