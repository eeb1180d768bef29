#!/usr/bin/env python3
"""Picklock adapter for redis-semaphore of PyPI, on the first node.

The lease is `stale_client_timeout`: the next client that asks takes the permit from a holder that is older. A request
waits by BLPOP, for at most half of the client's timeout at a time. The option `stale=none` passes no such timeout,
which is the library's default: a permit then has no lease.
"""

import secrets
import time

from picklock_adapter import LockObjects, serve, timeouts
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis_semaphore import NotAvailable, Semaphore, __version_info__


class Permit(Semaphore):
    @property
    def current_time(self):
        # The lease begins at the server's time, which the library asks for before it writes it.
        self.asked_at = time.monotonic()
        return super().current_time

    def release(self):
        # The library returns the number of the permit, or False.
        return super().release() is not False


class RedisSemaphore(LockObjects):
    def __init__(self, nodes, timeout_ms, options):
        self.client = Redis.from_url(nodes[0], retry=Retry(NoBackoff(), 0), **timeouts(timeout_ms))
        self.longest_s = timeout_ms / 2000
        self.has_lease = options.get("stale") != "none"

    def set_capacity(self, permits):
        self.capacity = permits

    def make(self, key, ttl_ms):
        stale = ttl_ms / 1000 if self.has_lease else None
        return Permit(self.client, self.capacity, namespace=key, stale_client_timeout=stale)

    def take(self, permit, wait_ms):
        left_s, permit.blocking = wait_ms / 1000, wait_ms > 0
        while True:
            try:
                permit.acquire(timeout=min(left_s, self.longest_s))
                return secrets.token_hex(20)
            except NotAvailable:
                left_s -= self.longest_s
                if left_s <= 0:
                    return None

    def release_unheld(self, key):
        return self.make(key, 1000).release()


if __name__ == "__main__":
    serve(RedisSemaphore, "redis-semaphore-pypi", ".".join(__version_info__), options=["stale"], threads=True)
