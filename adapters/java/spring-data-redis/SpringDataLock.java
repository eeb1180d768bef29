// Picklock adapter for two common hand-written locks with Spring Data Redis, on the first node: SETNX,
// EXPIRE, and DEL in a `finally`; or, with the option `scripts=true`, two Lua scripts.

import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;

public final class SpringDataLock implements PicklockAdapter.Lock {
    private static final DefaultRedisScript<Long> TAKE = new DefaultRedisScript<>("""
            if redis.call('SETNX', KEYS[1], ARGV[1]) == 0 then return 0 end
            return redis.call('PEXPIRE', KEYS[1], ARGV[2])""", Long.class);
    private static final DefaultRedisScript<Long> FREE = new DefaultRedisScript<>("""
            if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
            return redis.call('DEL', KEYS[1])""", Long.class);

    private final StringRedisTemplate redis;
    private final boolean scripts;

    SpringDataLock(List<String> nodes, int timeoutMs, Map<String, String> options) {
        redis = new StringRedisTemplate(SpringRedis.connect(nodes, timeoutMs, options));
        scripts = "true".equals(options.get("scripts"));
    }

    @Override
    public PicklockAdapter.Grant acquire(String key, long ttlMs, long waitMs) throws Exception {
        String token = UUID.randomUUID().toString();
        return PicklockAdapter.tryFor(waitMs, () -> take(key, token, ttlMs) ? new PicklockAdapter.Grant(token) : null);
    }

    private boolean take(String key, String token, long ttlMs) {
        if (scripts) {
            return redis.execute(TAKE, List.of(key), token, Long.toString(ttlMs)) == 1;
        }
        if (!redis.opsForValue().setIfAbsent(key, token)) {
            return false;
        }
        redis.expire(key, ttlMs, TimeUnit.MILLISECONDS);
        return true;
    }

    @Override
    public Boolean release(String key, String token) {
        return scripts ? redis.execute(FREE, List.of(key), token) == 1 : redis.delete(key);
    }

    public static void main(String[] arguments) throws Exception {
        PicklockAdapter.serve(SpringDataLock::new, PicklockAdapter.Clients.THREADS, "spring-data-redis",
                PicklockAdapter.versionOf(StringRedisTemplate.class), "client", "scripts");
    }
}
