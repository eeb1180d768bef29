// Picklock adapter for Redisson's semaphores, on the first node.
//
// Options: `kind` is `expirable` (RPermitExpirableSemaphore, the default), or `plain` (RSemaphore, whose permits have no
// lease); `set=always` sets the number of permits before each acquisition, and not only before the first one of a
// process; `retries` is the number of times that Redisson resends a command (its default is 3 or 4; here 0).

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;

public final class RedissonSemaphores {
    private RedissonSemaphores() {}

    abstract static class Permits<T> extends PicklockAdapter.LockObjects<T> implements PicklockAdapter.SeveralPermits {
        final RedissonClient client;
        private final boolean isAlwaysSet;
        private final Map<String, Boolean> isSet = new ConcurrentHashMap<>();
        private int capacity;

        Permits(List<String> nodes, int timeoutMs, Map<String, String> options) {
            client = RedissonClients.connect(nodes.get(0), timeoutMs, 30_000, options);
            isAlwaysSet = "always".equals(options.get("set"));
        }

        /** Calls the library's `trySetPermits`. */
        abstract void setPermits(String key, int permits);

        abstract T take(String key, int permits, long ttlMs, long waitMs) throws Exception;

        @Override
        public void setCapacity(int permits) {
            capacity = permits;
        }

        /** Returns the token of a grant. */
        abstract String token(T held);

        @Override
        public PicklockAdapter.Grant acquire(String key, long ttlMs, long waitMs) throws Exception {
            return acquirePermits(key, 1, ttlMs, waitMs);
        }

        @Override
        public PicklockAdapter.Grant acquirePermits(String key, int permits, long ttlMs, long waitMs) throws Exception {
            if (permits < 1 || permits > capacity) {
                throw new PicklockAdapter.Definite("there are " + capacity + " permits, not " + permits);
            }
            if (isAlwaysSet) {
                setPermits(key, capacity);
            }
            isSet.computeIfAbsent(key, first -> {
                setPermits(first, capacity);
                return true;
            });
            T held = take(key, permits, ttlMs, waitMs);
            return held == null ? null : keep(token(held), held);
        }

        @Override
        protected T take(String key, long ttlMs, long waitMs) throws Exception {
            return take(key, 1, ttlMs, waitMs);
        }
    }

    record Plainly(RSemaphore semaphore, int permits) {}

    static final class Plain extends Permits<Plainly> implements PicklockAdapter.UnheldRelease {
        Plain(List<String> nodes, int timeoutMs, Map<String, String> options) {
            super(nodes, timeoutMs, options);
        }

        @Override
        void setPermits(String key, int permits) {
            client.getSemaphore(key).trySetPermits(permits);
        }

        @Override
        Plainly take(String key, int permits, long ttlMs, long waitMs) throws InterruptedException {
            RSemaphore semaphore = client.getSemaphore(key);
            boolean taken = semaphore.tryAcquire(permits, waitMs, TimeUnit.MILLISECONDS);
            return taken ? new Plainly(semaphore, permits) : null;
        }

        @Override
        String token(Plainly held) {
            return UUID.randomUUID().toString();
        }

        /** The library returns nothing. */
        @Override
        protected Boolean free(Plainly held) {
            held.semaphore().release(held.permits());
            return null;
        }

        @Override
        public Boolean releaseUnheld(String key) {
            client.getSemaphore(key).release();
            return null;
        }
    }

    record Expiring(RPermitExpirableSemaphore semaphore, List<String> ids) {}

    static final class Expirable extends Permits<Expiring> implements PicklockAdapter.Extendable {
        Expirable(List<String> nodes, int timeoutMs, Map<String, String> options) {
            super(nodes, timeoutMs, options);
        }

        @Override
        void setPermits(String key, int permits) {
            client.getPermitExpirableSemaphore(key).trySetPermits(permits);
        }

        @Override
        Expiring take(String key, int permits, long ttlMs, long waitMs) throws Exception {
            RPermitExpirableSemaphore semaphore = client.getPermitExpirableSemaphore(key);
            if (permits > 1) {
                List<String> ids = several(semaphore, permits, ttlMs, waitMs);
                return ids.isEmpty() ? null : new Expiring(semaphore, new ArrayList<>(ids));
            }
            String id = semaphore.tryAcquire(waitMs, ttlMs, TimeUnit.MILLISECONDS);
            return id == null ? null : new Expiring(semaphore, List.of(id));
        }

        /** Versions before 3.23.4 take one permit only. */
        @SuppressWarnings("unchecked")
        private static List<String> several(RPermitExpirableSemaphore semaphore, int permits, long ttlMs, long waitMs)
                throws ReflectiveOperationException {
            Class<?>[] types = {int.class, long.class, long.class, TimeUnit.class};
            var take = RPermitExpirableSemaphore.class.getMethod("tryAcquire", types);
            return (List<String>) take.invoke(semaphore, permits, waitMs, ttlMs, TimeUnit.MILLISECONDS);
        }

        /** The library writes the bytes of the permit's id, and returns them as hexadecimal digits. */
        @Override
        String token(Expiring held) {
            return new String(HexFormat.of().parseHex(held.ids().get(0)), StandardCharsets.UTF_8);
        }

        @Override
        protected Boolean free(Expiring held) throws ReflectiveOperationException {
            if (held.ids().size() == 1) {
                return held.semaphore().tryRelease(held.ids().get(0));
            }
            var release = RPermitExpirableSemaphore.class.getMethod("tryRelease", List.class);
            return (int) release.invoke(held.semaphore(), held.ids()) == held.ids().size();
        }

        @Override
        public PicklockAdapter.Grant extend(String key, String token, long ttlMs) throws Exception {
            Expiring held = object(token);
            return PicklockAdapter.tryFor(0, () -> {
                boolean isExtended = true;
                for (String id : held.ids()) {
                    isExtended &= held.semaphore().updateLeaseTime(id, ttlMs, TimeUnit.MILLISECONDS);
                }
                return isExtended ? new PicklockAdapter.Grant(token) : null;
            });
        }
    }

    private static PicklockAdapter.Lock make(List<String> nodes, int timeoutMs, Map<String, String> options) {
        return switch (options.getOrDefault("kind", "expirable")) {
            case "expirable" -> new Expirable(nodes, timeoutMs, options);
            case "plain" -> new Plain(nodes, timeoutMs, options);
            default -> throw new PicklockAdapter.Definite("there is no such kind of semaphore");
        };
    }

    public static void main(String[] arguments) throws Exception {
        PicklockAdapter.serve(RedissonSemaphores::make, PicklockAdapter.Clients.THREADS, "redisson-semaphore",
                PicklockAdapter.versionOf(Redisson.class), "kind", "set", "retries");
    }
}
