import secrets

import picklock
import redis


class BrokenLock(picklock.Lock):
    def __init__(self, nodes, timeout_ms, options):
        self.redis = redis.Redis.from_url(nodes[0], socket_timeout=timeout_ms / 1000, retry=None)

    def try_acquire(self, key, ttl_ms):
        token = secrets.token_hex(20)
        return token if self.redis.set(key, token, nx=True, px=ttl_ms) else None

    def release(self, key, token):
        return self.redis.delete(key) == 1


test_broken_lock = picklock.scenarios(BrokenLock, profile="quick", reference="set-nx-px")
