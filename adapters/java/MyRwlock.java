// Picklock adapter for your read/write lock. The example keeps its holders in a sorted set on the first node, by the ends
// of their leases on the server's clock. A writer that waits keeps new readers out.

import java.util.List;
import java.util.Map;
import java.util.UUID;

public final class MyRwlock implements PicklockAdapter.ReadWriteLock {
    private static final String TAKE = """
            local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000)
            redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
            redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
            if string.sub(ARGV[1], 1, 1) == 'w' then
              if redis.call('ZCARD', KEYS[1]) > 0 then
                redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[1])
                redis.call('PEXPIRE', KEYS[2], ARGV[2] * 2)
                return 0
              end
              redis.call('ZREM', KEYS[2], ARGV[1])
            else
              if redis.call('ZCARD', KEYS[2]) > 0 then return 0 end
              for _, holder in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
                if string.sub(holder, 1, 1) == 'w' then return 0 end
              end
            end
            redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
            if redis.call('PTTL', KEYS[1]) < ARGV[2] * 2 then redis.call('PEXPIRE', KEYS[1], ARGV[2] * 2) end
            return 1""";

    private final RespClient redis;

    MyRwlock(List<String> nodes, int timeoutMs, Map<String, String> options) {
        this.redis = new RespClient(nodes.get(0), timeoutMs);
    }

    // For a writer.
    @Override
    public PicklockAdapter.Grant acquire(String key, long ttlMs, long waitMs) throws Exception {
        return take("w", key, ttlMs, waitMs);
    }

    // For a reader.
    @Override
    public PicklockAdapter.Grant acquireShared(String key, long ttlMs, long waitMs) throws Exception {
        return take("r", key, ttlMs, waitMs);
    }

    private PicklockAdapter.Grant take(String mode, String key, long ttlMs, long waitMs) throws Exception {
        String token = mode + ":" + UUID.randomUUID();
        return PicklockAdapter.tryFor(waitMs, () -> {
            Object reply = redis.command("EVAL", TAKE, 2, key, key + ":waiting", token, ttlMs);
            return Long.valueOf(1).equals(reply) ? new PicklockAdapter.Grant(token) : null;
        });
    }

    @Override
    public Boolean release(String key, String token) throws Exception {
        return Long.valueOf(1).equals(redis.command("ZREM", key, token));
    }

    public static void main(String[] arguments) throws Exception {
        PicklockAdapter.serve(MyRwlock::new, PicklockAdapter.Clients.THREADS, "my-rwlock", "0.1.0");
    }
}
