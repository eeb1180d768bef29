// java -cp 'lib/*' Waiter.java   (lib: spring-integration-redis 7.1.2 with Lettuce; a Redis server on 127.0.0.1:6379)
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.integration.redis.util.RedisLockRegistry;

class Waiter {
    public static void main(String[] arguments) throws Exception {
        var connections = new LettuceConnectionFactory("127.0.0.1", 6379);
        connections.afterPropertiesSet();
        connections.start();
        var registry = new RedisLockRegistry(connections, "report", 1000);
        registry.setRedisLockType(RedisLockRegistry.RedisLockType.PUB_SUB_LOCK);
        // Another client took the lock for one second, and died.
        new StringRedisTemplate(connections).opsForValue().set("report:key", "other", Duration.ofSeconds(1));
        long began = System.nanoTime();
        boolean taken = registry.obtain("key").tryLock(12, TimeUnit.SECONDS);
        System.out.println("taken " + taken + " after " + (System.nanoTime() - began) / 1_000_000 + " ms");
        System.exit(0);
    }
}
