#!/usr/bin/env python3
"""Picklock adapter for pottery's `Redlock`: all nodes that are given, the library's own waiting.

Options: `num_extensions`, how often a lease can be extended. The library's default is 3; here it is
without limit, because holders in Picklock's scenarios extend for as long as they work.
"""

import sys
import time
from importlib.metadata import version

from picklock_adapter import Grant, serve
from pottery import Redlock
from pottery.exceptions import ExtendUnlockedLock, ReleaseUnlockedLock
from redis import Redis


class TimedRedlock(Redlock):
    """The unmodified lock, and when its last attempt began: its callers are not told."""

    def _Redlock__acquire_masters(self, **arguments):
        self.asked_at = time.monotonic()
        return self._acquire_masters(**arguments)


class PotteryLock:
    def __init__(self, nodes, timeout_ms, options):
        self.extensions = int(options.get("num_extensions", sys.maxsize))
        timeout = timeout_ms / 1000
        # Both of them: without its own, connecting to a node out of reach takes five seconds.
        timeouts = {"socket_timeout": timeout, "socket_connect_timeout": timeout}
        self.masters = {Redis.from_url(node, retry=None, **timeouts) for node in nodes}
        self.locks = {}

    def acquire(self, key, ttl_ms, wait_ms):
        lock = TimedRedlock(
            key=key,
            masters=self.masters,
            auto_release_time=ttl_ms / 1000,
            num_extensions=self.extensions,
            # Without this a node that does not answer would look like a lock that somebody has.
            raise_on_redis_errors=True,
        )
        taken = lock.acquire(timeout=wait_ms / 1000) if wait_ms else lock.acquire(blocking=False)
        if not taken:
            return None
        self.locks[lock._uuid] = lock
        return Grant(lock._uuid, asked_at=lock.asked_at)

    def extend(self, key, token, ttl_ms):
        lock = self.locks[token]
        lock.auto_release_time = ttl_ms / 1000
        asked_at = time.monotonic()
        try:
            lock.extend()
        except ExtendUnlockedLock:
            return None
        return Grant(token, asked_at=asked_at)

    def release(self, key, token):
        try:
            self.locks[token].release()
        except ReleaseUnlockedLock:
            return False
        return True


if __name__ == "__main__":
    serve(PotteryLock, "pottery", version("pottery"), options=["num_extensions"])
