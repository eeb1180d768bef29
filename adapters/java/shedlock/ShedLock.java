// Picklock adapter for ShedLock's provider for Spring Data Redis, on the first node.
//
// Options: `safe=true` compares the token before it deletes or extends (its safeUpdate); `at_least_ms` is its
// lockAtLeastFor (0, the library's default); `client` is `lettuce` (the default) or `jedis`.

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;

public final class ShedLock extends PicklockAdapter.LockObjects<SimpleLock>
        implements PicklockAdapter.Extendable {
    private final RedisLockProvider provider;
    private final long atLeastMs;

    ShedLock(List<String> nodes, int timeoutMs, Map<String, String> options) {
        provider = new RedisLockProvider.Builder(SpringRedis.connect(nodes, timeoutMs, options))
                .safeUpdate("true".equals(options.get("safe"))).build();
        atLeastMs = Long.parseLong(options.getOrDefault("at_least_ms", "0"));
    }

    @Override
    protected SimpleLock take(String key, long ttlMs, long waitMs) {
        var wanted = new LockConfiguration(Instant.now(), key, Duration.ofMillis(ttlMs), atLeast(ttlMs));
        return provider.lock(wanted).orElse(null);
    }

    /** The library does not wait. */
    @Override
    public PicklockAdapter.Grant acquire(String key, long ttlMs, long waitMs) throws Exception {
        return PicklockAdapter.tryFor(waitMs, () -> super.acquire(key, ttlMs, waitMs));
    }

    @Override
    public PicklockAdapter.Grant extend(String key, String token, long ttlMs) throws Exception {
        var held = object(token);
        return PicklockAdapter.tryFor(0, () -> held.extend(Duration.ofMillis(ttlMs), atLeast(ttlMs))
                .map(lock -> keep(token, lock)).orElse(null));
    }

    /** The library rejects a minimum that is longer than the lease. */
    private Duration atLeast(long ttlMs) {
        return Duration.ofMillis(Math.min(atLeastMs, ttlMs));
    }

    /** The library returns nothing. */
    @Override
    protected Boolean free(SimpleLock lock) {
        lock.unlock();
        return null;
    }

    public static void main(String[] arguments) throws Exception {
        PicklockAdapter.serve(ShedLock::new, PicklockAdapter.Clients.THREADS, "shedlock",
                PicklockAdapter.versionOf(RedisLockProvider.class), "safe", "at_least_ms", "client");
    }
}
