// Picklock adapter for your lock. The example takes a lock on the first node with SET NX PX, and compares the token
// before it deletes or extends the key.

import java.util.List;
import java.util.Map;
import java.util.UUID;

// With Jedis:  new JedisPooled(host, port, DefaultJedisClientConfig.builder()
//     .timeoutMillis(timeoutMs).build()), and set(key, token, setParams().nx().px(ttlMs)) to acquire.

// A lock that renews in the background calls PicklockAdapter.extended(token, ttlMs, askedAt) after each renewal, and
// PicklockAdapter.lost(token) before its lease ends unrenewed. It needs `renews = true` in picklock.toml.

public final class MyLock implements PicklockAdapter.Extendable {
    private static final String IF_MINE =
            "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return ";

    private final RespClient redis;

    MyLock(List<String> nodes, int timeoutMs, Map<String, String> options) {
        this.redis = new RespClient(nodes.get(0), timeoutMs);
    }

    @Override
    public PicklockAdapter.Grant acquire(String key, long ttlMs, long waitMs) throws Exception {
        String token = UUID.randomUUID().toString();
        return PicklockAdapter.tryFor(waitMs, () -> grantIf("OK", token,
                redis.command("SET", key, token, "NX", "PX", ttlMs)));
    }

    @Override
    public PicklockAdapter.Grant extend(String key, String token, long ttlMs) throws Exception {
        String script = IF_MINE + "redis.call('PEXPIRE', KEYS[1], ARGV[2])";
        return PicklockAdapter.tryFor(0, () -> grantIf(1L, token,
                redis.command("EVAL", script, 1, key, token, ttlMs)));
    }

    @Override
    public Boolean release(String key, String token) throws Exception {
        String script = IF_MINE + "redis.call('DEL', KEYS[1])";
        return Long.valueOf(1).equals(redis.command("EVAL", script, 1, key, token));
    }

    private static PicklockAdapter.Grant grantIf(Object success, String token, Object reply) {
        return success.equals(reply) ? new PicklockAdapter.Grant(token) : null;
    }

    public static void main(String[] arguments) throws Exception {
        PicklockAdapter.serve(MyLock::new, PicklockAdapter.Clients.THREADS, "my-lock", "0.1.0");
    }
}
