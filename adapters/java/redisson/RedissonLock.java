// Picklock adapter for Redisson's locks.
//
// Options: `kind` is `lock` (the default), `fair`, `spin`, or, on all given nodes, `multi` or `red`; `watchdog=true`
// passes no lease, so that Redisson's watchdog renews; `retries` is the number of times that Redisson resends a command
// (its default is 3 or 4; here 0).

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.RedissonMultiLock;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public final class RedissonLock extends PicklockAdapter.LockObjects<RLock>
        implements PicklockAdapter.Reentrant {
    private static final Set<String> SILENT = Set.of("fair", "red");

    private final List<String> nodes;
    private final int timeoutMs;
    private final Map<String, String> options;
    private final String kind;
    private final Map<Long, List<RedissonClient>> clients = new ConcurrentHashMap<>();

    RedissonLock(List<String> nodes, int timeoutMs, Map<String, String> options) {
        this.nodes = nodes;
        this.timeoutMs = timeoutMs;
        this.options = options;
        this.kind = options.getOrDefault("kind", "lock");
    }

    @Override
    protected RLock take(String key, long ttlMs, long waitMs) throws InterruptedException {
        RLock lock = lock(key, ttlMs);
        long leaseMs = "true".equals(options.get("watchdog")) ? -1 : ttlMs;
        return lock.tryLock(waitMs, leaseMs, TimeUnit.MILLISECONDS) ? lock : null;
    }

    @Override
    protected Boolean free(RLock lock) {
        try {
            lock.unlock();
            // These two return normally even if the lock had expired.
            return SILENT.contains(kind) ? null : true;
        } catch (IllegalMonitorStateException over) {
            return false;
        }
    }

    private RLock lock(String key, long ttlMs) {
        // The watchdog's lease is a setting of the client.
        List<RedissonClient> mine = clients.computeIfAbsent(ttlMs,
                lease -> nodes.stream().map(node -> client(node, lease)).toList());
        RLock[] all = mine.stream().map(client -> client.getLock(key)).toArray(RLock[]::new);
        return switch (kind) {
            case "lock" -> all[0];
            case "fair" -> mine.get(0).getFairLock(key);
            case "spin" -> mine.get(0).getSpinLock(key);
            case "multi" -> new RedissonMultiLock(all);
            case "red" -> new RedissonRedLock(all);
            default -> throw new PicklockAdapter.Definite("there is no such kind of lock");
        };
    }

    private RedissonClient client(String node, long ttlMs) {
        Config config = new Config();
        config.setLockWatchdogTimeout(ttlMs);
        config.useSingleServer().setAddress(node).setTimeout(timeoutMs).setConnectTimeout(timeoutMs)
                .setRetryAttempts(Integer.parseInt(options.getOrDefault("retries", "0")))
                .setConnectionMinimumIdleSize(1);
        // Versions before 3.23 have no such setting, and need every node at first.
        try {
            Config.class.getMethod("setLazyInitialization", boolean.class).invoke(config, true);
        } catch (ReflectiveOperationException older) {
            System.err.println("this version has no lazy initialization");
        }
        return Redisson.create(config);
    }

    public static void main(String[] arguments) throws Exception {
        PicklockAdapter.serve(RedissonLock::new, PicklockAdapter.Clients.THREADS, "redisson", PicklockAdapter.versionOf(Redisson.class),
                "kind", "watchdog", "retries");
    }
}
