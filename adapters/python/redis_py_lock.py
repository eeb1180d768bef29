#!/usr/bin/env python3
"""Picklock adapter for the lock of redis-py, `redis.lock.Lock`. README.md describes what is tested."""

from picklock_adapter import ExtendableLockObjects, seconds, serve, switch, timed, timeouts
from redis import Redis, __version__
from redis.backoff import ExponentialWithJitterBackoff
from redis.exceptions import LockError, LockNotOwnedError, ResponseError
from redis.lock import Lock
from redis.retry import Retry

TimedLock = timed(Lock, "do_acquire")


class RedisPyLock(ExtendableLockObjects):
    # ConnectionError and TimeoutError are in neither list, because the command may have been executed.
    not_held, refused = LockNotOwnedError, (ResponseError, LockError)

    def __init__(self, nodes, timeout_ms, options):
        retry = Retry(ExponentialWithJitterBackoff(base=0.01, cap=1), int(options.get("retries", 0)))
        self.client = Redis.from_url(nodes[0], retry=retry, **timeouts(timeout_ms))
        sleep = int(options.get("sleep_ms", 100)) / 1000
        self.settings = {"sleep": sleep, "thread_local": switch(options, "thread_local", False)}

    def make(self, key, ttl_ms):
        return TimedLock(self.client, key, timeout=seconds(ttl_ms), **self.settings)

    def take(self, lock, wait_ms):
        taken = lock.acquire(blocking=wait_ms > 0, blocking_timeout=wait_ms / 1000)
        return lock.local.token.decode() if taken else None

    def prolong(self, lock, ttl_ms):
        lock.extend(seconds(ttl_ms), replace_ttl=True)


if __name__ == "__main__":
    serve(RedisPyLock, "redis-py", __version__, options=["retries", "sleep_ms", "thread_local"])
