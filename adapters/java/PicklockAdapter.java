// Picklock's adapter protocol, versions 1 and 2, for a lock in Java 17 or later. Needs only the JDK.
//
// `serve` reads requests from standard input and answers them; docs/protocol.md of Picklock describes
// them. Output of your lock or its library to System.out is redirected to standard error, which goes to the worker's
// log.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

public final class PicklockAdapter {
    // Latest supported version; all earlier ones are supported, too.
    private static final long PROTOCOL = 2;

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

    /** A lock that cleans up when the process receives SIGTERM, as the program would in a shutdown hook; the process
     * then ends. The JVM runs the shutdown hooks of a library by itself. */
    public interface Terminating extends Lock {
        void terminate() throws Exception;
    }

    /** A lock that its holder can take again: `acquire` then returns another grant, and each grant has its own
     * `release`. */
    public interface Reentrant extends Lock {}

    /** A semaphore. Each `acquire` takes one permit, and `release` gives it back. */
    public interface Semaphore extends Lock {
        /** Called before the first `acquire`, with the number of permits that may be granted at the same time. */
        void setCapacity(int permits) throws Exception;
    }

    /** A semaphore that can take several permits in one acquisition, all or none of them. */
    public interface SeveralPermits extends Semaphore {
        /** Returns a grant that stands for all these permits. */
        Grant acquirePermits(String key, int permits, long ttlMs, long waitMs) throws Exception;
    }

    /** A read/write lock. Its `acquire` lets a writer in. */
    public interface ReadWriteLock extends Lock {
        /** Lets a reader in. */
        Grant acquireShared(String key, long ttlMs, long waitMs) throws Exception;
    }

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

    /** Number of clients that a process can have. */
    public enum Clients {
        /** One, on the main thread. */
        ONE,
        /** Many. The lock is created once, and each client calls it from its own thread. The thread of a client that
         * gives up is interrupted: a lock that waits by itself may then return null only if it has taken nothing. */
        THREADS,
        /** Many, with virtual threads, which need JDK 21. The tests use JDK 17; this was tested manually with 25. */
        VIRTUAL_THREADS
    }

    // The warm-up lock of a process belongs to no client, so its events are not reported.
    private static volatile boolean isWarmingUp;
    private static volatile String warmUpToken;

    // Standard output is reserved for the protocol.
    private static final PrintStream OUTPUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    static {
        System.setOut(System.err);
    }

    // Client of each grant, by its token, for events of background tasks.
    private static final Map<String, Long> CLIENT_OF = new ConcurrentHashMap<>();

    // Thread of each unanswered `acquire` request, by its number; null if it has not begun.
    private static final Map<Long, Thread> WAITS = new HashMap<>();

    private final MakeLock makeLock;
    private final Clients clients;
    private final Map<String, Object> ready;
    private final Set<String> options;
    private volatile Lock lock;

    // The JVM runs the same hooks when standard input has ended.
    private volatile boolean hasInputEnded;

