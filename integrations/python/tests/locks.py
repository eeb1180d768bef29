"""Locks of the tests. Each has one fault."""

import os
import secrets
import threading
import time

import picklock
import redis
import redis.asyncio


class Silent(picklock.Lock):
    """Grants nothing."""

    def try_acquire(self, key, ttl_ms):
        return None

    def release(self, key, token):
        return None


class FailingConstructor(Silent):
    def __init__(self, nodes, timeout_ms, options):
        raise ValueError("no such setting")


class Chatty(Silent):
    """Prints to standard output, which is reserved for the protocol, and takes the lock from its holder."""

    def __init__(self, nodes, timeout_ms, options):
        self.redis = redis.Redis.from_url(nodes[0], socket_timeout=timeout_ms / 1000)

    def try_acquire(self, key, ttl_ms):
        print("a line of the library", flush=True)
        token = secrets.token_hex(8)
        self.redis.set(key, token, px=ttl_ms)
        return token

    def release(self, key, token):
        return self.redis.delete(key) == 1


class ThrowingWhenTaken(Chatty):
    """Raises an exception if the lock is taken, instead of waiting."""

    def try_acquire(self, key, ttl_ms):
        token = secrets.token_hex(8)
        if self.redis.set(key, token, px=ttl_ms, nx=True) is None:
            raise AttributeError("'NoneType' object has no attribute 'decode'")
        return token


class Asynchronous(picklock.AsyncLock):
    """Takes the lock from its holder, with coroutines."""

    def __init__(self, nodes, timeout_ms, options):
        self.redis = redis.asyncio.Redis.from_url(nodes[0], socket_timeout=timeout_ms / 1000)

    async def try_acquire(self, key, ttl_ms):
        token = secrets.token_hex(8)
        await self.redis.set(key, token, px=ttl_ms)
        return token

    async def release(self, key, token):
        return await self.redis.delete(key) == 1


class WrongToken(Silent):
    def try_acquire(self, key, ttl_ms):
        return 42


class LeavesThreads(Silent):
    """Leaves a thread that keeps its process alive, and a process."""

    def __init__(self, nodes, timeout_ms, options):
        threading.Thread(target=time.sleep, args=(600,)).start()
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)


class Counter(picklock.Lock):
    """A semaphore that counts its holders."""

    def __init__(self, nodes, timeout_ms, options):
        self.redis = redis.Redis.from_url(nodes[0], socket_timeout=timeout_ms / 1000)

    def set_capacity(self, permits):
        self.capacity = permits

    def try_acquire(self, key, ttl_ms):
        if self.redis.incr(key) <= self.capacity:
            return secrets.token_hex(8)
        self.redis.decr(key)
        return None

    def release(self, key, token):
        self.redis.decr(key)


class TrustfulLeader(Chatty):
    """A leader election whose leader acts without a look at the key."""

    def try_acquire(self, key, ttl_ms):
        token = secrets.token_hex(8)
        return token if self.redis.set(key, token, nx=True, px=ttl_ms) else None

    def act(self, key, token):
        return True
