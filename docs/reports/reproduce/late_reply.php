<?php
// php late_reply.php   (phpredis, and a Redis server on 127.0.0.1:6379)
$redis = new Redis();
$redis->connect('127.0.0.1', 6379, 1.0, null, 0, 0.3);
$other = new Redis();
$other->connect('127.0.0.1', 6379);
$other->rawCommand('CLIENT', 'PAUSE', '600', 'ALL');
try {
    $redis->eval("return 'first'");
} catch (RedisException $problem) {
    echo 'first: ', $problem->getMessage(), "\n";
}
sleep(1);
echo 'second: ', $redis->eval("return 'second'"), "\n";
