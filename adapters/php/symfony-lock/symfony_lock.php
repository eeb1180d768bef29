<?php

// Picklock adapter for symfony/lock: RedisStore on the first node, CombinedStore with ConsensusStrategy on several.
//
// The library has no wait with a limit, so the adapter tries until the wait is over.
//
// Option: `initial_ttl`, the lease in seconds that RedisStore writes before Lock sets its own. By default both are
// equal: the library has 300 s for each of them.

declare(strict_types=1);

namespace Picklock;

use Symfony\Component\Cache\Adapter\RedisAdapter;
use Symfony\Component\Lock\Exception\LockConflictedException;
use Symfony\Component\Lock\Key;
use Symfony\Component\Lock\Lock;
use Symfony\Component\Lock\PersistingStoreInterface;
use Symfony\Component\Lock\Store\CombinedStore;
use Symfony\Component\Lock\Store\RedisStore;
use Symfony\Component\Lock\Strategy\ConsensusStrategy;

require __DIR__ . '/picklock_adapter.php';

$version = installed('symfony/lock', 'php-symfony-lock', 'Symfony/Component/Lock');
installed('symfony/cache', 'php-symfony-cache', 'Symfony/Component/Cache');

final class SymfonyLock extends LockObjects
{
    private array $connections;
    private ?float $initialTtl;
    /** One store for each lease, because a store finds out only once what the server supports. */
    private array $stores = [];

    public function __construct(array $nodes, int $timeoutMs, array $options)
    {
        $limits = ['lazy' => true, 'timeout' => $timeoutMs / 1000, 'read_timeout' => $timeoutMs / 1000];
        $this->connections = array_map(fn ($node) => RedisAdapter::createConnection($node, $limits), $nodes);
        $this->initialTtl = isset($options['initial_ttl']) ? (float) $options['initial_ttl'] : null;
    }

    public function acquire(string $key, int $ttlMs, int $waitMs): ?Grant
    {
        return tryFor($waitMs, fn () => parent::acquire($key, $ttlMs, 0));
    }

    protected function take(string $key, int $ttlMs, int $waitMs): ?array
    {
        $this->stores[$ttlMs] ??= $this->store($this->initialTtl ?? $ttlMs / 1000);
        $lock = new Lock($identity = new Key($key), $this->stores[$ttlMs], $ttlMs / 1000);
        return $lock->acquire() ? [new Grant($identity->getState(RedisStore::class)), $lock] : null;
    }

    private function store(float $initialTtl): PersistingStoreInterface
    {
        $stores = array_map(fn ($redis) => new RedisStore($redis, $initialTtl), $this->connections);
        return count($stores) > 1 ? new CombinedStore($stores, new ConsensusStrategy()) : $stores[0];
    }

    public function extend(string $key, string $token, int $ttlMs): ?Grant
    {
        $askedAt = now();
        try {
            $this->object($token)->refresh($ttlMs / 1000);
        } catch (LockConflictedException) {
            return null;
        }
        return new Grant($token, askedAt: $askedAt);
    }

    /** The library returns nothing. */
    protected function free(object $lock): ?bool
    {
        $lock->release();
        return null;
    }
}

serve(fn (...$given) => new SymfonyLock(...$given), 'symfony-lock', $version, ['initial_ttl']);
