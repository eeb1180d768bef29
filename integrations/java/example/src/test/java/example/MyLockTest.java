package example;

import io.github.picklock.LockUnderTest;
import io.github.picklock.Scenarios;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.params.SetParams;

/** A first test of a lock. Put your own lock in place of this one. */
@Scenarios(profile = "quick", reference = "set-nx-px")
class MyLockTest implements LockUnderTest {
    private static final String DELETE_IF_MINE =
            "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0";

    JedisPooled redis;

    public void connect(List<String> nodes, int timeoutMs, Map<String, String> options) {
        redis = new JedisPooled(URI.create(nodes.get(0)), timeoutMs);
    }

    public String tryAcquire(String key, long ttlMs) {
        String token = UUID.randomUUID().toString();
        return redis.set(key, token, SetParams.setParams().nx().px(ttlMs)) == null ? null : token;
    }

    public Boolean release(String key, String token) {
        return redis.eval(DELETE_IF_MINE, 1, key, token).equals(1L);
    }
}
