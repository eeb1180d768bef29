<?php

// Picklock adapter for your lock. The example takes a lock on the first node with SET NX PX, and compares the token
// before it deletes or extends the key.

declare(strict_types=1);

namespace Picklock;

require __DIR__ . '/picklock_adapter.php';
require __DIR__ . '/resp_client.php';

// With phpredis:  $redis->connect($host, $port, $timeoutMs / 1000, null, 0, $timeoutMs / 1000) when a command needs it,
// and $redis->set($key, $token, ['NX', 'PX' => $ttlMs]).

const IF_MINE = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return ";

final class MyLock
{
    private RespClient $redis;

    public function __construct(array $nodes, int $timeoutMs, array $options)
    {
        $this->redis = new RespClient($nodes[0], $timeoutMs);
    }

    public function acquire(string $key, int $ttlMs, int $waitMs): ?Grant
    {
        $token = bin2hex(random_bytes(20));
        $setNxPx = ['SET', $key, $token, 'NX', 'PX', $ttlMs];
        return tryFor($waitMs, fn () => $this->redis->command(...$setNxPx) ? new Grant($token) : null);
    }

    public function extend(string $key, string $token, int $ttlMs): ?Grant
    {
        $pexpire = ['EVAL', IF_MINE . "redis.call('PEXPIRE', KEYS[1], ARGV[2])", 1, $key, $token, $ttlMs];
        return tryFor(0, fn () => $this->redis->command(...$pexpire) ? new Grant($token) : null);
    }

    public function release(string $key, string $token): bool
    {
        return $this->redis->command('EVAL', IF_MINE . "redis.call('DEL', KEYS[1])", 1, $key, $token) === 1;
    }
}

serve(fn (...$given) => new MyLock(...$given), 'my-lock', '0.1.0');
