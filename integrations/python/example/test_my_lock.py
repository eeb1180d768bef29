import picklock
from test_broken_lock import BrokenLock

DELETE_IF_MINE = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0"


class MyLock(BrokenLock):
    """The same lock, which deletes only its own token."""

    def release(self, key, token):
        return self.redis.eval(DELETE_IF_MINE, 1, key, token) == 1


test_my_lock = picklock.scenarios(MyLock, profile="quick", reference="set-nx-px")
