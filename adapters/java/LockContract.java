// The interfaces that a lock implements for Picklock's adapter protocol, the grants that it returns, and helpers to adapt
// the lock of a library.

import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** Extended by {@link PicklockAdapter}, so all of this is also in that class. */
public abstract class LockContract {
    LockContract() {}

    /** Throw this if the request certainly had no effect: no key was changed. Every other exception is
     * reported as one that may have had an effect. */
    public static final class Definite extends RuntimeException {
        private static final long serialVersionUID = 1;

        public Definite(String message) {
            super(message);
        }
    }

    /** A granted lock.
     *
     * @param token passed back to `release` and `extend`
     * @param fence the fencing token, if the lock supports fencing: it increases with every grant; else null
     * @param askedAt when the command that took the lock was sent, by System.nanoTime(). `tryFor` sets it if the lock
     * does not. If it is null, the answer has no valid_ms, and Picklock bounds the lease by its own clock. */
    public record Grant(String token, Long fence, Long askedAt) {
        public Grant(String token) {
            this(token, null, null);
        }
    }

    /** The lock that you implement. A null grant means that another client has the lock. */
    public interface Lock {
        Grant acquire(String key, long ttlMs, long waitMs) throws Exception;

        /** Returns null if the library does not report whether the lock was still held. */
        Boolean release(String key, String token) throws Exception;

        /** Returns the time for which the lock keeps its key after a release, on purpose. */
        default long minHoldMs() {
            return 0;
        }

        /** Returns the time by which the lock's key can live longer than the lease. */
        default long leaseMarginMs() {
            return 0;
        }
    }

    /** A lock that can be extended. */
    public interface Extendable extends Lock {
        Grant extend(String key, String token, long ttlMs) throws Exception;
    }

    /** A lock that handles an exception that leaves the section. */
    public interface FailingSections extends Lock {
        /** Acts like an application whose section fails, and returns the same as `release`. */
        Boolean sectionFailed(String key, String token) throws Exception;
    }

    /** A lock that can be released although it was refused, as by a `finally` that unlocks in any case. */
    public interface UnheldRelease extends Lock {
        /** Returns the same as `release`. */
        Boolean releaseUnheld(String key) throws Exception;
    }

    /** A semaphore. `acquire` takes one permit, and `release` gives it back. */
    public interface Semaphore extends Lock {
        /** Called before the first acquisition, with the number of permits that may be granted at the same time. */
        void setCapacity(int permits) throws Exception;
    }

    /** A semaphore of which one acquisition can take several permits. */
    public interface SeveralPermits extends Semaphore {
        /** Takes all of these permits or none. The grant covers all of them. */
        Grant acquirePermits(String key, int permits, long ttlMs, long waitMs) throws Exception;
    }

    /** A read/write lock. `acquire` lets a writer in. */
    public interface ReadWriteLock extends Lock {
        /** Lets a reader in. */
        Grant acquireShared(String key, long ttlMs, long waitMs) throws Exception;
    }

    /** A lock whose holder leads, and acts again and again. */
    public interface LeaderElection extends Lock {
        /** Called before each act of the leader. Returns null if the client does not lead any more. */
        Acting act(String key, String token) throws Exception;
    }

    /** The leader may act now.
     *
     * @param epoch a number that increases with every leader. If it is null, the fence of the grant counts */
    public record Acting(Long epoch) {}

    /** Returns the kind of a lock of this class, as the protocol names it. */
    static String kindOf(Class<?> type) {
        if (Semaphore.class.isAssignableFrom(type)) {
            return "semaphore";
        }
        if (ReadWriteLock.class.isAssignableFrom(type)) {
            return "rwlock";
        }
        return LeaderElection.class.isAssignableFrom(type) ? "leader" : "mutex";
    }

    /** A lock that cleans up when the process receives SIGTERM, as the program would in a shutdown hook; the process
     * then ends. The JVM runs the shutdown hooks of a library by itself. */
    public interface Terminating extends Lock {
        void terminate() throws Exception;
    }

    /** A lock that its holder can take again: `acquire` then returns another grant, and each grant has its own
     * `release`. */
    public interface Reentrant extends Lock {}

    /** For a library that returns an object for each grant. A failed section releases it in its `finally`. */
    public abstract static class LockObjects<T> implements FailingSections {
        // Shared by the threads of all clients.
        private final Map<String, T> objects = Collections.synchronizedMap(new HashMap<>());

        /** Returns the object of a new grant, or null if another client has the lock. */
        protected abstract T take(String key, long ttlMs, long waitMs) throws Exception;

        /** Releases the object; returns the same as `release`. */
        protected abstract Boolean free(T object) throws Exception;

        /** Returns the fencing token of the grant, if the lock has them. */
        protected Long fence(T object) {
            return null;
        }

        @Override
        public Grant acquire(String key, long ttlMs, long waitMs) throws Exception {
            T object = take(key, ttlMs, waitMs);
            return object == null ? null : keep(UUID.randomUUID().toString(), object);
        }

        @Override
        public Boolean release(String key, String token) throws Exception {
            Boolean released = free(object(token));
            // Not reached if `free` failed, because the lock may still be held.
            objects.remove(token);
            return released;
        }

        @Override
        public Boolean sectionFailed(String key, String token) throws Exception {
            return release(key, token);
        }

        protected final Grant keep(String token, T object) {
            objects.put(token, object);
            return new Grant(token, fence(object), null);
        }

        protected final T object(String token) {
            if (!objects.containsKey(token)) {
                throw new Definite("no grant has the token " + token);
            }
            return objects.get(token);
        }
    }

    /** Returns the version of a class's library, from the name of its file. */
    public static String versionOf(Class<?> type) {
        String file = type.getProtectionDomain().getCodeSource().getLocation().getPath();
        var version = Pattern.compile("-(\\d.*)\\.jar$").matcher(file);
        return version.find() ? version.group(1) : "";
    }

    /** Creates the lock. The nodes are URLs such as redis://HOST:PORT. */
    public interface MakeLock {
        Lock make(List<String> nodes, int timeoutMs, Map<String, String> options) throws Exception;
    }

    /** Calls `attempt` until it returns a grant or `waitMs` is over; if that is 0, once. For locks that do not wait
     * by themselves. An interrupt ends it between two attempts, when the lock has not been taken. */
    public static Grant tryFor(long waitMs, Callable<Grant> attempt) throws Exception {
        long began = System.nanoTime();
        while (true) {
            long askedAt = System.nanoTime();
            Grant grant = attempt.call();
            if (grant != null) {
                Long known = grant.askedAt();
                return new Grant(grant.token(), grant.fence(), known == null ? askedAt : known);
            }
            long pauseMs = ThreadLocalRandom.current().nextLong(10, 50);
            long spentMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began);
            if (spentMs + pauseMs >= waitMs) {
                return null;
            }
            try {
                Thread.sleep(pauseMs);
            } catch (InterruptedException givenUp) {
                return null;
            }
        }
    }
}
