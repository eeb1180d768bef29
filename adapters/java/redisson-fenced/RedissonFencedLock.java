// Picklock adapter for Redisson's fenced lock, which returns a token that grows with each grant.

import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public final class RedissonFencedLock extends PicklockAdapter.LockObjects<RedissonFencedLock.Fenced> {
    record Fenced(RFencedLock lock, Long token) {}

    private final RedissonClient client;

    RedissonFencedLock(List<String> nodes, int timeoutMs, Map<String, String> options) {
        Config config = new Config();
        config.setLazyInitialization(true);
        config.useSingleServer().setAddress(nodes.get(0)).setTimeout(timeoutMs).setConnectTimeout(timeoutMs)
                .setRetryAttempts(0).setConnectionMinimumIdleSize(1);
        client = Redisson.create(config);
    }

    @Override
    protected Fenced take(String key, long ttlMs, long waitMs) {
        RFencedLock lock = client.getFencedLock(key);
        Long token = lock.tryLockAndGetToken(waitMs, ttlMs, TimeUnit.MILLISECONDS);
        return token == null ? null : new Fenced(lock, token);
    }

    @Override
    protected Long fence(Fenced fenced) {
        return fenced.token();
    }

    @Override
    protected Boolean free(Fenced fenced) {
        try {
            fenced.lock().unlock();
            return true;
        } catch (IllegalMonitorStateException over) {
            return false;
        }
    }

    public static void main(String[] arguments) throws Exception {
        PicklockAdapter.serve(RedissonFencedLock::new, PicklockAdapter.Clients.THREADS, "redisson-fenced",
                PicklockAdapter.versionOf(Redisson.class));
    }
}
