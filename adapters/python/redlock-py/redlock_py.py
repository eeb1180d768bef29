#!/usr/bin/env python3
"""Picklock adapter for redlock-py's `Redlock`: all given nodes.

The library retries a fixed number of times. Here it makes one attempt at a time, and the adapter calls
it until the wait is over. It has no extension, and its releases do not report whether the lock was held.
"""

import time
from importlib.metadata import version

from picklock_adapter import Grant, serve, timeouts, try_for
from redis import Redis
from redlock import Redlock


class RedlockPy:
    def __init__(self, nodes, timeout_ms, options):
        servers = [Redis.from_url(node, retry=None, **timeouts(timeout_ms)) for node in nodes]
        self.manager = Redlock(servers, retry_count=1, retry_delay=0.001)
        self.locks = {}

    def acquire(self, key, ttl_ms, wait_ms):
        return try_for(wait_ms, lambda: self.attempt(key, ttl_ms))

    def attempt(self, key, ttl_ms):
        lock = self.manager.lock(key, ttl_ms)
        if not lock:
            return None
        self.locks[lock.key.decode()] = lock
        # The library reports how long the lock is valid, from which the time of its request follows.
        return Grant(lock.key.decode(), asked_at=time.monotonic() - (ttl_ms - lock.validity) / 1000)

    def release(self, key, token):
        self.manager.unlock(self.locks[token])


if __name__ == "__main__":
    serve(RedlockPy, "redlock-py", version("redlock-py"), threads=True)
