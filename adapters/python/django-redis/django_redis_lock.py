#!/usr/bin/env python3
"""Picklock adapter for `cache.lock` of django-redis, on the first node: redis-py's lock, with its defaults.

Option: `thread_local=false` lets another thread release the lock; the library's default is true.
"""

from django.conf import settings
from django.core.cache import cache
from importlib.metadata import version

from picklock_adapter import ExtendableLockObjects, seconds, serve, switch
from redis.exceptions import LockError, LockNotOwnedError, ResponseError


class DjangoRedisLock(ExtendableLockObjects):
    not_held, refused = LockNotOwnedError, (ResponseError, LockError)

    def __init__(self, nodes, timeout_ms, options):
        limits = dict.fromkeys(("SOCKET_TIMEOUT", "SOCKET_CONNECT_TIMEOUT"), timeout_ms / 1000)
        backend = {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": nodes[0], "OPTIONS": limits}
        settings.configure(CACHES={"default": backend})
        self.thread_local = switch(options, "thread_local", True)

    def make(self, key, ttl_ms):
        return cache.lock(key, timeout=seconds(ttl_ms), thread_local=self.thread_local)

    def take(self, lock, wait_ms):
        taken = lock.acquire(blocking=wait_ms > 0, blocking_timeout=wait_ms / 1000)
        return lock.local.token.decode() if taken else None

    def prolong(self, lock, ttl_ms):
        lock.extend(seconds(ttl_ms), replace_ttl=True)


if __name__ == "__main__":
    serve(DjangoRedisLock, "django-redis", version("django-redis"), options=["thread_local"], threads=True)
