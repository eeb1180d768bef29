// Picklock adapter for redis-semaphore: Mutex on the first node, RedlockMutex on several.
//
// Options: `refresh=false` turns the library's renewal off, at eight tenths of a lease; a lease is then
// extended by a lock that was "acquired externally"; `command_timeout=none`.

import Redis from "ioredis";
import { Mutex, RedlockMutex } from "redis-semaphore";
import { ExtendableLockObjects, installed, ioredisOptions, LockObjects, lost, serve } from "./picklock_adapter.mjs";

const named = (mutex) => Object.assign(mutex, { token: mutex.identifier });

class Renewing extends LockObjects {
  async take(key, ttlMs, waitMs) {
    const waiting = waitMs ? { acquireTimeout: waitMs } : { acquireAttemptsLimit: 1 };
    const onLockLost = () => lost(mutex.identifier);
    const mutex = this.mutex(key, { lockTimeout: ttlMs, onLockLost, ...waiting });
    return (await mutex.tryAcquire()) && Object.assign(named(mutex), { again: { key, identifier: mutex.identifier } });
  }

  // The library returns nothing.
  free = (mutex) => mutex.release().then(() => null);
}

class Extended extends ExtendableLockObjects {
  take = Renewing.prototype.take;
  free = (mutex) => mutex.release().then(() => null);

  async prolong({ again }, ttlMs) {
    const mutex = this.mutex(again.key, { lockTimeout: ttlMs, externallyAcquiredIdentifier: again.identifier });
    return (await mutex.tryAcquire()) && Object.assign(named(mutex), { again });
  }
}

function makeLock(nodes, timeoutMs, options) {
  const clients = nodes.map((node) => new Redis(node, ioredisOptions(timeoutMs, options)));
  const off = options.refresh === "false";
  const mutex = (key, settings) => {
    const all = off ? { ...settings, refreshInterval: 0 } : settings;
    return clients.length > 1 ? new RedlockMutex(clients, key, all) : new Mutex(clients[0], key, all);
  };
  return Object.assign(off ? new Extended() : new Renewing(), { mutex });
}

await serve(makeLock, { ...installed("redis-semaphore"), options: ["refresh", "command_timeout"], clients: true });
