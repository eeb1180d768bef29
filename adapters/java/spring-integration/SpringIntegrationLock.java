// Picklock adapter for Spring Integration's RedisLockRegistry, on the first node.
//
// Options: `pubsub=true` waits for a message (PUB_SUB_LOCK); `renew=true` renews in the background (since
// 6.4); `client` is `lettuce` (the default) or `jedis`.

import java.util.ConcurrentModificationException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.scheduling.TaskScheduler;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

public final class SpringIntegrationLock extends PicklockAdapter.LockObjects<Lock>
        implements PicklockAdapter.Reentrant {
    private final List<String> nodes;
    private final int timeoutMs;
    private final Map<String, String> options;
    private final Map<Long, RedisLockRegistry> registries = new HashMap<>();

    SpringIntegrationLock(List<String> nodes, int timeoutMs, Map<String, String> options) {
        this.nodes = nodes;
        this.timeoutMs = timeoutMs;
        this.options = options;
    }

    @Override
    protected Lock take(String key, long ttlMs, long waitMs) throws Exception {
        Lock lock = of(ttlMs).obtain(key);
        return lock.tryLock(waitMs, TimeUnit.MILLISECONDS) ? lock : null;
    }

    @Override
    protected Boolean free(Lock lock) {
        try {
            lock.unlock();
            return true;
        } catch (IllegalStateException | ConcurrentModificationException over) {
            return false;
        }
    }

    /** The lease is a setting of the registry. */
    private synchronized RedisLockRegistry of(long ttlMs) throws Exception {
        if (!registries.containsKey(ttlMs)) {
            registries.put(ttlMs, registry(ttlMs));
        }
        return registries.get(ttlMs);
    }

    private RedisLockRegistry registry(long ttlMs) throws Exception {
        var made = new RedisLockRegistry(SpringRedis.connect(nodes, timeoutMs, options), "lock", ttlMs);
        if ("true".equals(options.get("pubsub"))) {
            made.setRedisLockType(RedisLockRegistry.RedisLockType.PUB_SUB_LOCK);
        }
        if ("true".equals(options.get("renew"))) {
            var scheduler = new ThreadPoolTaskScheduler();
            scheduler.setDaemon(true);
            scheduler.initialize();
            // Older versions do not have it.
            RedisLockRegistry.class.getMethod("setRenewalTaskScheduler", TaskScheduler.class)
                    .invoke(made, scheduler);
        }
        return made;
    }

    public static void main(String[] arguments) throws Exception {
        PicklockAdapter.serve(SpringIntegrationLock::new, PicklockAdapter.Clients.THREADS, "spring-integration",
                PicklockAdapter.versionOf(RedisLockRegistry.class), "pubsub", "renew", "client");
    }
}
