package example;

import io.github.picklock.LockUnderTest;
import io.github.picklock.Scenarios;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.params.SetParams;

@Scenarios("gc-pause")
class BrokenLockTest implements LockUnderTest {
    JedisPooled redis;

    public void connect(List<String> nodes, int timeoutMs, Map<String, String> options) {
        redis = new JedisPooled(URI.create(nodes.get(0)), timeoutMs);
    }

    public String tryAcquire(String key, long ttlMs) {
        String token = UUID.randomUUID().toString();
        return redis.set(key, token, SetParams.setParams().nx().px(ttlMs)) == null ? null : token;
    }

    public Boolean release(String key, String token) {
        return redis.del(key) == 1;
    }
}
