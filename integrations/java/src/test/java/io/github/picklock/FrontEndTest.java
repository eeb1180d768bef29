package io.github.picklock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.params.SetParams;

/** Tests of the package. They start the engine, and need a Redis server. */
class FrontEndTest {
    /** Prints to standard output, which is reserved for the protocol, and takes the lock from its holder. */
    @Scenarios(backend = "process")
    static final class Chatty implements LockUnderTest {
        private JedisPooled redis;

        @Override
        public void connect(List<String> nodes, int timeoutMs, Map<String, String> options) {
            redis = new JedisPooled(URI.create(nodes.get(0)), timeoutMs);
        }

        @Override
        public String tryAcquire(String key, long ttlMs) {
            System.out.println("a line of the library");
            String token = UUID.randomUUID().toString();
            redis.set(key, token, SetParams.setParams().px(ttlMs));
            return token;
        }

        @Override
        public Boolean release(String key, String token) {
            return redis.del(key) == 1;
        }
    }

    /** Throws an exception if the lock is taken, instead of waiting. */
    @Scenarios(backend = "process")
    static final class ThrowingWhenTaken implements LockUnderTest {
        private JedisPooled redis;

        @Override
        public void connect(List<String> nodes, int timeoutMs, Map<String, String> options) {
            redis = new JedisPooled(URI.create(nodes.get(0)), timeoutMs);
        }

        @Override
        public String tryAcquire(String key, long ttlMs) {
            String token = UUID.randomUUID().toString();
            return redis.set(key, token, SetParams.setParams().nx().px(ttlMs)).equals("OK") ? token : null;
        }

        @Override
        public Boolean release(String key, String token) {
            return redis.del(key) == 1;
        }
    }

    /** A semaphore that counts its holders. */
    @Scenarios(backend = "process")
    static final class Counter implements LockUnderTest, LockContract.Semaphore {
        private JedisPooled redis;
        private int capacity;

        @Override
        public void connect(List<String> nodes, int timeoutMs, Map<String, String> options) {
            redis = new JedisPooled(URI.create(nodes.get(0)), timeoutMs);
        }

        @Override
        public void setCapacity(int permits) {
            capacity = permits;
        }

        @Override
        public String tryAcquire(String key, long ttlMs) {
            if (redis.incr(key) <= capacity) {
                return UUID.randomUUID().toString();
            }
            redis.decr(key);
            return null;
        }

        @Override
        public Boolean release(String key, String token) {
            redis.decr(key);
            return null;
        }
    }

    /** A leader election whose leader acts without a look at the key. */
    @Scenarios(backend = "process")
    static final class TrustfulLeader implements LockUnderTest, LockContract.LeaderElection {
        private JedisPooled redis;

        @Override
        public void connect(List<String> nodes, int timeoutMs, Map<String, String> options) {
            redis = new JedisPooled(URI.create(nodes.get(0)), timeoutMs);
        }

        @Override
        public String tryAcquire(String key, long ttlMs) {
            String token = UUID.randomUUID().toString();
            return redis.set(key, token, SetParams.setParams().nx().px(ttlMs)) == null ? null : token;
        }

        @Override
        public PicklockAdapter.Acting act(String key, String token) {
            return new PicklockAdapter.Acting(null);
        }

        @Override
        public Boolean release(String key, String token) {
            return redis.del(key) == 1;
        }
    }

    @Scenarios(backend = "process")
    static final class Failing implements LockUnderTest {
        @Override
        public void connect(List<String> nodes, int timeoutMs, Map<String, String> options) {
            throw new IllegalStateException("no such setting");
        }

        @Override
        public Boolean release(String key, String token) {
            return null;
        }
    }

