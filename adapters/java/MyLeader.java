// Picklock adapter for your leader election. The example takes a key on the first node with SET NX PX, counts the epochs
// next to it, renews the key in a thread, and checks whose key it is before each act.

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

public final class MyLeader implements PicklockAdapter.LeaderElection {
    private static final String LEAD = """
            if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
            return redis.call('INCR', KEYS[2])""";
    private static final String IF_MINE =
            "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return ";

    private final RespClient redis;
    private final Map<String, Term> terms = new ConcurrentHashMap<>();

    /** The term of a leader, which has resigned once the latch is open. */
    private record Term(long epoch, CountDownLatch resigned) {}

    MyLeader(List<String> nodes, int timeoutMs, Map<String, String> options) {
        this.redis = new RespClient(nodes.get(0), timeoutMs);
    }

    @Override
    public PicklockAdapter.Grant acquire(String key, long ttlMs, long waitMs) throws Exception {
        String token = UUID.randomUUID().toString();
        PicklockAdapter.Grant grant = PicklockAdapter.tryFor(waitMs, () -> {
            Long epoch = (Long) redis.command("EVAL", LEAD, 2, key, key + ":epoch", token, ttlMs);
            return epoch == 0 ? null : new PicklockAdapter.Grant(token, epoch, null);
        });
        if (grant != null) {
            var term = new Term(grant.fence(), new CountDownLatch(1));
            terms.put(token, term);
            Thread renewal = new Thread(() -> renew(term, key, token, ttlMs, grant.askedAt()));
            renewal.setDaemon(true);
            renewal.start();
        }
        return grant;
    }

    // Returns the epoch if the client may act now, or null if it does not lead any more.
    @Override
    public PicklockAdapter.Acting act(String key, String token) throws Exception {
        return token.equals(redis.command("GET", key)) ? new PicklockAdapter.Acting(terms.get(token).epoch()) : null;
    }

    @Override
    public Boolean release(String key, String token) throws Exception {
        terms.get(token).resigned().countDown();
        String script = IF_MINE + "redis.call('DEL', KEYS[1])";
        return Long.valueOf(1).equals(redis.command("EVAL", script, 1, key, token));
    }

    private void renew(Term term, String key, String token, long ttlMs, long grantedAt) {
        String script = IF_MINE + "redis.call('PEXPIRE', KEYS[1], ARGV[2])";
        long renewedAt = grantedAt;
        long pauseMs = ttlMs / 3;
        try {
            while (!term.resigned().await(pauseMs, TimeUnit.MILLISECONDS)) {
                long askedAt = System.nanoTime();
                boolean isMine;
                try {
                    isMine = Long.valueOf(1).equals(redis.command("EVAL", script, 1, key, token, ttlMs));
                    pauseMs = ttlMs / 3;
                    if (isMine && term.resigned().getCount() > 0) {
                        renewedAt = askedAt;
                        PicklockAdapter.extended(token, ttlMs, askedAt);
                    }
                } catch (IOException | PicklockAdapter.Definite problem) {
                    // The next attempt may still come in time.
                    long sinceMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - renewedAt);
                    isMine = sinceMs < ttlMs * 4 / 5;
                    pauseMs = ttlMs / 20;
                }
                if (!isMine) {
                    if (term.resigned().getCount() > 0) {
                        PicklockAdapter.lost(token);
                    }
                    return;
                }
            }
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }

    public static void main(String[] arguments) throws Exception {
        PicklockAdapter.serve(MyLeader::new, PicklockAdapter.Clients.THREADS, "my-leader", "0.1.0");
    }
}
