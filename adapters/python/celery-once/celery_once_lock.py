#!/usr/bin/env python3
"""Picklock adapter for the Redis backend of celery-once, which a task with the base QueueOnce locks when it is queued
and clears when it has run, on the first node.

The library does not wait, so the adapter tries until the wait is over. Its commands go through redis-py's client; the
adapter gives the backend one that sends nothing twice, because a URL cannot turn that off. Option: `retries=default`.
"""

import uuid
from importlib.metadata import version

from celery_once import AlreadyQueued
from celery_once.backends import redis as backend
from picklock_adapter import Grant, seconds, serve, timeouts, try_for
from redis import Redis


class CeleryOnce:
    def __init__(self, nodes, timeout_ms, options):
        settings = {"url": f"{nodes[0]}?socket_timeout={timeout_ms / 1000}"}
        if options.get("retries") != "default":
            # The backend's one client for all tasks of a process.
            backend.redis = Redis.from_url(nodes[0], retry=None, **timeouts(timeout_ms))
        self.once = backend.Redis(settings)

    def acquire(self, key, ttl_ms, wait_ms):
        return try_for(wait_ms, lambda: self.attempt(key, ttl_ms))

    def attempt(self, key, ttl_ms):
        try:
            self.once.raise_or_lock(key, timeout=seconds(ttl_ms))
        except AlreadyQueued:
            return None
        # The library keeps no token.
        return Grant(str(uuid.uuid4()))

    def release(self, key, token):
        self.once.clear_lock(key)

    # The library clears the lock after a task that failed, too (`after_return`).
    def section_failed(self, key, token):
        self.once.clear_lock(key)


if __name__ == "__main__":
    serve(CeleryOnce, "celery-once", version("celery_once"), options=["retries"], threads=True)
