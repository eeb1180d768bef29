package io.github.picklock;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** A lock that is tested. A class of tests that implements it has one dynamic test per scenario; {@link Scenarios}
 * selects them. Each worker process creates one lock with the constructor without parameters, and connects it.
 *
 * A class can also implement an interface of {@link LockContract}: {@link LockContract.Semaphore},
 * {@link LockContract.ReadWriteLock} or {@link LockContract.LeaderElection} for a lock of that kind. */
public interface LockUnderTest extends LockContract.Lock {
    /** Prepares the lock. The nodes are URLs such as redis://HOST:PORT, and `timeoutMs` is the limit for a command. */
    void connect(List<String> nodes, int timeoutMs, Map<String, String> options) throws Exception;

    /** Returns a token, or null if another client has the lock. Not called if `acquire` is overridden. */
    default String tryAcquire(String key, long ttlMs) throws Exception {
        throw new PicklockAdapter.Definite("the lock defines neither tryAcquire nor acquire");
    }

    /** Waits for the lock for at most `waitMs`. Override it if the lock waits by itself. */
    @Override
    default PicklockAdapter.Grant acquire(String key, long ttlMs, long waitMs) throws Exception {
        return PicklockAdapter.tryFor(waitMs, () -> {
            String token = tryAcquire(key, ttlMs);
            return token == null ? null : new PicklockAdapter.Grant(token);
        });
    }

    /** Returns false if the lock was no longer held, and null if the library does not report it. */
    @Override
    Boolean release(String key, String token) throws Exception;

    /** A lock that can be extended. */
    interface Extendable extends LockUnderTest, LockContract.Extendable {
        /** Returns false if the lock was no longer held. */
        boolean tryExtend(String key, String token, long ttlMs) throws Exception;

        @Override
        default PicklockAdapter.Grant extend(String key, String token, long ttlMs) throws Exception {
            long askedAt = System.nanoTime();
            return tryExtend(key, token, ttlMs) ? new PicklockAdapter.Grant(token, null, askedAt) : null;
        }
    }

    /** A lock that the clients of a process may call from several threads. The thread of a client that gives up is
     * interrupted. */
    interface ThreadSafe extends LockUnderTest {}

    /** Returns one test per scenario. JUnit calls it. */
    @TestFactory
    default Stream<DynamicTest> scenarios() {
        return Picklock.of(getClass()).tests();
    }
}
