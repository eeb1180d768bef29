// Picklock adapter for your semaphore. The example keeps its permits in a sorted set on the first node: the holders, by
// the ends of their leases on the server's clock.

import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

public final class MySemaphore implements PicklockAdapter.SeveralPermits {
    private static final String TAKE = """
            local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000)
            redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
            if redis.call('ZCARD', KEYS[1]) + ARGV[4] > tonumber(ARGV[3]) then return 0 end
            for permit = 1, ARGV[4] do redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1] .. ':' .. permit) end
            if redis.call('PTTL', KEYS[1]) < ARGV[2] * 2 then redis.call('PEXPIRE', KEYS[1], ARGV[2] * 2) end
            return 1""";

    private final RespClient redis;
    private final Map<String, Integer> permitsOf = new ConcurrentHashMap<>();
    private volatile int capacity;

    MySemaphore(List<String> nodes, int timeoutMs, Map<String, String> options) {
        this.redis = new RespClient(nodes.get(0), timeoutMs);
    }

    @Override
    public void setCapacity(int permits) {
        capacity = permits;
    }

    @Override
    public PicklockAdapter.Grant acquire(String key, long ttlMs, long waitMs) throws Exception {
        return acquirePermits(key, 1, ttlMs, waitMs);
    }

    // Without this method the class implements PicklockAdapter.Semaphore: each acquisition takes one permit.
    @Override
    public PicklockAdapter.Grant acquirePermits(String key, int permits, long ttlMs, long waitMs) throws Exception {
        if (permits < 1 || permits > capacity) {
            throw new PicklockAdapter.Definite(permits + " permits were requested, and there are " + capacity);
        }
        String token = UUID.randomUUID().toString();
        permitsOf.put(token, permits);
        return PicklockAdapter.tryFor(waitMs, () -> {
            Object reply = redis.command("EVAL", TAKE, 1, key, token, ttlMs, capacity, permits);
            return Long.valueOf(1).equals(reply) ? new PicklockAdapter.Grant(token) : null;
        });
    }

    @Override
    public Boolean release(String key, String token) throws Exception {
        int permits = permitsOf.getOrDefault(token, 0);
        Object[] command = new Object[permits + 2];
        command[0] = "ZREM";
        command[1] = key;
        for (int permit = 1; permit <= permits; permit++) {
            command[permit + 1] = token + ":" + permit;
        }
        return Long.valueOf(permits).equals(redis.command(command));
    }

    // If your code releases in a `finally` even after a refusal, add PicklockAdapter.UnheldRelease
    // (scenario permits-finally-unlock):
    // public Boolean releaseUnheld(String key) { return false; }

    public static void main(String[] arguments) throws Exception {
        PicklockAdapter.serve(MySemaphore::new, PicklockAdapter.Clients.THREADS, "my-semaphore", "0.1.0");
    }
}
