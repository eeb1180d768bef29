#!/usr/bin/env python3
"""Picklock adapter for the lock of celery-redbeat, by which one celery beat of many runs, on the first node.

The scheduler takes it when beat starts, extends it in each tick, and releases it when beat stops. The lease is five
times `max_interval`, the library's ratio, and rounded up to whole seconds, in which the scheduler extends. Beat waits
without a limit, so the adapter's client adds redis-py's `blocking_timeout`. Commands are sent once, unless
`retries=default`.
"""

import math
import threading
from importlib.metadata import version
from types import SimpleNamespace

from celery import Celery
from picklock_adapter import Grant, LockObjects, serve, timed, timeouts
from redbeat.schedulers import RedBeatScheduler, acquire_distributed_beat_lock
from redis import Redis
from redis.exceptions import LockNotOwnedError
from redis.lock import Lock

TimedLock = timed(Lock, "do_acquire")


class BoundedClient(Redis):
    """A client whose locks wait no longer than `wait.s`, of each thread."""

    wait = threading.local()

    def lock(self, name, **settings):
        limit = {"blocking": self.wait.s > 0, "blocking_timeout": self.wait.s}
        return super().lock(name, lock_class=TimedLock, **limit, **settings)


class RedbeatLock(LockObjects):
    def __init__(self, nodes, timeout_ms, options):
        once = {} if options.get("retries") == "default" else {"retry": None}
        self.app = Celery(broker="memory://")
        self.app.redbeat_redis = BoundedClient.from_url(nodes[0], decode_responses=True, **once, **timeouts(timeout_ms))

    def make(self, key, ttl_ms):
        lease = math.ceil(ttl_ms / 1000)
        return RedBeatScheduler(self.app, lock_key=key, lock_timeout=lease, max_interval=lease / 5, lazy=True)

    def take(self, scheduler, wait_ms):
        BoundedClient.wait.s = wait_ms / 1000
        acquire_distributed_beat_lock(sender=SimpleNamespace(scheduler=scheduler))
        scheduler.asked_at = scheduler.lock.asked_at
        token = scheduler.lock.local.token
        return token and token.decode()

    def extend(self, key, token, ttl_ms):
        scheduler = self._lock(token)
        try:
            scheduler.tick()
        except LockNotOwnedError:
            return None
        return Grant(token)

    # The library reports nothing. Beat also closes its scheduler after an exception.
    def release(self, key, token):
        return self._end(token, self._lock(token).close)

    section_failed = release


if __name__ == "__main__":
    serve(RedbeatLock, "celery-redbeat", version("celery-redbeat"), options=["retries"], threads=True)
