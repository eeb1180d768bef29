// for port in 7001 7002 7003; do redis-server --port $port --save '' --daemonize yes; done
// java -cp 'lib/*' Unlock.java   (lib: redisson 4.6.1 with its dependencies)
import org.redisson.Redisson;
import org.redisson.RedissonMultiLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

class Unlock {
    static RedissonClient client(int port) {
        var config = new Config();
        config.setLockWatchdogTimeout(1000);
        config.useSingleServer().setAddress("redis://127.0.0.1:" + port).setTimeout(500).setRetryAttempts(0);
        return Redisson.create(config);
    }

    public static void main(String[] arguments) throws Exception {
        var clients = new RedissonClient[] {client(7001), client(7002), client(7003)};
        var locks = new RLock[3];
        for (int i = 0; i < 3; i++) {
            locks[i] = clients[i].getLock("report");
        }
        var multi = new RedissonMultiLock(locks);
        multi.lock();
        new ProcessBuilder("redis-cli", "-p", "7001", "shutdown", "nosave").start().waitFor();
        try {
            multi.unlock();
        } catch (Exception problem) {
            System.out.println("unlock: " + problem.getMessage());
        }
        for (int seconds = 0; seconds <= 10; seconds += 5) {
            System.out.printf("after %d s: node 2 locked %b, node 3 locked %b%n",
                    seconds, locks[1].isLocked(), locks[2].isLocked());
            Thread.sleep(5000);
        }
        System.exit(0);
    }
}
