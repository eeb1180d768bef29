package example;

import io.github.picklock.Scenarios;

/** The same lock, which deletes only its own token. */
@Scenarios({"calm", "gc-pause"})
class MyLockTest extends BrokenLockTest {
    private static final String DELETE_IF_MINE =
            "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0";

    @Override
    public Boolean release(String key, String token) {
        return redis.eval(DELETE_IF_MINE, 1, key, token).equals(1L);
    }
}
