"""The classes that a lock under test derives from."""

import random
import time

from ._adapter import Grant, try_for


class Lock:
    """A lock under test. Each worker process creates one.

    Define try_acquire(key, ttl_ms), which returns a token or None, or acquire(key, ttl_ms, wait_ms) if the lock waits
    itself. Define release(key, token), which returns True, False if the lock was no longer held, or None if the library
    does not report it. Define extend(key, token, ttl_ms), which returns True or False, if the lock can be extended.

    A semaphore defines set_capacity(permits), which is called before the first acquisition with the number of permits that
    it may grant at the same time, and, if one acquisition can take several, acquire_permits(key, permits, ttl_ms, wait_ms).
    A read/write lock defines acquire_shared(key, ttl_ms, wait_ms), which lets a reader in. A leader election defines
    act(key, token), which is called before each act of the leader: it returns the epoch, True if there are no epochs, or
    None if the client does not lead any more.

    A method can return a `Grant` in place of a token, and raise `Definite` if it certainly changed nothing.
    """

    # True if the clients of a process may call one lock from several threads.
    threads = False

    def __init__(self, nodes, timeout_ms, options):
        """`nodes` are URLs such as redis://HOST:PORT, and `timeout_ms` is the limit for a command."""
        self.nodes = nodes
        self.timeout_ms = timeout_ms
        self.options = options

    def acquire(self, key, ttl_ms, wait_ms):
        return try_for(wait_ms, lambda: as_grant(self.try_acquire(key, ttl_ms)))


class AsyncLock(Lock):
    """A lock whose methods are coroutines. All clients of a process share it on one event loop, and a client that gives
    up cancels its task."""

    async def acquire(self, key, ttl_ms, wait_ms):
        import asyncio

        until = time.monotonic() + wait_ms / 1000
        while True:
            asked_at = time.monotonic()
            grant = as_grant(await self.try_acquire(key, ttl_ms))
            if grant:
                grant.asked_at = grant.asked_at or asked_at
                return grant
            pause = random.uniform(0.010, 0.050)
            if time.monotonic() + pause >= until:
                return None
            await asyncio.sleep(pause)


def as_grant(result):
    """Returns the grant for a token. Anything false is a refusal."""
    if not result or isinstance(result, Grant):
        return result or None
    if not isinstance(result, str):
        raise TypeError(f"a lock returns its token as text, or a picklock.Grant; got {result!r}")
    return Grant(result)


def adapted(lock_class):
    """Returns a subclass whose methods return grants, as the adapter requires."""
    # Only a worker needs it, and every run of pytest loads this module.
    import asyncio

    def granted(result, token, asked_at):
        if result is True:
            return Grant(token, asked_at=asked_at)
        return as_grant(result)

    def acquiring(name):
        function = getattr(lock_class, name)

        def acquire(self, *arguments):
            return as_grant(function(self, *arguments))

        async def acquire_async(self, *arguments):
            return as_grant(await function(self, *arguments))

        return acquire_async if asyncio.iscoroutinefunction(function) else acquire

    def extend(self, key, token, ttl_ms):
        asked_at = time.monotonic()
        return granted(lock_class.extend(self, key, token, ttl_ms), token, asked_at)

    async def extend_async(self, key, token, ttl_ms):
        asked_at = time.monotonic()
        return granted(await lock_class.extend(self, key, token, ttl_ms), token, asked_at)

    names = ("acquire", "acquire_permits", "acquire_shared")
    methods = {name: acquiring(name) for name in names if hasattr(lock_class, name)}
    if hasattr(lock_class, "extend"):
        methods["extend"] = extend_async if asyncio.iscoroutinefunction(lock_class.extend) else extend
    return type(lock_class.__name__, (lock_class,), methods)
