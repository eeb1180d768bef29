"""The lock of python-redis-lock 4.0.1, with its renewal thread. The findings are those of lab/pages/findings.md."""

import picklock
import redis
from redis_lock import Lock, NotAcquired


class PythonRedisLock(picklock.Lock):
    def __init__(self, nodes, timeout_ms, options):
        self.redis = redis.Redis.from_url(nodes[0], socket_timeout=timeout_ms / 1000, retry=None)
        self.held = {}

    def acquire(self, key, ttl_ms, wait_ms):
        lock = Lock(self.redis, key, expire=ttl_ms / 1000, auto_renewal=True)
        # The library counts in whole seconds. Its waiters sleep in BLPOP, which must end before the client's timeout.
        wait = max(0, int(wait_ms / 1000) - 1)
        if not lock.acquire(blocking=wait > 0, timeout=wait or None):
            return None
        self.held[lock.id] = lock
        return lock.id

    def release(self, key, token):
        try:
            self.held.pop(token).release()
        except NotAcquired:
            return False
        return True


test_kept = picklock.scenarios(PythonRedisLock, "calm", "slow-section", "stale-delete")


def test_failover_loses_the_lock(picklock):
    picklock.run(PythonRedisLock, "master-failover", expect={"lease": "violated", "ownership": "held"})
