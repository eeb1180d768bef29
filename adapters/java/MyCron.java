// Picklock adapter for your lock around a scheduled job. The example takes a lock on the first node with SET NX PX. Its
// release keeps the key for a minimum time, so that an instance whose clock is late does not run the job again.

import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

public final class MyCron implements PicklockAdapter.Lock {
    // The minimum time from the request to the end of the key, longer than clocks and timers can differ.
    private static final long MIN_HOLD_MS = 600;
    private static final String IF_MINE =
            "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return ";

    private final RespClient redis;
    // Time of each request, by the token of its grant.
    private final Map<String, Long> requestedAt = new ConcurrentHashMap<>();

    MyCron(List<String> nodes, int timeoutMs, Map<String, String> options) {
        this.redis = new RespClient(nodes.get(0), timeoutMs);
    }

    @Override
    public long minHoldMs() {
        return MIN_HOLD_MS;
    }

    @Override
    public PicklockAdapter.Grant acquire(String key, long ttlMs, long waitMs) throws Exception {
        String token = UUID.randomUUID().toString();
        requestedAt.put(token, System.nanoTime());
        return PicklockAdapter.tryFor(waitMs, () -> {
            Object reply = redis.command("SET", key, token, "NX", "PX", ttlMs);
            return "OK".equals(reply) ? new PicklockAdapter.Grant(token) : null;
        });
    }

    @Override
    public Boolean release(String key, String token) throws Exception {
        long leftMs = MIN_HOLD_MS - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - requestedAt.get(token));
        String end = leftMs > 0 ? "redis.call('PEXPIRE', KEYS[1], ARGV[2])" : "redis.call('DEL', KEYS[1])";
        return Long.valueOf(1).equals(redis.command("EVAL", IF_MINE + end, 1, key, token, leftMs));
    }

    public static void main(String[] arguments) throws Exception {
        PicklockAdapter.serve(MyCron::new, PicklockAdapter.Clients.THREADS, "my-cron", "0.1.0");
    }
}
