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
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

public final class PicklockAdapter extends LockContract {
    // Latest supported version; all earlier ones are supported, too.
    private static final long PROTOCOL = 2;

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
        if ("shared".equals(request.get("mode"))) {
            if (lock instanceof ReadWriteLock readWrite) {
                return readWrite.acquireShared(key, ttlMs, waitMs);
            }
            throw new Definite("the mode `shared` is not offered");
        }
        if (request.get("permits") instanceof Long permits) {
            if (lock instanceof SeveralPermits several) {
                return several.acquirePermits(key, Math.toIntExact(permits), ttlMs, waitMs);
            }
            throw new Definite("an acquisition of several permits is not offered");
        }
        return lock.acquire(key, ttlMs, waitMs);
    }

    private Map<String, Object> act(String key, String token) throws Exception {
        if (!(lock instanceof LeaderElection election)) {
            throw new Definite("act is not offered");
        }
        Acting acting = election.act(key, token);
        if (acting == null) {
            return message("reply", "refused");
        }
        Map<String, Object> answer = message("reply", "acting");
        if (acting.epoch() != null) {
            answer.put("epoch", acting.epoch());
        }
        return answer;
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
            case "acquire", "extend", "release", "release-unheld", "section-failed", "act":
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
        if (op.equals("act")) {
            return act(key, token);
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
            semaphore.setCapacity(request.get("capacity") instanceof Long permits ? Math.toIntExact(permits) : 1);
        }
        if (lock instanceof Terminating terminating) {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> cleanUp(terminating)));
        }
        if (request.get("warm_up") instanceof String key && request.get("ttl_ms") instanceof Long ttlMs) {
            warmUp(key, ttlMs);
        }
        ready.put("extends", lock instanceof Extendable);
        ready.put("min_hold_ms", lock.minHoldMs());
        ready.put("lease_margin_ms", lock.leaseMarginMs());
        if (versions.contains(PROTOCOL)) {
            ready.put("protocol", PROTOCOL);
            for (String offer : List.of("clients", "blocks_thread", "cancels", "ends_clients")) {
                ready.put(offer, clients != Clients.ONE);
            }
            ready.put("fails_sections", lock instanceof FailingSections);
            ready.put("releases_unheld", lock instanceof UnheldRelease);
            ready.put("reentrant", lock instanceof Reentrant);
            ready.put("several_permits", lock instanceof SeveralPermits);
            ready.put("kinds", List.of(kindOf(lock.getClass())));
        }
        return ready;
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
