// With lock4j-redis-template-spring-boot-starter 2.2.7, spring-data-redis 2.7.18 and lettuce-core 6.1.10 in lib/:
//   javac -cp 'lib/*' Renewal.java && java -cp '.:lib/*' Renewal   (a Redis server on 127.0.0.1:6379)
import com.baomidou.lock.LockTemplate;
import com.baomidou.lock.executor.RedisTemplateLockExecutor;
import com.baomidou.lock.spring.boot.autoconfigure.Lock4jProperties;
import io.lettuce.core.RedisClient;
import java.time.Duration;
import java.util.List;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

public class Renewal {
    public static void main(String[] arguments) throws Exception {
        var settings = LettuceClientConfiguration.builder().commandTimeout(Duration.ofSeconds(1)).build();
        var factory = new LettuceConnectionFactory(new RedisStandaloneConfiguration("127.0.0.1", 6379), settings);
        factory.afterPropertiesSet();
        var redis = new StringRedisTemplate(factory);
        var properties = new Lock4jProperties();
        properties.setExpire(9000L);
        var template = new LockTemplate();
        template.setProperties(properties);
        template.setExecutors(List.of(new RedisTemplateLockExecutor(redis, properties)));
        template.afterPropertiesSet();
        redis.hasKey("report");
        template.lock("report", -1, 3000);
        Thread.sleep(2500);
        // The first renewal comes after three seconds, and times out after one.
        RedisClient.create("redis://127.0.0.1").connect().sync().clientPause(2500);
        Thread.sleep(4500);
        for (int second = 7; second <= 12; second++, Thread.sleep(1000)) {
            System.out.println(second + " s: the key is " + (redis.hasKey("report") ? "there" : "gone"));
        }
        System.exit(0);
    }
}
