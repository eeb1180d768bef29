// Picklock adapter for redis-semaphore: Mutex on the first of the nodes, RedlockMutex on several. It renews
// by itself, at eight tenths of a lease.
//
// Option: `refresh=false` turns that off.

import Redis from "ioredis";
import { Mutex, RedlockMutex } from "redis-semaphore";
import { installed, ioredisOptions, LockObjects, lost, serve } from "./picklock_adapter.mjs";

class RedisSemaphore extends LockObjects {
  constructor(nodes, timeoutMs, { refresh }) {
    super();
    this.clients = nodes.map((node) => new Redis(node, ioredisOptions(timeoutMs)));
    this.refresh = refresh === "false" ? { refreshInterval: 0 } : {};
  }

  async take(key, ttlMs, waitMs) {
    const waiting = waitMs ? { acquireTimeout: waitMs } : { acquireAttemptsLimit: 1 };
    const onLockLost = () => lost(mutex.identifier);
    const settings = { lockTimeout: ttlMs, onLockLost, ...waiting, ...this.refresh };
    const mutex = this.clients.length > 1
      ? new RedlockMutex(this.clients, key, settings)
      : new Mutex(this.clients[0], key, settings);
    return (await mutex.tryAcquire()) && { token: mutex.identifier, mutex };
  }

  // It returns nothing.
  free = ({ mutex }) => mutex.release().then(() => null);
}

const makeLock = (...given) => new RedisSemaphore(...given);
await serve(makeLock, { ...installed("redis-semaphore"), options: ["refresh"] });
