#!/usr/bin/env python3
"""Picklock adapter for pottery's `Redlock`: all given nodes, with the library's own waiting.

Option: `num_extensions`, the maximum number of extensions of a lease. The library's default is 3; here it is unlimited,
because holders in Picklock's scenarios extend for as long as they work.
"""

import sys
from importlib.metadata import version

from picklock_adapter import ExtendableLockObjects, serve, timed, timeouts
from pottery import Redlock
from pottery.exceptions import ExtendUnlockedLock, ReleaseUnlockedLock
from redis import Redis

TimedRedlock = timed(Redlock, "_Redlock__acquire_masters")


class PotteryLock(ExtendableLockObjects):
    not_held = (ExtendUnlockedLock, ReleaseUnlockedLock)

    def __init__(self, nodes, timeout_ms, options):
        masters = {Redis.from_url(node, retry=None, **timeouts(timeout_ms)) for node in nodes}
        extensions = int(options.get("num_extensions", sys.maxsize))
        # Without the last setting a node that does not answer would look like a lock that is taken.
        self.settings = {"masters": masters, "num_extensions": extensions, "raise_on_redis_errors": True}

    def make(self, key, ttl_ms):
        return TimedRedlock(key=key, auto_release_time=ttl_ms / 1000, **self.settings)

    def take(self, lock, wait_ms):
        taken = lock.acquire(timeout=wait_ms / 1000) if wait_ms else lock.acquire(blocking=False)
        return lock._uuid if taken else None

    def prolong(self, lock, ttl_ms):
        lock.auto_release_time = ttl_ms / 1000
        lock.extend()


if __name__ == "__main__":
    serve(PotteryLock, "pottery", version("pottery"), options=["num_extensions"], threads=True)
