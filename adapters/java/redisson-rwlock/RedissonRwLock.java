// Picklock adapter for Redisson's RReadWriteLock, on the first node.
//
// Options: `watchdog=true` passes no lease, so that Redisson's watchdog renews; `retries` is the number of times that
// Redisson resends a command (its default is 3 or 4; here 0).

import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

public final class RedissonRwLock extends PicklockAdapter.LockObjects<RLock> implements PicklockAdapter.ReadWriteLock {
    private final List<String> nodes;
    private final int timeoutMs;
    private final Map<String, String> options;
    private final Map<Long, RedissonClient> clients = new ConcurrentHashMap<>();

    RedissonRwLock(List<String> nodes, int timeoutMs, Map<String, String> options) {
        this.nodes = nodes;
        this.timeoutMs = timeoutMs;
        this.options = options;
    }

    @Override
    protected RLock take(String key, long ttlMs, long waitMs) throws InterruptedException {
        return taken(client(ttlMs).getReadWriteLock(key).writeLock(), ttlMs, waitMs);
    }

    @Override
    public PicklockAdapter.Grant acquireShared(String key, long ttlMs, long waitMs) throws InterruptedException {
        RLock lock = taken(client(ttlMs).getReadWriteLock(key).readLock(), ttlMs, waitMs);
        return lock == null ? null : keep(UUID.randomUUID().toString(), lock);
    }

    private RLock taken(RLock lock, long ttlMs, long waitMs) throws InterruptedException {
        long leaseMs = isRenewing() ? -1 : ttlMs;
        return lock.tryLock(waitMs, leaseMs, TimeUnit.MILLISECONDS) ? lock : null;
    }

    @Override
    protected Boolean free(RLock lock) {
        try {
            lock.unlock();
            return true;
        } catch (IllegalMonitorStateException over) {
            return false;
        }
    }

    /** The watchdog's lease is a setting of the client, so each lease then needs a client. */
    private RedissonClient client(long ttlMs) {
        return clients.computeIfAbsent(isRenewing() ? ttlMs : 30_000,
                watchdogMs -> RedissonClients.connect(nodes.get(0), timeoutMs, watchdogMs, options));
    }

    private boolean isRenewing() {
        return "true".equals(options.get("watchdog"));
    }

    public static void main(String[] arguments) throws Exception {
        PicklockAdapter.serve(RedissonRwLock::new, PicklockAdapter.Clients.THREADS, "redisson-rwlock",
                PicklockAdapter.versionOf(Redisson.class), "watchdog", "retries");
    }
}
