#!/usr/bin/env python3
"""Picklock adapter for the lock of python-redis-lock, `redis_lock.Lock`, with its renewal thread.

The library counts in whole seconds and cuts the rest off: leases and waits alike. Its waiters sleep in
BLPOP, so the adapter lets it wait one second less than it may: otherwise the client's own timeout comes
first. Option: `auto_renewal=false` leaves the renewal thread out.
"""

import time
from importlib.metadata import version

from picklock_adapter import Grant, extended, serve
from redis import Redis
from redis_lock import Lock, NotAcquired


class ToldLock(Lock):
    """The unmodified lock, which tells Picklock when its thread has renewed the lease."""

    def extend(self, expire=None):
        asked_at = time.monotonic()
        super().extend(expire)
        extended(self.id, expire * 1000, asked_at)


class PythonRedisLock:
    def __init__(self, nodes, timeout_ms, options):
        timeout = timeout_ms / 1000
        timeouts = {"socket_timeout": timeout, "socket_connect_timeout": timeout}
        self.client = Redis.from_url(nodes[0], retry=None, **timeouts)
        self.renewal = {"true": True, "false": False}[options.get("auto_renewal", "true")]
        self.locks = {}

    def acquire(self, key, ttl_ms, wait_ms):
        lock = ToldLock(self.client, key, expire=ttl_ms / 1000, auto_renewal=self.renewal)
        wait = int(wait_ms / 1000) - 1
        if not (lock.acquire(timeout=wait) if wait > 0 else lock.acquire(blocking=False)):
            return None
        self.locks[lock.id] = lock
        return Grant(lock.id)

    def release(self, key, token):
        try:
            self.locks[token].release()
        except NotAcquired:
            return False
        return True


if __name__ == "__main__":
    name = "python-redis-lock"
    serve(PythonRedisLock, name, version(name), options=["auto_renewal"])
