package example;

import io.github.picklock.LockUnderTest;
import io.github.picklock.Picklock;
import io.github.picklock.Scenarios;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.junit.jupiter.api.Test;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** ShedLock 7.7.0 with its provider for Spring Data Redis. The findings are those of lab/pages/findings.md. */
@Scenarios({"calm", "stale-delete"})
class ShedLockTest implements LockUnderTest {
    private final Map<String, SimpleLock> held = new ConcurrentHashMap<>();
    private RedisLockProvider provider;

    public void connect(List<String> nodes, int timeoutMs, Map<String, String> options) {
        URI node = URI.create(nodes.get(0));
        var client = LettuceClientConfiguration.builder().commandTimeout(Duration.ofMillis(timeoutMs)).build();
        var server = new RedisStandaloneConfiguration(node.getHost(), node.getPort());
        var factory = new LettuceConnectionFactory(server, client);
        factory.afterPropertiesSet();
        factory.start();
        provider = new RedisLockProvider.Builder(factory).build();
    }

    public String tryAcquire(String key, long ttlMs) {
        var wanted = new LockConfiguration(Instant.now(), key, Duration.ofMillis(ttlMs), Duration.ZERO);
        var lock = provider.lock(wanted);
        if (lock.isEmpty()) {
            return null;
        }
        String token = UUID.randomUUID().toString();
        held.put(token, lock.get());
        return token;
    }

    /** The library does not report whether it still held the lock. */
    public Boolean release(String key, String token) {
        held.remove(token).unlock();
        return null;
    }

    @Test
    void frozenHolderDeletesTheLockOfItsSuccessor() {
        Picklock.of(ShedLockTest.class).expect("ownership", "violated").run("gc-pause");
    }
}
