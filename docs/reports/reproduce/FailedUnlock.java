// java -cp 'lib/*' FailedUnlock.java   (lib: spring-integration-redis 7.1.2, Lettuce; Redis on 127.0.0.1:6379)
import java.time.Duration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

class FailedUnlock {
    static String redis(String... words) throws Exception {
        var command = new java.util.ArrayList<>(java.util.List.of("redis-cli", "-p", "6379"));
        command.addAll(java.util.List.of(words));
        return new String(new ProcessBuilder(command).start().getInputStream().readAllBytes()).strip();
    }

    public static void main(String[] arguments) throws Exception {
        var client = LettuceClientConfiguration.builder().commandTimeout(Duration.ofMillis(300)).build();
        var connections = new LettuceConnectionFactory(new RedisStandaloneConfiguration("127.0.0.1", 6379), client);
        connections.afterPropertiesSet();
        connections.start();
        var scheduler = new ThreadPoolTaskScheduler();
        scheduler.initialize();
        var registry = new RedisLockRegistry(connections, "report", 3000);
        registry.setRenewalTaskScheduler(scheduler);
        var lock = registry.obtain("key");
        lock.lock();
        redis("ACL", "SETUSER", "default", "-del", "-unlink"); // The server refuses the release.
        try {
            lock.unlock();
        } catch (RuntimeException problem) {
            System.out.println("unlock: " + problem.getMessage());
        }
        redis("ACL", "SETUSER", "default", "+@all");
        for (int seconds = 0; seconds <= 10; seconds += 5) {
            System.out.println("after " + seconds + " s the key lives for " + redis("PTTL", "report:key") + " ms");
            Thread.sleep(5000);
        }
        System.exit(0);
    }
}
