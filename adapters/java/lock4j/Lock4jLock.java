// Picklock adapter for lock4j's LockTemplate with its executor for Spring Data Redis, on the first node. It needs no
// Spring context.
//
// The lease is `lock4j.expire` and the wait `acquireTimeout`. A waiter sleeps for 100 ms after each attempt
// (`retryInterval`, the library's default), so its wait ends that much earlier, and an attempt without a wait takes as
// long.
//
// Options: `renew=true` passes -1 as the lease, with which the library renews every third of `lock4j.expire`; `client`
// is `lettuce` (the default) or `jedis`.

import com.baomidou.lock.LockInfo;
import com.baomidou.lock.LockTemplate;
import com.baomidou.lock.executor.RedisTemplateLockExecutor;
import com.baomidou.lock.spring.boot.autoconfigure.Lock4jProperties;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.data.redis.core.StringRedisTemplate;

public final class Lock4jLock extends PicklockAdapter.LockObjects<LockInfo> {
    private final StringRedisTemplate redis;
    private final boolean renews;
    private final Map<Long, LockTemplate> templates = new ConcurrentHashMap<>();

    Lock4jLock(List<String> nodes, int timeoutMs, Map<String, String> options) {
        redis = new StringRedisTemplate(SpringRedis.connect(nodes, timeoutMs, options));
        renews = "true".equals(options.get("renew"));
    }

    @Override
    public PicklockAdapter.Grant acquire(String key, long ttlMs, long waitMs) {
        LockTemplate template = templates.computeIfAbsent(ttlMs, this::template);
        long retryMs = new Lock4jProperties().getRetryInterval();
        LockInfo lock = template.lock(key, renews ? -1 : ttlMs, Math.max(0, waitMs - retryMs));
        return lock == null ? null : keep(lock.getLockValue(), lock);
    }

    @Override
    protected LockInfo take(String key, long ttlMs, long waitMs) {
        throw new UnsupportedOperationException();
    }

    /** Without a lease of its own, a lock has that of the properties. */
    private LockTemplate template(long ttlMs) {
        var properties = new Lock4jProperties();
        properties.setExpire(ttlMs);
        var template = new LockTemplate();
        template.setProperties(properties);
        template.setExecutors(List.of(new RedisTemplateLockExecutor(redis, properties)));
        try {
            template.afterPropertiesSet();
        } catch (Exception problem) {
            throw new IllegalStateException(problem);
        }
        return template;
    }

    @Override
    protected Boolean free(LockInfo lock) {
        return lock.getLockExecutor().releaseLock(lock.getLockKey(), lock.getLockValue(), lock.getLockInstance());
    }

    public static void main(String[] arguments) throws Exception {
        PicklockAdapter.serve(Lock4jLock::new, PicklockAdapter.Clients.THREADS, "lock4j",
                PicklockAdapter.versionOf(LockTemplate.class), "renew", "client");
    }
}
