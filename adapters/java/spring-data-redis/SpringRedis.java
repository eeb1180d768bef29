// A connection factory of Spring Data Redis to the first node. Option `client`: `lettuce` (the
// default) or `jedis`.

import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.springframework.context.Lifecycle;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisClientConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

final class SpringRedis {
    private SpringRedis() {}

    static RedisConnectionFactory connect(List<String> nodes, int timeoutMs, Map<String, String> options) {
        URI node = URI.create(nodes.get(0));
        var server = new RedisStandaloneConfiguration(node.getHost(), node.getPort());
        Duration timeout = Duration.ofMillis(timeoutMs);
        if (options.getOrDefault("client", "lettuce").equals("jedis")) {
            var client = JedisClientConfiguration.builder().connectTimeout(timeout).readTimeout(timeout).build();
            return started(new JedisConnectionFactory(server, client));
        }
        var client = LettuceClientConfiguration.builder().commandTimeout(timeout).build();
        return started(new LettuceConnectionFactory(server, client));
    }

    private static <T extends RedisConnectionFactory> T started(T factory) {
        if (factory instanceof LettuceConnectionFactory lettuce) {
            lettuce.afterPropertiesSet();
        } else if (factory instanceof JedisConnectionFactory jedis) {
            jedis.afterPropertiesSet();
        }
        // Needed since version 3.2.
        if (factory instanceof Lifecycle lifecycle) {
            lifecycle.start();
        }
        return factory;
    }
}
