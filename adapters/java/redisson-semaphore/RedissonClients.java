// Creates Redisson clients for the adapters of its semaphores and of its read/write lock.

import java.util.Map;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

final class RedissonClients {
    private RedissonClients() {}

    /** Returns a client. The watchdog's lease is a setting of the client. The option `retries` is the number of times
     * that Redisson resends a command. Its default is 3 or 4; here 0. */
    static RedissonClient connect(String node, int timeoutMs, long watchdogMs, Map<String, String> options) {
        Config config = new Config();
        config.setLockWatchdogTimeout(watchdogMs);
        // Locks and semaphores do not use the codec, and the default one of old versions does not start on JDK 17.
        config.setCodec(StringCodec.INSTANCE);
        config.useSingleServer().setAddress(node).setTimeout(timeoutMs).setConnectTimeout(timeoutMs)
                .setRetryAttempts(Integer.parseInt(options.getOrDefault("retries", "0")))
                .setConnectionMinimumIdleSize(1);
        // Versions before 3.23 have no such setting, and need the node at first.
        try {
            Config.class.getMethod("setLazyInitialization", boolean.class).invoke(config, true);
        } catch (ReflectiveOperationException older) {
            System.err.println("this version has no lazy initialization");
        }
        return Redisson.create(config);
    }
}
