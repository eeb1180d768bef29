// for port in 7001 7002 7003; do redis-server --port $port --save '' --daemonize yes; done
// java -cp 'lib/*' FirstLease.java   (lib: redisson 4.6.1 with its dependencies)
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.RedissonMultiLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

class FirstLease {
    static RedissonClient client(int port) {
        var config = new Config();
        config.useSingleServer().setAddress("redis://127.0.0.1:" + port);
        return Redisson.create(config);
    }

    public static void main(String[] arguments) throws Exception {
        var locks = new RLock[3];
        for (int i = 0; i < 3; i++) {
            locks[i] = client(7001 + i).getLock("report");
        }
        // Another client has the last of the three.
        client(7003).getLock("report").lock();
        var waiter = new Thread(() -> {
            try {
                new RedissonMultiLock(locks).tryLock(60, 1, TimeUnit.SECONDS);
            } catch (InterruptedException ended) {
                // The program ends.
            }
        });
        waiter.start();
        Thread.sleep(500);
        System.out.println("a lease of 1 s was asked for; the first key lives for " + locks[0].remainTimeToLive() + " ms");
        System.exit(0);
    }
}