    @Test
    void violationExplainsItselfAndRepeatsFromItsLine() throws Exception {
        String text = assertThrows(Violation.class, () -> Picklock.of(Chatty.class).run("calm")).getMessage();
        for (String part : List.of("The lock's fault:", "Remedy: ", "a line of the library", "saved run",
                "The reference lock set-nx-px would keep: exclusion")) {
            assertTrue(text.contains(part), () -> "no `" + part + "` in " + text);
        }
        assertTrue(Files.exists(Path.of(URI.create(found("timeline +(\\S+)", text)))));
        Process repeated = new ProcessBuilder("sh", "-c", found("repeat +(.+)", text)).start();
        String report = new String(repeated.getInputStream().readAllBytes(), "UTF-8");
        // Other verdicts of this lock depend on a race, so the repetition may differ in them.
        assertTrue(Pattern.compile("✘ exclusion").matcher(report).find(), report);
    }

    @Test
    void passingLockThatThrowsWhenTakenGetsAWarning() {
        var out = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(out, true));
        try {
            assertEquals("held", Picklock.of(ThrowingWhenTaken.class).run("calm").get("claims"));
        } finally {
            System.setOut(before);
        }
        String text = out.toString();
        assertTrue(text.contains("acquire requests failed although no fault"), text);
        assertTrue(text.contains("NullPointerException"), text);
    }

    private static String found(String pattern, String text) {
        Matcher matcher = Pattern.compile(pattern).matcher(text);
        assertTrue(matcher.find(), text);
        return matcher.group(1);
    }

    @Test
    void expectationAcceptsAKnownViolation() {
        assertEquals("violated", Picklock.of(Chatty.class).expect("exclusion", "violated").run("calm").get("exclusion"));
    }

    @Test
    void semaphoreIsComparedWithASemaphore() {
        assertEquals("held", Picklock.of(Counter.class).run("permits").get("exclusion"));
        var names = Picklock.of(Counter.class).tests().map(test -> test.getDisplayName()).toList();
        assertTrue(names.contains("permits-pause") && !names.contains("gc-pause"), names.toString());
    }

    @Test
    void leaderThatDoesNotLookIsAViolation() {
        String text = assertThrows(Violation.class, () -> Picklock.of(TrustfulLeader.class).run("leader-pause")).getMessage();
        assertTrue(text.contains("The reference lock leader would keep: exclusion"), text);
    }

    @Test
    void missingFeatureIsNotApplicable() {
        var reason = assertThrows(
                PicklockException.NotApplicable.class, () -> Picklock.of(Chatty.class).run("reentrant"));
        assertTrue(reason.getMessage().endsWith(": implement LockContract.Reentrant"), reason.getMessage());
    }

    /** An inner class, which no worker process can create. */
    abstract class Inner implements LockUnderTest {}

    @Test
    void innerClassIsAnError() {
        var problem = assertThrows(PicklockException.class, () -> Picklock.of(Inner.class));
        assertTrue(problem.getMessage().endsWith("make the class static"), problem.getMessage());
    }

    @Test
    void failingConnectIsInTheError() {
        var problem = assertThrows(PicklockException.class, () -> Picklock.of(Failing.class).run("calm"));
        assertTrue(problem.getMessage().contains("no such setting"), problem.getMessage());
    }

    @Test
    void unknownScenarioIsAnError() {
        var problem = assertThrows(PicklockException.class, () -> Picklock.of(Chatty.class).run("no-such-scenario"));
        assertTrue(problem.getMessage().contains("no-such-scenario"), problem.getMessage());
    }

    @Test
    void profileNamesItsScenarios() {
        var names = Picklock.of(Chatty.class).tests().map(test -> test.getDisplayName()).toList();
        assertTrue(names.containsAll(List.of("calm", "gc-pause")), names.toString());
    }

    @Test
    void interruptEndsTheRunAndItsProcesses() throws Exception {
        Thread test = new Thread(() -> {
            try {
                Picklock.of(Chatty.class).run("gc-pause");
            } catch (PicklockException ended) {
                assertTrue(ended.getMessage().contains("the test was ended"));
            }
        });
        test.start();
        while (workers() == 0) {
            Thread.sleep(50);
        }
        test.interrupt();
        test.join();
        assertEquals(0, workers());
    }

    private static long workers() {
        return ProcessHandle.current().descendants()
                .filter(process -> process.info().commandLine().orElse("").contains(Worker.class.getName())).count();
    }
}