    private PicklockAdapter(
            MakeLock makeLock, Clients clients, Map<String, Object> ready, Set<String> options) {
        this.makeLock = makeLock;
        this.clients = clients;
        this.ready = ready;
        this.options = options;
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
            if (elapsedMs(began) + pauseMs >= waitMs) {
                return null;
            }
            try {
                Thread.sleep(pauseMs);
            } catch (InterruptedException givenUp) {
                return null;
            }
        }
    }

    /** Reports to Picklock that a lease is lost. For locks that renew in the background. */
    public static void lost(String token) {
        tell(token, message("event", "lost", "token", token));
    }

    /** Reports to Picklock that a background task has renewed a lease for `ttlMs`, counted from `askedAt`. */
    public static void extended(String token, long ttlMs, long askedAt) {
        long validMs = leftMs(ttlMs, askedAt);
        tell(token, message("event", "extended", "token", token, "valid_ms", validMs));
    }

    private static void tell(String token, Map<String, Object> event) {
        if (!isWarmingUp && !token.equals(warmUpToken)) {
            write(CLIENT_OF.get(token), event);
        }
    }

    /** Serves one client. */
    public static void serve(MakeLock makeLock, String name, String version, String... options)
            throws IOException {
        serve(makeLock, Clients.ONE, name, version, options);
    }

    /** Answers requests until standard input ends, then ends the process. `options` are the names that
     * `--impl-option` may have. */
    public static void serve(
            MakeLock makeLock, Clients clients, String name, String version, String... options)
            throws IOException {
        Map<String, Object> ready = message("reply", "ready", "name", name, "version", version);
        PicklockAdapter adapter = new PicklockAdapter(makeLock, clients, ready, Set.of(options));
        ThreadFactory factory = clients == Clients.VIRTUAL_THREADS ? virtualThreads() : Thread::new;
        Map<Long, ExecutorService> threads = new LinkedHashMap<>();
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            long readAt = System.nanoTime();
            if (!(SmallJson.parse(line) instanceof Map<?, ?> request)
                    || !(request.get("id") instanceof Long id)) {
                System.err.println("not a request: " + line);
                continue;
            }
            if ("acquire".equals(request.get("op"))) {
                synchronized (WAITS) {
                    WAITS.put(id, null);
                }
            }
            Runnable reply = () -> adapter.reply(id, request, readAt);
            if ("cancel".equals(request.get("op"))) {
                interrupt((Long) request.get("of"));
            } else if (clients == Clients.ONE || "init".equals(request.get("op"))) {
                reply.run();
            } else {
                // The only client of a process has no number.
                Long client = (Long) request.get("client");
                ExecutorService thread =
                        threads.computeIfAbsent(client, one -> Executors.newSingleThreadExecutor(factory));
                thread.execute(reply);
                if ("end-client".equals(request.get("op"))) {
                    // The thread ends once it has answered.
                    thread.shutdown();
                }
            }
        }
        adapter.hasInputEnded = true;
        // The library's own threads must not keep the process alive.
        System.exit(0);
    }

    /** Interrupts the thread of a request that its client gives up. The thread is not interrupted again. */
    private static void interrupt(long request) {
        synchronized (WAITS) {
            Thread waiting = WAITS.remove(request);
            if (waiting != null) {
                waiting.interrupt();
            }
        }
    }

    private Map<String, Object> acquire(Map<?, ?> request, long readAt) throws Exception {
        Long id = (Long) request.get("id");
        synchronized (WAITS) {
            if (!WAITS.containsKey(id)) {
                return message("reply", "cancelled");
            }
            WAITS.put(id, Thread.currentThread());
        }
        Grant grant = null;
        boolean isGivenUp = false;
        long ttlMs = (Long) request.get("ttl_ms");
        try {
            grant = take(request, ttlMs);
        } finally {
            synchronized (WAITS) {
                isGivenUp = !WAITS.containsKey(id);
                WAITS.remove(id);
                // The interrupt must not end the next wait of this thread.
                Thread.interrupted();
            }
        }
        return grant == null && isGivenUp ? message("reply", "cancelled") : granted(grant, ttlMs, readAt);
    }

    /** Takes the lock or some permits of it, or lets a reader in. */
    private Grant take(Map<?, ?> request, long ttlMs) throws Exception {
        String key = (String) request.get("key");
        long waitMs = (Long) request.get("wait_ms");
        if ("shared".equals(request.get("mode")) && lock instanceof ReadWriteLock readWrite) {
            return readWrite.acquireShared(key, ttlMs, waitMs);
        }
        if (request.get("permits") instanceof Long permits && lock instanceof SeveralPermits several) {
            return several.acquirePermits(key, permits.intValue(), ttlMs, waitMs);
        }
        return lock.acquire(key, ttlMs, waitMs);
    }

    /** Uses reflection, so that this file compiles with a JDK without virtual threads. */
    private static ThreadFactory virtualThreads() {
        try {
            Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
            Class<?> type = Class.forName("java.lang.Thread$Builder");
            return (ThreadFactory) type.getMethod("factory").invoke(builder);
        } catch (ReflectiveOperationException problem) {
            throw new IllegalStateException("virtual threads need JDK 21", problem);
        }
    }

    private void reply(long id, Map<?, ?> request, long readAt) {
        Map<String, Object> reply = answerOrError(request, readAt);
        Long client = (Long) request.get("client");
        if (client != null && reply.get("token") instanceof String token) {
            CLIENT_OF.put(token, client);
        }
        reply.put("id", id);
        write(client, reply);
    }

    private Map<String, Object> answerOrError(Map<?, ?> request, long readAt) {
        try {
            return answer(request, readAt);
        } catch (Definite problem) {
            return message("reply", "error", "message", problem.getMessage(), "definite", true);
        } catch (Throwable problem) {
            problem.printStackTrace();
            return message("reply", "error", "message", problem.toString(), "definite", false);
        }
    }

    private Map<String, Object> answer(Map<?, ?> request, long readAt) throws Exception {
        String op = String.valueOf(request.get("op"));
        switch (op) {
            case "ping":
                return message("reply", "pong");
            case "init":
                return init(request);
            case "join":
                return message("reply", "joined");
            case "end-client":
                return message("reply", "ended");
            case "block":
                Thread.sleep((Long) request.get("for_ms"));
                return message("reply", "blocked");
            case "acquire", "extend", "release", "release-unheld", "section-failed":
                break;
            default:
                throw new Definite("unknown op " + op);
        }
        if (lock == null) {
            throw new Definite("`init` must come first");
        }
        String key = (String) request.get("key");
        String token = (String) request.get("token");
        if (op.startsWith("release") || op.equals("section-failed")) {
            return message("reply", "released", "released", released(op, key, token));
        }
        if (op.equals("acquire")) {
            return acquire(request, readAt);
        }
        long ttlMs = (Long) request.get("ttl_ms");
        if (!(lock instanceof Extendable extendable)) {
            return message("reply", "unsupported");
        }
        return granted(extendable.extend(key, token, ttlMs), ttlMs, readAt);
    }

    private Boolean released(String op, String key, String token) throws Exception {
        if (op.equals("section-failed") && lock instanceof FailingSections failing) {
            return failing.sectionFailed(key, token);
        }
        if (op.equals("release-unheld") && lock instanceof UnheldRelease unheld) {
            return unheld.releaseUnheld(key);
        }
        if (!op.equals("release")) {
            throw new Definite(op + " is not offered");
        }
        return lock.release(key, token);
    }

    private Map<String, Object> init(Map<?, ?> request) throws Exception {
        var versions = request.get("protocols") instanceof List<?> all ? all : List.of(request.get("protocol"));
        if (!versions.contains(1L) && !versions.contains(PROTOCOL)) {
            throw new Definite("only versions up to " + PROTOCOL + " of the protocol are supported");
        }
        Map<String, String> given = new LinkedHashMap<>();
        if (request.get("options") instanceof Map<?, ?> entries) {
            entries.forEach((name, value) -> given.put((String) name, (String) value));
        }
        if (!options.containsAll(given.keySet())) {
            throw new Definite("unknown options in " + given.keySet() + "; there are " + options);
        }
        List<String> nodes = ((List<?>) request.get("nodes")).stream().map(String.class::cast).toList();
        lock = makeLock.make(nodes, ((Long) request.get("timeout_ms")).intValue(), given);
        if (lock instanceof Semaphore semaphore) {
            semaphore.setCapacity(request.get("capacity") instanceof Long permits ? permits.intValue() : 1);
        }
        if (lock instanceof Terminating terminating) {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> cleanUp(terminating)));
        }
        if (request.get("warm_up") instanceof String key && request.get("ttl_ms") instanceof Long ttlMs) {
            warmUp(key, ttlMs);
        }
        ready.put("extends", lock instanceof Extendable);
        if (versions.contains(PROTOCOL)) {
            ready.put("protocol", PROTOCOL);
            for (String offer : List.of("clients", "blocks_thread", "cancels", "ends_clients")) {
                ready.put(offer, clients != Clients.ONE);
            }
            ready.put("fails_sections", lock instanceof FailingSections);
            ready.put("releases_unheld", lock instanceof UnheldRelease);
            ready.put("reentrant", lock instanceof Reentrant);
            ready.put("kinds", List.of(kindOf(lock)));
            ready.put("several_permits", lock instanceof SeveralPermits);
        }
        return ready;
    }

    private static String kindOf(Lock lock) {
        if (lock instanceof Semaphore) {
            return "semaphore";
        }
        return lock instanceof ReadWriteLock ? "rwlock" : "mutex";
    }

    private void cleanUp(Terminating terminating) {
        try {
            if (!hasInputEnded) {
                terminating.terminate();
            }
        } catch (Exception problem) {
            problem.printStackTrace();
        }
    }

    /** Takes and releases a separate lock: the first one of a JVM loads so many classes that a competing client that
     * does it during the run would miss the fault under test. */
    private void warmUp(String key, long ttlMs) {
        isWarmingUp = true;
        try {
            Grant grant = lock.acquire(key, ttlMs, ttlMs);
            if (grant != null) {
                warmUpToken = grant.token();
                lock.release(key, grant.token());
            }
        } catch (Throwable problem) {
            // A defect of the lock shows up in the run.
            System.err.println("warm-up: " + problem);
        }
        isWarmingUp = false;
    }

    private static Map<String, Object> granted(Grant grant, long ttlMs, long readAt) {
        if (grant == null) {
            return message("reply", "refused");
        }
        Map<String, Object> answer = message("reply", "granted", "token", grant.token());
        // Computed before `valid_ms`, so that the time between the two cannot lengthen the lease.
        answer.put("elapsed_ms", elapsedMs(readAt));
        if (grant.fence() != null) {
            answer.put("fence", grant.fence());
        }
        if (grant.askedAt() != null) {
            answer.put("valid_ms", leftMs(ttlMs, grant.askedAt()));
        }
        return answer;
    }

    private static long elapsedMs(long since) {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - since);
    }

    /** Returns whole milliseconds, rounded down. */
    private static long leftMs(long ttlMs, long askedAt) {
        long leftNanos = TimeUnit.MILLISECONDS.toNanos(ttlMs) - (System.nanoTime() - askedAt);
        return Math.max(0, TimeUnit.NANOSECONDS.toMillis(leftNanos));
    }

    private static Map<String, Object> message(Object... pairs) {
        Map<String, Object> message = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            message.put((String) pairs[i], pairs[i + 1]);
        }
        return message;
    }

    /** Writes a message about a client, or about the only client if it is null. */
    private static synchronized void write(Long client, Map<String, Object> message) {
        if (client != null) {
            message.put("client", client);
        }
        OUTPUT.print(SmallJson.write(message) + "\n");
        OUTPUT.flush();
    }
}
