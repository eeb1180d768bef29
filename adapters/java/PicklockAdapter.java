// Picklock's adapter protocol, versions 1 and 2, for a lock in Java 17 or later. Only the JDK.
//
// `serve` reads requests from standard input and answers them; docs/protocol.md of Picklock describes
// them. What your lock or its library prints to System.out goes to standard error, into the worker's
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
    // The latest version that is spoken, and all before it.
    private static final long PROTOCOL = 2;

    /** Throw it if certainly nothing has happened: no key was changed. Every other exception is
     * reported as one that may have had an effect. */
    public static final class Definite extends RuntimeException {
        private static final long serialVersionUID = 1;

        public Definite(String message) {
            super(message);
        }
    }

    /** A granted lock.
     *
     * @param token what `release` and `extend` get back
     * @param fence the fencing token, if the lock has them: larger with every grant; else null
     * @param askedAt when the command that took the lock was sent, by System.nanoTime(). `tryFor`
     *     sets it if the lock does not. With null Picklock is not told how long the lease is valid, and
     *     bounds it by its own clock. */
    public record Grant(String token, Long fence, Long askedAt) {
        public Grant(String token) {
            this(token, null, null);
        }
    }

    /** What you implement. A null grant means that another client has the lock. */
    public interface Lock {
        Grant acquire(String key, long ttlMs, long waitMs) throws Exception;

        /** Null if the library does not say whether the lock was still held. */
        Boolean release(String key, String token) throws Exception;
    }

    /** A lock that can also be held for longer. */
    public interface Extendable extends Lock {
        Grant extend(String key, String token, long ttlMs) throws Exception;
    }

    /** A lock that says what becomes of it when an exception leaves the section. */
    public interface FailingSections extends Lock {
        /** Does what an application does then, and returns what `release` does. */
        Boolean sectionFailed(String key, String token) throws Exception;
    }

    /** A lock that can be released although it was refused, as a `finally` does that unlocks in any case. */
    public interface UnheldRelease extends Lock {
        /** As `release`. */
        Boolean releaseUnheld(String key) throws Exception;
    }

    /** A lock that its holder can take again: `acquire` gives another grant then, and each has its `release`. */
    public interface Reentrant extends Lock {}

    /** For a library that gives an object for each grant. The `finally` of a section that fails releases it. */
    public abstract static class LockObjects<T> implements FailingSections {
        // Clients in threads share it.
        private final Map<String, T> objects = Collections.synchronizedMap(new HashMap<>());

        /** The object of a new grant, or null if another client has the lock. */
        protected abstract T take(String key, long ttlMs, long waitMs) throws Exception;

        /** Gives it back; as `release`. */
        protected abstract Boolean free(T object) throws Exception;

        /** The fencing token that came with it, if the lock has them. */
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
            // Not if that went wrong: the lock may still be held.
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

    /** The version of the library that a class comes from, by the name of its file. */
    public static String versionOf(Class<?> type) {
        String file = type.getProtectionDomain().getCodeSource().getLocation().getPath();
        var version = Pattern.compile("-(\\d.*)\\.jar$").matcher(file);
        return version.find() ? version.group(1) : "";
    }

    /** Makes the lock. The nodes are URLs as redis://HOST:PORT. */
    public interface MakeLock {
        Lock make(List<String> nodes, int timeoutMs, Map<String, String> options) throws Exception;
    }

    /** How many clients a process can have. */
    public enum Clients {
        /** One, on the main thread. */
        ONE,
        /** Many. The lock is made once, and each client calls it from a thread of its own. Who gives up is
         * interrupted: a lock that waits by itself and returns null then must have taken nothing. */
        THREADS,
        /** The same with virtual threads, which need JDK 21. The tests have JDK 17; by hand it was tried with 25. */
        VIRTUAL_THREADS
    }

    // Nobody was granted the lock with which a process warms up, so nothing is told of it.
    private static volatile boolean isWarmingUp;
    private static volatile String warmUpToken;

    // Standard output is for the protocol alone.
    private static final PrintStream OUTPUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    static {
        System.setOut(System.err);
    }

    // Whose grant each token is, for events of background tasks.
    private static final Map<String, Long> CLIENT_OF = new ConcurrentHashMap<>();

    // The threads of `acquire` requests without an answer, by their number; null: it has not begun.
    private static final Map<Long, Thread> WAITS = new HashMap<>();

    private final MakeLock makeLock;
    private final Clients clients;
    private final Map<String, Object> ready;
    private final Set<String> options;
    private volatile Lock lock;

    private PicklockAdapter(
            MakeLock makeLock, Clients clients, Map<String, Object> ready, Set<String> options) {
        this.makeLock = makeLock;
        this.clients = clients;
        this.ready = ready;
        this.options = options;
    }

    /** Calls `attempt` until it returns a grant or `waitMs` is over; with 0, once. For locks that do not
     * wait by themselves. An interrupt ends it between two attempts, when nothing has been taken. */
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

    /** Tells Picklock that a lease is gone: for locks that renew in the background. */
    public static void lost(String token) {
        tell(token, message("event", "lost", "token", token));
    }

    /** Tells Picklock that a background task has renewed a lease: for `ttlMs` since `askedAt`. */
    public static void extended(String token, long ttlMs, long askedAt) {
        long validMs = leftMs(ttlMs, askedAt);
        tell(token, message("event", "extended", "token", token, "valid_ms", validMs));
    }

    private static void tell(String token, Map<String, Object> event) {
        if (!isWarmingUp && !token.equals(warmUpToken)) {
            write(CLIENT_OF.get(token), event);
        }
    }

    /** As `serve` for one client. */
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
                // Who is alone in the process has no number.
                Long client = (Long) request.get("client");
                ExecutorService thread =
                        threads.computeIfAbsent(client, one -> Executors.newSingleThreadExecutor(factory));
                thread.execute(reply);
                if ("end-client".equals(request.get("op"))) {
                    // It ends when it has answered.
                    thread.shutdown();
                }
            }
        }
        // A library's own threads must not keep the process alive.
        System.exit(0);
    }

    /** A client gives up its request. Afterwards nothing interrupts its thread any more. */
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
            grant = lock.acquire((String) request.get("key"), ttlMs, (Long) request.get("wait_ms"));
        } finally {
            synchronized (WAITS) {
                isGivenUp = !WAITS.containsKey(id);
                WAITS.remove(id);
                // It must not end the next wait of this thread.
                Thread.interrupted();
            }
        }
        return grant == null && isGivenUp ? message("reply", "cancelled") : granted(grant, ttlMs, readAt);
    }

    /** By reflection, so that this file compiles with a JDK that has none. */
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
        if (request.get("warm_up") instanceof String key && request.get("ttl_ms") instanceof Long ttlMs) {
            warmUp(key, ttlMs);
        }
        if (versions.contains(PROTOCOL)) {
            ready.put("protocol", PROTOCOL);
            for (String offer : List.of("clients", "blocks_thread", "cancels", "ends_clients")) {
                ready.put(offer, clients != Clients.ONE);
            }
            ready.put("fails_sections", lock instanceof FailingSections);
            ready.put("releases_unheld", lock instanceof UnheldRelease);
            ready.put("reentrant", lock instanceof Reentrant);
        }
        return ready;
    }

    /** Takes and frees a lock of its own: the first one of a JVM loads so many classes that a rival which does
     * it during the run comes too late for what is tested. */
    private void warmUp(String key, long ttlMs) {
        isWarmingUp = true;
        try {
            Grant grant = lock.acquire(key, ttlMs, ttlMs);
            if (grant != null) {
                warmUpToken = grant.token();
                lock.release(key, grant.token());
            }
        } catch (Throwable problem) {
            // What is wrong with the lock shows in the run.
            System.err.println("warm-up: " + problem);
        }
        isWarmingUp = false;
    }

    private static Map<String, Object> granted(Grant grant, long ttlMs, long readAt) {
        if (grant == null) {
            return message("reply", "refused");
        }
        Map<String, Object> answer = message("reply", "granted", "token", grant.token());
        // Before `valid_ms`: time that passes between the two must not make the lease longer.
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

    /** Rounded down. */
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

    /** Writes what is about a client; null: the only one. */
    private static synchronized void write(Long client, Map<String, Object> message) {
        if (client != null) {
            message.put("client", client);
        }
        OUTPUT.print(SmallJson.write(message) + "\n");
        OUTPUT.flush();
    }
}
