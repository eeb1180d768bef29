import picklock
from test_my_lock import MyLock


class BrokenLock(MyLock):
    """The same lock, which deletes the key without comparing the token."""

    def release(self, key, token):
        return self.redis.delete(key) == 1


test_broken_lock = picklock.scenarios(BrokenLock, profile="quick", reference="set-nx-px")
