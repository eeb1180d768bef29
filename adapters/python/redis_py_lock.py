#!/usr/bin/env python3
"""Picklock adapter for the lock of redis-py, `redis.lock.Lock`. README.md says what is judged."""

import contextlib
import math
import time

import redis
from picklock_adapter import Definite, Grant, serve
from redis.backoff import ExponentialWithJitterBackoff
from redis.exceptions import LockError, LockNotOwnedError, ResponseError
from redis.lock import Lock
from redis.retry import Retry


class WatchedLock(Lock):
    """The unmodified lock, plus the time at which the command that may have taken it was sent.

    Without that time the adapter could not compute the rest of the lease: `acquire` retries, and
    does not say when the successful attempt began.
    """

    asked_at = None

    def do_acquire(self, token):
        self.asked_at = time.monotonic()
        return super().do_acquire(token)


def seconds(millis):
    """Milliseconds as seconds for redis-py, such that `int(seconds * 1000)` is exact.

    1.001 * 1000 is 1000.9999999999999, but the conversion must not shorten the lease.
    """
    value = millis / 1000
    return value if int(value * 1000) >= millis else math.nextafter(value, math.inf)


@contextlib.contextmanager
def refusals_are_definite():
    """Redis refused the command, or the library did before it sent anything. ConnectionError and
    TimeoutError are neither: the command may have been executed."""
    try:
        yield
    except (ResponseError, LockError) as problem:
        raise Definite(f"{type(problem).__name__}: {problem}") from problem


class RedisPyLock:
    def __init__(self, nodes, timeout_ms, options):
        timeout = timeout_ms / 1000
        backoff = ExponentialWithJitterBackoff(base=0.01, cap=1)
        self.client = redis.Redis.from_url(
            nodes[0],
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=Retry(backoff, int(options.get("retries", 0))),
        )
        self.sleep = int(options.get("sleep_ms", 100)) / 1000
        self.thread_local = {"true": True, "false": False}[options.get("thread_local", "false")]
        self.locks = {}

    @refusals_are_definite()
    def acquire(self, key, ttl_ms, wait_ms):
        lock = WatchedLock(
            self.client,
            key,
            timeout=seconds(ttl_ms),
            sleep=self.sleep,
            blocking=wait_ms > 0,
            blocking_timeout=wait_ms / 1000,
            thread_local=self.thread_local,
        )
        if not lock.acquire():
            return None
        token = lock.local.token.decode()
        self.locks[token] = lock
        return Grant(token, asked_at=lock.asked_at)

    @refusals_are_definite()
    def extend(self, key, token, ttl_ms):
        asked_at = time.monotonic()
        try:
            self.lock(token).extend(seconds(ttl_ms), replace_ttl=True)
        except LockNotOwnedError:
            return None
        return Grant(token, asked_at=asked_at)

    @refusals_are_definite()
    def release(self, key, token):
        ours = True
        try:
            self.lock(token).release()
        except LockNotOwnedError:
            ours = False
        # Not if anything else went wrong: the lock may still be held.
        del self.locks[token]
        return ours

    def lock(self, token):
        if token not in self.locks:
            raise Definite(f"no grant has the token {token!r}")
        return self.locks[token]


if __name__ == "__main__":
    options = ["retries", "sleep_ms", "thread_local"]
    serve(RedisPyLock, name="redis-py", version=redis.__version__, options=options)
