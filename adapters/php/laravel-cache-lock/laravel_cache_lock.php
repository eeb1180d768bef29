<?php

// Picklock adapter for Laravel's Cache::lock on Redis (illuminate/cache with phpredis), on the first node.
//
// The library counts leases and waits in whole seconds, so the adapter rounds leases up and waits down. A waiter sleeps
// for 250 ms between two attempts, the library's default, so its wait ends a quarter of a second earlier.
//
// Option: `sleep_ms`, for betweenBlockedAttemptsSleepFor.

declare(strict_types=1);

namespace Picklock;

use Illuminate\Cache\Lock;
use Illuminate\Cache\RedisStore;
use Illuminate\Cache\Repository;
use Illuminate\Contracts\Cache\LockTimeoutException;
use Illuminate\Redis\RedisManager;

require __DIR__ . '/picklock_adapter.php';

$version = installed('illuminate/cache', 'php-illuminate-cache', 'Illuminate/Cache');
installed('illuminate/redis', 'php-illuminate-redis', 'Illuminate/Redis');

final class LaravelCacheLock extends LockObjects
{
    private Repository $cache;
    private int $sleepMs;

    public function __construct(array $nodes, int $timeoutMs, array $options)
    {
        $node = parse_url($nodes[0]);
        $limits = ['timeout' => $timeoutMs / 1000, 'read_timeout' => $timeoutMs / 1000];
        $server = ['host' => $node['host'], 'port' => $node['port']] + $limits;
        // The application object is only needed for events.
        $redis = new RedisManager(null, 'phpredis', ['default' => $server]);
        $this->cache = new Repository(new RedisStore($redis));
        $this->sleepMs = (int) ($options['sleep_ms'] ?? 250);
    }

    protected function take(string $key, int $ttlMs, int $waitMs): ?array
    {
        $lock = $this->cache->lock($key, (int) ceil($ttlMs / 1000))->betweenBlockedAttemptsSleepFor($this->sleepMs);
        $waitS = intdiv(max(0, $waitMs - $this->sleepMs), 1000);
        try {
            $taken = $waitS > 0 ? $lock->block($waitS) : $lock->get();
        } catch (LockTimeoutException) {
            return null;
        }
        return $taken ? [new Grant($lock->owner()), $lock] : null;
    }

    protected function free(object $lock): ?bool
    {
        return $lock->release();
    }
}

serve(fn (...$given) => new LaravelCacheLock(...$given), 'laravel-cache-lock', $version, ['sleep_ms']);
