package example;

import io.github.picklock.Scenarios;

/** The same lock, which deletes the key without comparing the token. */
@Scenarios("gc-pause")
class BrokenLockTest extends MyLockTest {
    @Override
    public Boolean release(String key, String token) {
        return redis.del(key) == 1;
    }
}
