// for port in 7001 7002; do redis-server --port $port --save '' --daemonize yes; done
// java -cp 'lib/*' MultiLockInterrupt.java   (lib: redisson 4.6.1 with its dependencies)
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.RedissonMultiLock;
import org.redisson.api.RLock;
import org.redisson.config.Config;

class MultiLockInterrupt {
    static RLock lock(int port) {
        var config = new Config();
        config.useSingleServer().setAddress("redis://127.0.0.1:" + port);
        return Redisson.create(config).getLock("report");
    }

    static void interrupted(String name, RLock lock, RLock first, long afterMs) throws Exception {
        var waiting = new Thread(() -> {
            long start = System.currentTimeMillis();
            String result;
            try {
                result = "returned " + lock.tryLock(5, 30, TimeUnit.SECONDS);
            } catch (Exception problem) {
                result = "threw " + problem.getClass().getSimpleName();
            }
            System.out.println(name + ": tryLock " + result + " after " + (System.currentTimeMillis() - start)
                + " ms, interrupted: " + Thread.interrupted() + ", holds: " + first.getHoldCount());
        });
        waiting.start();
        Thread.sleep(afterMs);
        waiting.interrupt();
        waiting.join();
    }
    public static void main(String[] arguments) throws Exception {
        var one = lock(7001);
        one.lock(60, TimeUnit.SECONDS);
        interrupted("RLock", one, one, 1000);
        var both = new RedissonMultiLock(one, lock(7002));
        interrupted("MultiLock", both, one, 1000);
        one.unlock();
        interrupted("MultiLock, during a command", both, one, 0);
        System.exit(0);
    }
}
